// The limits of a connection over time, as bands: totals, the band at a time, and the share of each
// limit in any interval.
//
// The shares are exact however many bands a pixel covers, because each block of 64 bands keeps the
// time of each reason (limit).

const BLOCK = 64;

class Bands {
  constructor(table, reasons) {
    Object.assign(this, table);
    this.reasons = reasons;
    const blocks = Math.ceil(this.count / BLOCK);
    this.blocks = new Float64Array(blocks * reasons);
    this.time = new Float64Array(reasons);
    this.moved = new Float64Array(reasons);
    this.times = new Float64Array(reasons);
    for (let place = 0; place < this.count; place++) {
      const reason = this.reason[place];
      const length = this.end[place] - this.at[place];
      this.blocks[Math.floor(place / BLOCK) * reasons + reason] += length;
      this.time[reason] += length;
      this.moved[reason] += this.bytes[place];
      this.times[reason] += 1;
    }
    this.from = this.count > 0 ? this.at[0] : 0;
    this.until = this.count > 0 ? this.end[this.count - 1] : 0;
    this.shares = new Float64Array(reasons);
  }

  // The band at `time`; -1 outside all bands.
  find(time) {
    if (this.count === 0 || time < this.from || time > this.until) return -1;
    return lastAtOrBefore(this.at, time);
  }

  // Writes the time of each reason between two times to `shares`. Returns the reason with the most
  // time; -1 if there is none.
  over(from, until) {
    const { shares, reasons, at, end, reason, blocks } = this;
    shares.fill(0);
    if (this.count === 0 || until <= this.from || from >= this.until) return -1;
    let place = Math.max(0, lastAtOrBefore(at, from));
    while (place < this.count && at[place] < until) {
      const last = place + BLOCK;
      const whole = place % BLOCK === 0 && last <= this.count;
      if (whole && at[place] >= from && end[last - 1] <= until) {
        const first = (place / BLOCK) * reasons;
        for (let which = 0; which < reasons; which++) shares[which] += blocks[first + which];
        place = last;
        continue;
      }
      const length = Math.min(end[place], until) - Math.max(at[place], from);
      if (length > 0) shares[reason[place]] += length;
      place += 1;
    }
    let longest = -1;
    for (let which = 0; which < reasons; which++) {
      if (shares[which] > 0 && (longest < 0 || shares[which] > shares[longest])) longest = which;
    }
    return longest;
  }

  // The longest band with one of `reasons`; -1 if there is none.
  longestOf(reasons) {
    let longest = -1;
    for (let place = 0; place < this.count; place++) {
      if (!reasons.includes(this.reason[place])) continue;
      const length = this.end[place] - this.at[place];
      if (longest < 0 || length > this.end[longest] - this.at[longest]) longest = place;
    }
    return longest;
  }
}
