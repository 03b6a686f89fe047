// Series with more values than pixels: the area between their extremes, and its edges.
//
// A column is two points wide, so that a sawtooth with about one tooth a pixel gives an even area
// and no moiré.

const ENVELOPE_POINTS = 2;

// The extremes of a step series in columns: [x, width, least, most, last] for each.
function envelopeOf(plot, at, values, extent, [begin, end]) {
  const wide = Math.max(1, Math.round(ENVELOPE_POINTS * plot.scale));
  const left = Math.floor(plot.left);
  const columns = [];
  let last = begin > 0 ? values[begin - 1] : values[begin];
  let current = null;
  plot.columns(at, [begin, end], (x, first, until) => {
    const start = left + Math.floor((x - left) / wide) * wide;
    extent.over(first, until);
    if (current?.[0] !== start) {
      if (current) columns.push(current);
      // Columns without a change keep the value before them.
      if (current && start > current[0] + wide)
        columns.push([current[0] + wide, start - current[0] - wide, last, last, last]);
      current = [start, wide, Math.min(last, extent.least), Math.max(last, extent.most), 0];
    } else {
      current[2] = Math.min(current[2], extent.least);
      current[3] = Math.max(current[3], extent.most);
    }
    last = values[until - 1];
    current[4] = last;
  });
  if (current) columns.push(current);
  return columns;
}

// A step series as an envelope: a light area between two lines.
function drawEnvelope(plot, at, values, extent, colour, width, seen) {
  const { context, scale } = plot;
  const thick = Math.max(1, Math.round(width * scale));
  const columns = envelopeOf(plot, at, values, extent, seen);
  context.fillStyle = colour;
  const known = Math.min(plot.right, plot.x(plot.known));
  for (const [x, wide, least, most] of columns) {
    const top = Math.round(plot.y(most));
    const bottom = Math.round(plot.y(least));
    const span = Math.min(wide, known - x);
    if (span <= 0) continue;
    if (bottom - top > 2 * thick) {
      context.globalAlpha = 0.28;
      context.fillRect(x, top, span, bottom - top);
      context.globalAlpha = 1;
      context.fillRect(x, top, span, thick);
      context.fillRect(x, bottom - thick, span, thick);
    } else {
      context.fillRect(x, top - thick / 2, span, Math.max(thick, bottom - top));
    }
  }
  const end = columns.at(-1);
  if (end && known > end[0] + end[1]) {
    context.fillRect(end[0] + end[1], plot.y(end[4]) - thick / 2, known - end[0] - end[1], thick);
  }
}

// The area below a step series: opaque up to its minimum in a column, light up to its maximum.
function drawAreaEnvelope(plot, at, values, extent, fill, seen) {
  const { context } = plot;
  context.fillStyle = fill;
  const alpha = context.globalAlpha;
  const known = Math.min(plot.right, plot.x(plot.known));
  const columns = envelopeOf(plot, at, values, extent, seen);
  const end = columns.at(-1);
  if (end && known > end[0] + end[1])
    columns.push([end[0] + end[1], known - end[0] - end[1], end[4], end[4], end[4]]);
  for (const [x, wide, least, most] of columns) {
    const [low, high] = [Math.round(plot.y(least)), Math.round(plot.y(most))];
    const span = Math.min(wide, known - x);
    if (span <= 0) continue;
    context.fillRect(x, low, span, plot.bottom - low);
    if (high >= low) continue;
    context.globalAlpha = alpha * 0.45;
    context.fillRect(x, high, span, low - high);
    context.globalAlpha = alpha;
  }
}
