// Use of a link or a processor: the share of any time in which it was busy.
//
// Busy periods do not overlap. The sum of all earlier periods is stored at the beginning of each
// period. A share therefore costs two searches, however many periods it covers.

class Usage {
  // `tables` are busy periods with `at` and `end`; there are several if directions share one
  // medium.
  constructor(tables) {
    this.parts = tables.map(({ at, end, count }) => {
      const before = new Float64Array(count + 1);
      for (let place = 0; place < count; place++) before[place + 1] = before[place] + end[place] - at[place];
      return { at, end, count, before };
    });
    this.isEmpty = this.parts.every(({ count }) => count === 0);
  }

  // Busy nanoseconds until `time`.
  until(time) {
    let sum = 0;
    for (const { at, end, before } of this.parts) {
      const place = lastAtOrBefore(at, time);
      if (place >= 0) sum += before[place] + Math.min(time, end[place]) - at[place];
    }
    return sum;
  }

  // The busy share of a time, from 0 to 1.
  share(from, until) {
    return until > from ? Math.min(1, (this.until(until) - this.until(from)) / (until - from)) : 0;
  }

  // The beginning of the busiest stretch of `length` between two times; of several, the first.
  busiest(from, until, length) {
    const steps = Math.min(400, Math.max(1, Math.floor(((until - from) / length) * 2)));
    let [best, most] = [from, -1];
    for (let step = 0; step <= steps; step++) {
      const at = from + (Math.max(0, until - from - length) * step) / steps;
      const share = this.share(at, at + length);
      if (share > most + 1e-3) [best, most] = [at, share];
    }
    return best;
  }
}
