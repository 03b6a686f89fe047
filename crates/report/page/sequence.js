// The time-sequence graph, with tcptrace's marks, the limit that applies and the path's rate.

const sequenceGraph = {
  id: "sequence",
  title: "Time-sequence graph",
  height: 360,
  units: UNITS.bytes,
  legend: [
    ["data", "segment"],
    ["again", "retransmission"],
    ["lost", "lost"],
    ["ack", "acknowledged"],
    ["window", "receive window"],
    ["sack", "SACK"],
    ["bound", "the limit"],
    ["link", "path at capacity"],
  ],
  range(plot, model, settings) {
    const columns = sequenceColumns(model, settings.detrended);
    const { data, acks, binding } = model;
    const ranges = [plot.rangeOf(acks.at, columns.una, columns.ackExtent)];
    const [begin, end] = plot.visible(data.at);
    const { least, most } = columns.dataExtent.over(begin, end);
    ranges.push([least, most]);
    // A line far above the segments may lie outside the picture, because it would flatten the
    // segments.
    const top = Math.max(most, ranges[0][1]);
    const span = top - Math.min(least, ranges[0][0]);
    const reach = (at, values, extent, share) => {
      const [low, high] = plot.rangeOf(at, values, extent);
      if (low < top + share * span) ranges.push([Infinity, Math.min(high, top + share * span)]);
    };
    reach(acks.at, columns.edge, columns.edgeExtent, 0.25);
    if (columns.binding) reach(binding.at, columns.binding, columns.bindingExtent, 0.6);
    if (columns.bdp) reach(acks.at, columns.bdp, columns.bdpExtent, 0.5);
    return widest(ranges);
  },
  draw(plot, model, settings, ink, vocabulary) {
    const columns = sequenceColumns(model, settings.detrended);
    const { data, acks, sacks, binding, path } = model;
    const labels = new Labels(plot, ink);
    plot.steps(acks.at, columns.edge, columns.edgeExtent, ink.window, 1.5);
    if (columns.bdp) plot.steps(acks.at, columns.bdp, columns.bdpExtent, ink.bdp, 1, [5, 4]);
    if (columns.binding) plot.steps(binding.at, columns.binding, columns.bindingExtent, ink.bound, 2.25);
    const capacity = path?.bps && this.drawCapacity(plot, model, columns, settings, ink);
    plot.bars(data.at, columns.seq, columns.end, columns.dataExtent, ink.data);
    if (sacks.count > 0) {
      const [begin, end] = plot.visible(sacks.at);
      plot.bars(sacks.at, columns.left, columns.right, null, ink.sack, range(begin, end));
    }
    plot.steps(acks.at, columns.una, columns.ackExtent, ink.ack, 1.75);
    this.drawSpecial(plot, data, columns, ink);
    drawMarks(plot, model, ink, vocabulary);
    if (capacity) labels.put(...capacity);
    this.drawLabels(plot, model, columns, ink, labels);
    return labels.placed;
  },
  // Draws the slope of the path's capacity, from the acknowledgment number at the left edge on.
  // Returns the text, the colour and the places of its label.
  drawCapacity(plot, model, columns, settings, ink) {
    const { context, scale } = plot;
    const { path, acks, binding, home } = model;
    const from = Math.max(plot.from, home[0] + (home[1] - home[0]) / 51);
    const start = valueAt(acks.at, columns.una, from) ?? columns.una[0] ?? 0;
    const perNs = path.bps / 8e9 - (settings.detrended ? model.meanRate : 0);
    const points = [
      [plot.x(from), plot.y(start)],
      [plot.right, plot.y(start + perNs * (plot.until - from))],
    ];
    const colour = binding?.isPath ? ink.bound : ink.link;
    context.strokeStyle = colour;
    context.lineWidth = (binding?.isPath ? 2.25 : 1.5) * scale;
    context.setLineDash([9 * scale, 4 * scale]);
    context.beginPath();
    context.moveTo(...points[0]);
    context.lineTo(...points[1]);
    context.stroke();
    context.setLineDash([]);
    // The label is beside the line, at the point where the line leaves the picture or near the
    // middle of the line.
    const rise = points[0][1] - points[1][1];
    const share = Math.min(1, Math.max(0, (points[0][1] - plot.top) / Math.max(rise, 1)));
    const x = (part) => points[0][0] + (points[1][0] - points[0][0]) * part;
    const y = (part) => points[0][1] - rise * part;
    const spots = [0.92, 0.8, 0.6, 0.4].map((part) => [
      x(share * part) + 10 * scale,
      y(share * part) + 22 * scale,
    ]);
    return [capacityLabel(model), colour, spots];
  },
  drawLabels(plot, model, columns, ink, labels) {
    const { acks, binding, path } = model;
    const along = (at, values, text, colour) => {
      const spot = (share) => {
        const x = plot.left + (plot.right - plot.left) * share;
        const value = valueAt(at, values, plot.time(x));
        return value === undefined ? undefined : [x, value];
      };
      const spots = [0.55, 0.75, 0.4, 0.9, 0.25].map(spot).filter((found) => found);
      const inside = spots.filter(([, value]) => value <= plot.most && value >= plot.least);
      if (inside.length > 0) {
        // There is room above and to the left of a rising line.
        const above = inside.map(([x, value]) => [x - 6 * plot.scale, plot.y(value) - 4 * plot.scale]);
        labels.put(text, colour, above, true);
      } else if (spots.length > 0 && spots[0][1] > plot.most) {
        labels.put(
          `↑ ${text}`,
          colour,
          [0.02, 0.35, 0.6].flatMap((share) =>
            [0, 1, 2].map((line) => [
              plot.left + (plot.right - plot.left) * share,
              plot.top + (20 + 18 * line) * plot.scale,
            ]),
          ),
        );
      }
    };
    if (columns.binding) along(binding.at, columns.binding, `limit: ${binding.label}`, ink.bound);
    // Right above the acknowledged line there is no room for a label.
    if (columns.bdp && path.bdp * plot.perValue > 12 * plot.scale)
      along(acks.at, columns.bdp, `bandwidth-delay product ${bytesText(path.bdp)}`, ink.bdp);
    if (!binding?.isWindow) along(acks.at, columns.edge, "receive window", ink.window);
  },
  // Retransmissions and losses stand out at any zoom.
  drawSpecial(plot, data, columns, ink) {
    const { context, scale } = plot;
    const again = data.special.filter((place) => data.status[place] & RETRANSMITTED);
    plot.bars(data.at, columns.seq, columns.end, null, ink.again, again);
    context.font = `bold ${9 * scale}px system-ui, sans-serif`;
    context.textAlign = "center";
    // If signs would cover each other, those in between are drawn as dots.
    const signed = { lost: -Infinity, again: -Infinity };
    for (const place of data.special) {
      const time = data.at[place];
      if (time < plot.from || time > plot.until) continue;
      const lost = (data.status[place] & LOST) !== 0;
      const kind = lost ? "lost" : "again";
      const x = plot.x(time);
      const y = lost ? plot.y(columns.seq[place]) : plot.y(columns.end[place]) - 3 * scale;
      context.fillStyle = context.strokeStyle = ink[kind];
      if (x - signed[kind] < 9 * scale) {
        const size = Math.ceil(2.5 * scale);
        context.fillRect(Math.round(x - size / 2), Math.round(y - size / 2), size, size);
        continue;
      }
      signed[kind] = x;
      if (lost) cross(context, x, y, 3.5 * scale, scale);
      if (data.status[place] & RETRANSMITTED)
        context.fillText("R", x, plot.y(columns.end[place]) - 3 * scale);
    }
  },
  read(model, time, { vocabulary }) {
    const { data, acks, binding } = model;
    const lines = [];
    const place = lastAtOrBefore(data.at, time);
    if (place >= 0) {
      const name = data.status[place] & RETRANSMITTED ? "retransmission" : "segment";
      const lost = data.status[place] & LOST ? ", lost" : "";
      lines.push([name, `${wholeText(data.seq[place])} + ${wholeText(data.len[place])} B${lost}`]);
    }
    const ack = valueAt(acks.at, acks.una, time);
    if (ack !== undefined) lines.push(["acknowledged", wholeText(ack)]);
    const edge = valueAt(acks.at, acks.edge, time);
    if (edge !== undefined) lines.push(["window edge", wholeText(edge)]);
    const bound = binding?.edge && valueAt(binding.at, binding.edge, time);
    if (bound !== undefined && !binding.isWindow) lines.push(["limit", wholeText(bound)]);
    const mark = lastAtOrBefore(model.marks.at, time);
    if (mark >= 0) lines.push(["last mark", markText(model.marks, mark, vocabulary)]);
    return lines;
  },
};

function cross(context, x, y, size, scale) {
  context.lineWidth = 1.6 * scale;
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x - size, y + size);
  context.lineTo(x + size, y - size);
  context.stroke();
}

function* range(from, until) {
  for (let place = from; place < until; place++) yield place;
}
