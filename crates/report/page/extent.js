// Minimum and maximum of any run of values, without reading each value.
//
// Each block of 16 values keeps its extremes, each block of 16 blocks keeps the extremes of these
// blocks, and so on. A run of a million values therefore costs a few dozen reads. The result is
// exact: a column of pixels shows the same extremes as if every value had been drawn.

const FAN = 16;

class Extent {
  // `lo` and `hi` may be the same column.
  constructor(lo, hi = lo) {
    this.levels = [{ lo, hi }];
    while (lo.length > FAN) {
      const length = Math.ceil(lo.length / FAN);
      const next = { lo: new Float64Array(length), hi: new Float64Array(length) };
      for (let block = 0; block < length; block++) {
        const end = Math.min(lo.length, (block + 1) * FAN);
        let [least, most] = [Infinity, -Infinity];
        for (let place = block * FAN; place < end; place++) {
          if (lo[place] < least) least = lo[place];
          if (hi[place] > most) most = hi[place];
        }
        next.lo[block] = least;
        next.hi[block] = most;
      }
      this.levels.push(next);
      ({ lo, hi } = next);
    }
    this.least = Infinity;
    this.most = -Infinity;
  }

  // Writes the extremes of the places from..until to `least` and `most`; returns `this`.
  over(from, until) {
    this.least = Infinity;
    this.most = -Infinity;
    let level = 0;
    while (from < until) {
      const next = level + 1 < this.levels.length;
      const upFrom = Math.ceil(from / FAN) * FAN;
      const downUntil = Math.floor(until / FAN) * FAN;
      if (!next || upFrom >= downUntil) {
        this.scan(level, from, until);
        return this;
      }
      this.scan(level, from, upFrom);
      this.scan(level, downUntil, until);
      from = upFrom / FAN;
      until = downUntil / FAN;
      level += 1;
    }
    return this;
  }

  scan(level, from, until) {
    const { lo, hi } = this.levels[level];
    for (let place = from; place < until; place++) {
      if (lo[place] < this.least) this.least = lo[place];
      if (hi[place] > this.most) this.most = hi[place];
    }
  }
}

// The first place in sorted `values` that is not below `value`.
function lowerBound(values, value, from = 0, until = values.length) {
  while (from < until) {
    const middle = (from + until) >>> 1;
    if (values[middle] < value) from = middle + 1;
    else until = middle;
  }
  return from;
}

// The last place whose value is not above `value`; -1 when there is none.
function lastAtOrBefore(values, value) {
  let place = lowerBound(values, value);
  if (place < values.length && values[place] === value) {
    while (place + 1 < values.length && values[place + 1] === value) place += 1;
    return place;
  }
  return place - 1;
}
