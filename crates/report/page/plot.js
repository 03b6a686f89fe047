// Drawing against axes: scales, steps, bars and dots, one column of pixels at a time.
//
// Where there are more values than pixels, each column shows exactly the extremes of its values.
// Marks are not thinned out, but of several marks of one kind on the same pixel only one is drawn.

class Plot {
  // `box`: left, right, top, bottom in pixels of the canvas. `scale`: pixels a point. Series end at
  // `known`. `frame` keeps the values that the plots of one frame share.
  constructor(context, box, { from, until, known }, scale, frame) {
    this.context = context;
    this.frame = frame;
    Object.assign(this, box, { from, until, scale, known: Math.min(known, until) });
    this.right = Math.max(this.left + 1, this.right);
    this.bottom = Math.max(this.top + 1, this.bottom);
    this.perNs = (this.right - this.left) / (until - from);
    this.setRange(0, 1);
  }

  // Sets the range of values; an empty one is widened.
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

  // The places of a series that lie in the visible time.
  visible(at) {
    return [lowerBound(at, this.from), lowerBound(at, this.until + 1)];
  }

  // Returns true if values have to share columns of pixels.
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

  // The first place in each column of pixels. All series with the same times in a frame share the
  // result.
  boundaries(at, begin, end) {
    const known = this.frame.get(at);
    if (known) return known;
    const count = Math.ceil(this.right - Math.floor(this.left)) + 1;
    const bounds = new Int32Array(count + 1);
    const step = 1 / this.perNs;
    const start = this.time(Math.floor(this.left));
    const guess = Math.ceil(((end - begin) / count) * 2);
    let place = begin;
    // With many values in a column, use the bounds of an extent's blocks: they are off by a
    // fraction of a pixel, and no value has to be read.
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

  // A line that keeps each value until the next value.
  steps(at, values, extent, colour, width = 1.25, dash = []) {
    const { context } = this;
    const [begin, end] = this.visible(at);
    if (begin === 0 && end === 0) return;
    if (this.isDense(end - begin)) {
      drawEnvelope(this, at, values, extent, colour, width, [begin, end]);
      return;
    }
    context.beginPath();
    let last = begin > 0 ? values[begin - 1] : undefined;
    if (last !== undefined) context.moveTo(this.left, this.y(last));
    for (let place = begin; place < end; place++) {
      const x = this.x(at[place]);
      const y = this.y(values[place]);
      if (last === undefined) context.moveTo(x, y);
      else context.lineTo(x, this.y(last));
      context.lineTo(x, y);
      last = values[place];
    }
    if (last !== undefined) context.lineTo(Math.min(this.right, this.x(this.known)), this.y(last));
    context.setLineDash(dash.map((length) => length * this.scale));
    context.lineWidth = width * this.scale;
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
  }

  // A rectangle on whole pixels, which costs a fraction of a smoothed rectangle.
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
    if (this.isDense(end - begin)) {
      drawAreaEnvelope(this, at, values, extent, fill, [begin, end]);
      return;
    }
    // Draw the area as one path, because separate rectangles would leave seams between them.
    const last = Math.min(this.right, this.x(this.known));
    context.beginPath();
    context.moveTo(Math.max(this.left, this.x(at[first])), this.bottom);
    for (let place = first; place < end; place++) {
      const y = this.y(values[place]);
      context.lineTo(Math.max(this.left, this.x(at[place])), y);
      context.lineTo(place + 1 < end ? this.x(at[place + 1]) : last, y);
    }
    context.lineTo(last, this.bottom);
    context.fillStyle = fill;
    context.fill();
  }

  // Bars from `low` to `high`, the marks of segments. If there is room, the bars have end strokes.
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

  bar(time, low, high, ends) {
    const { context, scale } = this;
    const [x, top, bottom] = [this.x(time), this.y(high), this.y(low)];
    const width = Math.max(1, Math.round(1.5 * scale));
    context.fillRect(Math.round(x - width / 2), top, width, Math.max(1, bottom - top));
    if (!ends || bottom - top < 5 * scale) return;
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
    drawEnvelope(this, at, values, extent, colour, 1, [begin, end]);
  }

  // The extremes of a step series in the visible time, its value at the left edge included.
  rangeOf(at, values, extent) {
    const [begin, end] = this.visible(at);
    const { least, most } = extent.over(Math.max(0, begin - 1), end);
    return [least, most];
  }
}

// Grid and labels of both axes. `units`: see UNITS.
function drawAxes(plot, units, ink) {
  const { context, scale } = plot;
  context.font = `${11 * scale}px system-ui, sans-serif`;
  const { values } = ticks(plot.least, plot.most, (plot.bottom - plot.top) / (42 * scale));
  const label = axisLabels(units, plot.most);
  context.textAlign = "right";
  for (const value of values) {
    const y = Math.round(plot.y(value));
    context.fillStyle = ink.grid;
    context.fillRect(plot.left, y, plot.right - plot.left, 1);
    context.fillStyle = ink.soft;
    const text = label(value);
    if (plot.left > context.measureText(text).width)
      context.fillText(text, plot.left - 5 * scale, y + 4 * scale);
  }
  drawTimeAxis(plot, ink);
}

function drawTimeAxis(plot, ink) {
  const { context, scale } = plot;
  context.font = `${11 * scale}px system-ui, sans-serif`;
  const { step, values } = ticks(plot.from, plot.until, (plot.right - plot.left) / (95 * scale));
  const width = 30 * scale;
  for (const time of values) {
    const x = Math.round(plot.x(time));
    context.fillStyle = ink.grid;
    context.fillRect(x, plot.top, 1, plot.bottom - plot.top);
    context.fillStyle = ink.soft;
    // At the edges the text is beside its line instead of below it.
    context.textAlign = x < plot.left + width ? "left" : x > plot.right - width ? "right" : "center";
    context.fillText(momentText(time, step), x, plot.bottom + 14 * scale);
  }
}

// Returns a range that contains all `ranges`, with a margin. With `floor`, the range begins at
// `floor` or below, without a margin there.
function widest(ranges, floor) {
  let [least, most] = [Infinity, -Infinity];
  for (const [low, high] of ranges) {
    if (low < least) least = low;
    if (high > most) most = high;
  }
  if (floor !== undefined) least = Math.min(least, floor);
  const margin = (most - least) * 0.04;
  return [floor === undefined ? least - margin : least, most + margin];
}
