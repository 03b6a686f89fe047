// Drawing against axes: scales, steps, bars and dots, a column of pixels at a time.
//
// Where more values than pixels are to be seen, each column of pixels shows
// exactly the extremes of what lies in it. Marks are not thinned out, except
// that of two of a kind on the same pixel one is drawn.

class Plot {
  // `box`: left, right, top, bottom in pixels of the canvas; `scale`: pixels a
  // point. Nothing is known after `known`. `frame` keeps what the plots of one
  // frame have in common.
  constructor(context, box, { from, until, known }, scale, frame) {
    this.context = context;
    this.frame = frame;
    Object.assign(this, box, { from, until, scale, known: Math.min(known, until) });
    this.perNs = (box.right - box.left) / (until - from);
    this.least = 0;
    this.most = 1;
  }

  // The range of values; an empty one becomes something to look at.
  setRange(least, most) {
    if (!(most > least)) [least, most] = Number.isFinite(least) ? [least - 1, least + 1] : [0, 1];
    this.least = least;
    this.most = most;
    this.perValue = (this.bottom - this.top) / (most - least);
  }

  x(time) {
    return this.left + (time - this.from) * this.perNs;
  }

  y(value) {
    return this.bottom - (value - this.least) * this.perValue;
  }

  time(x) {
    return this.from + (x - this.left) / this.perNs;
  }

  // The places of a series that are to be seen.
  visible(at) {
    return [lowerBound(at, this.from), lowerBound(at, this.until + 1)];
  }

  // Whether values have to share columns of pixels.
  isDense(count) {
    return count > 2 * (this.right - this.left);
  }

  // Calls `each(x, first, until)` for the columns of pixels with places in them.
  columns(at, [begin, end], each) {
    const bounds = this.boundaries(at, begin, end);
    const left = Math.floor(this.left);
    for (let column = 0; column + 1 < bounds.length; column++) {
      if (bounds[column] < bounds[column + 1]) each(left + column, bounds[column], bounds[column + 1]);
    }
  }

  // The first place in each column of pixels. Series of the same times, in any
  // graph of the frame, have the same.
  boundaries(at, begin, end) {
    const known = this.frame.get(at);
    if (known) return known;
    const count = Math.ceil(this.right - Math.floor(this.left)) + 1;
    const bounds = new Int32Array(count + 1);
    const step = 1 / this.perNs;
    const start = this.time(Math.floor(this.left));
    const guess = Math.ceil(((end - begin) / count) * 2);
    let place = begin;
    // With many values in a column, its bounds are those of blocks of an extent,
    // which is a fraction of a pixel beside them and spares looking at each.
    const whole = end - begin > 8 * FAN * count;
    for (let column = 0; column < count; column++) {
      bounds[column] = whole ? Math.max(begin, place - (place % FAN)) : place;
      const limit = start + (column + 1) * step;
      let until = place + guess;
      while (until < end && at[until] < limit) until += guess;
      place = lowerBound(at, limit, place, Math.min(until, end));
    }
    bounds[count] = end;
    bounds[0] = begin;
    this.frame.set(at, bounds);
    return bounds;
  }

  // A line that keeps its value until the next.
  steps(at, values, extent, colour, width = 1.25, dash = []) {
    const { context } = this;
    const [begin, end] = this.visible(at);
    if (begin === 0 && end === 0) return;
    if (this.isDense(end - begin)) {
      this.denseSteps(at, values, extent, colour, width, [begin, end]);
      return;
    }
    context.beginPath();
    let last = begin > 0 ? values[begin - 1] : undefined;
    if (last !== undefined) context.moveTo(this.left, this.y(last));
    const to = (x, value) => {
      if (last === undefined) context.moveTo(x, this.y(value));
      else context.lineTo(x, this.y(value));
      last = value;
    };
    for (let place = begin; place < end; place++) {
      const x = this.x(at[place]);
      if (last !== undefined) context.lineTo(x, this.y(last));
      to(x, values[place]);
    }
    if (last !== undefined) context.lineTo(Math.min(this.right, this.x(this.known)), this.y(last));
    context.setLineDash(dash.map((length) => length * this.scale));
    context.lineWidth = width * this.scale;
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
  }

  // The same where values share columns of pixels: rectangles, because a stroke
  // along a thousand spikes would cost more than everything else.
  denseSteps(at, values, extent, colour, width, [begin, end]) {
    const { context } = this;
    const thick = Math.max(1, Math.round(width * this.scale));
    context.fillStyle = colour;
    let last = begin > 0 ? values[begin - 1] : values[begin];
    let from = begin > 0 ? this.left : this.x(at[begin]);
    this.columns(at, [begin, end], (x, first, until) => {
      if (x > from) context.fillRect(from, Math.round(this.y(last) - thick / 2), x - from, thick);
      extent.over(first, until);
      const [low, high] = [Math.min(last, extent.least), Math.max(last, extent.most)];
      this.column(x, low, high, thick);
      last = values[until - 1];
      from = x + 1;
    });
    const known = Math.min(this.right, this.x(this.known));
    if (known > from) context.fillRect(from, this.y(last) - thick / 2, known - from, thick);
  }

  // A rectangle on whole pixels, which costs a fraction of one that is smoothed.
  column(x, low, high, thick) {
    const top = Math.round(this.y(high) - thick / 2);
    const bottom = Math.round(this.y(low) + thick / 2);
    this.context.fillRect(x, top, thick, Math.max(1, bottom - top));
  }

  // The area below a step line.
  area(at, values, extent, fill) {
    const { context } = this;
    const [begin, end] = this.visible(at);
    const first = Math.max(0, begin - 1);
    if (first >= end) return;
    const box = (x0, x1, value) => {
      const top = Math.round(this.y(value));
      if (value > 0) context.fillRect(x0, top, Math.max(1, x1 - x0), this.bottom - top);
    };
    context.fillStyle = fill;
    const known = this.known;
    const next = (place) => Math.min(this.right, this.x(place < at.length ? Math.min(at[place], known) : known));
    if (!this.isDense(end - begin)) {
      for (let place = first; place < end; place++) {
        box(Math.max(this.left, this.x(at[place])), next(place + 1), values[place]);
      }
      return;
    }
    this.columns(at, [begin, end], (x, from, until) => {
      box(x, Math.round(next(until)), extent.over(from, until).most);
    });
  }

  // Bars from `low` to `high`, as segments are drawn; with room they get arrows.
  bars(at, low, high, extent, colour, places) {
    const { context, scale } = this;
    context.fillStyle = colour;
    if (places === undefined) {
      const [begin, end] = this.visible(at);
      if (this.isDense(end - begin)) {
        this.columns(at, [begin, end], (x, first, until) => {
          extent.over(first, until);
          this.column(x, extent.least, extent.most, 1);
        });
        return;
      }
      const roomy = (this.right - this.left) / (end - begin) > 7 * scale;
      for (let place = begin; place < end; place++) this.bar(at[place], low[place], high[place], roomy);
      return;
    }
    let painted = NaN;
    for (const place of places) {
      if (at[place] < this.from || at[place] > this.until) continue;
      const pixel = Math.round(this.x(at[place])) * 65536 + Math.round(this.y(low[place]));
      if (pixel !== painted) this.bar(at[place], low[place], high[place], true);
      painted = pixel;
    }
  }

  bar(time, low, high, arrows) {
    const { context, scale } = this;
    const [x, top, bottom] = [this.x(time), this.y(high), this.y(low)];
    const width = Math.max(1, Math.round(scale));
    context.fillRect(Math.round(x - width / 2), top, width, Math.max(1, bottom - top));
    if (!arrows || bottom - top < 5 * scale) return;
    const size = 2.5 * scale;
    context.fillRect(x - size, top, 2 * size, width);
    context.fillRect(x - size, bottom - width, 2 * size, width);
  }

  dots(at, values, extent, colour) {
    const { context, scale } = this;
    const [begin, end] = this.visible(at);
    context.fillStyle = colour;
    const size = Math.max(1, Math.round(2.4 * scale));
    if (!this.isDense(end - begin)) {
      for (let place = begin; place < end; place++) {
        context.fillRect(this.x(at[place]) - size / 2, this.y(values[place]) - size / 2, size, size);
      }
      return;
    }
    this.columns(at, [begin, end], (x, first, until) => {
      extent.over(first, until);
      this.column(x, extent.least, extent.most, 1);
    });
  }

  // The extremes of a step series in sight, its value at the left edge included.
  rangeOf(at, values, extent) {
    const [begin, end] = this.visible(at);
    const { least, most } = extent.over(Math.max(0, begin - 1), end);
    return [least, most];
  }
}
