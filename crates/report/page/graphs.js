// The graphs of a stack, each as a description: what its range is, what it
// draws, and what it reads out at a moment.

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

// Marks above or below the curves, each kind at a height of its own: a small
// stroke and, with room, a sign.
const SIGNS = {
  "retransmission timeout": { sign: "RTO", ink: "again", top: true, lane: 0 },
  "zero window": { sign: "0", ink: "window", top: true, lane: 1 },
  "window opened": { sign: "W", ink: "window", top: true, lane: 1 },
  discard: { sign: "×", ink: "lost", top: true, lane: 2 },
  "writer blocked": { sign: "▾", ink: "soft", top: false, lane: 0 },
  "writer resumed": { sign: "▴", ink: "soft", top: false, lane: 0 },
  "memory pressure": { sign: "M", ink: "again", top: false, lane: 1 },
};
const UNKNOWN_SIGN = { sign: "?", ink: "soft", top: true, lane: 3 };

function drawMarks(plot, model, ink, vocabulary) {
  const { context, scale } = plot;
  const { marks } = model;
  const [begin, end] = plot.visible(marks.at);
  context.font = `${10 * scale}px system-ui, sans-serif`;
  context.textAlign = "center";
  const painted = new Map();
  for (let place = begin; place < end; place++) {
    const kind = marks.kind[place];
    const x = Math.round(plot.x(marks.at[place]));
    const last = painted.get(kind);
    if (last === x) continue;
    painted.set(kind, x);
    const { sign, ink: colour, top, lane } = SIGNS[vocabulary.marks[kind]] || UNKNOWN_SIGN;
    context.fillStyle = ink[colour];
    const edge = top ? plot.top + lane * 16 * scale : plot.bottom - lane * 16 * scale;
    context.fillRect(x, top ? edge : edge - 5 * scale, Math.max(1, scale), 5 * scale);
    if (sign === "RTO") {
      context.globalAlpha = 0.35;
      context.fillRect(x, plot.top, Math.max(1, scale), plot.bottom - plot.top);
      context.globalAlpha = 1;
    }
    if (last === undefined || x - last > 18 * scale) {
      context.fillText(sign, x, top ? edge + 15 * scale : edge - 6 * scale);
    }
  }
}

const sequenceGraph = {
  id: "sequence",
  title: "Sequence numbers",
  height: 320,
  unit: bytesText,
  legend: [["data", "segment"], ["again", "sent again"], ["lost", "lost on the way"], ["ack", "acknowledged"], ["window", "window"], ["sack", "SACK"]],
  range(plot, model, look) {
    const columns = sequenceColumns(model, look.level);
    const { data, acks } = model;
    const ranges = [plot.rangeOf(acks.at, columns.una, columns.ackExtent)];
    const [begin, end] = plot.visible(data.at);
    const { least, most } = columns.dataExtent.over(begin, end);
    ranges.push([least, most]);
    // A window far above what is sent would press everything else flat.
    const edge = plot.rangeOf(acks.at, columns.edge, columns.edgeExtent);
    const top = Math.max(most, ranges[0][1]);
    const span = top - Math.min(least, ranges[0][0]);
    if (edge[0] < top + 0.3 * span) ranges.push([Infinity, Math.min(edge[1], top + 0.3 * span)]);
    return widest(ranges);
  },
  draw(plot, model, look, ink, vocabulary) {
    const columns = sequenceColumns(model, look.level);
    const { data, acks, sacks } = model;
    plot.steps(acks.at, columns.edge, columns.edgeExtent, ink.window);
    plot.bars(data.at, columns.seq, columns.end, columns.dataExtent, ink.data);
    if (sacks.count > 0) {
      const [begin, end] = plot.visible(sacks.at);
      plot.bars(sacks.at, columns.left, columns.right, null, ink.sack, range(begin, end));
    }
    plot.steps(acks.at, columns.una, columns.ackExtent, ink.ack, 1.5);
    this.drawSpecial(plot, data, columns, ink);
    drawMarks(plot, model, ink, vocabulary);
  },
  // Retransmissions and losses stand out at any zoom.
  drawSpecial(plot, data, columns, ink) {
    const { context, scale } = plot;
    const again = data.special.filter((place) => data.fate[place] & AGAIN);
    plot.bars(data.at, columns.seq, columns.end, null, ink.again, again);
    context.font = `bold ${9 * scale}px system-ui, sans-serif`;
    context.textAlign = "center";
    // Where signs would cover each other, what is between them is a dot.
    const signed = { lost: -Infinity, again: -Infinity };
    for (const place of data.special) {
      const time = data.at[place];
      if (time < plot.from || time > plot.until) continue;
      const lost = (data.fate[place] & LOST) !== 0;
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
      if (data.fate[place] & AGAIN) context.fillText("R", x, plot.y(columns.end[place]) - 3 * scale);
    }
  },
  read(model, time, look, vocabulary) {
    const { data, acks } = model;
    const place = lastAtOrBefore(data.at, time);
    const lines = [];
    if (place >= 0) {
      const what = data.fate[place] & AGAIN ? "sent again" : "segment";
      const lost = data.fate[place] & LOST ? ", lost" : "";
      lines.push([what, `${wholeText(data.seq[place])} + ${wholeText(data.len[place])} B at ${momentText(data.at[place], 1e3)} ${flagsText(data.flags[place])}${lost}`]);
    }
    const ack = valueAt(acks.at, acks.una, time);
    if (ack !== undefined) lines.push(["acknowledged", wholeText(ack)]);
    const edge = valueAt(acks.at, acks.edge, time);
    if (edge !== undefined) lines.push(["window edge", wholeText(edge)]);
    const mark = lastAtOrBefore(model.marks.at, time);
    if (mark >= 0) lines.push(["last mark", markText(model.marks, mark, vocabulary)]);
    return lines;
  },
};

function markText(marks, place, vocabulary) {
  const name = vocabulary.marks[marks.kind[place]];
  const why = name === "discard" ? ` ${vocabulary.discards[marks.value[place]]}` : "";
  return `${name}${why} at ${momentText(marks.at[place], 1e3)}`;
}

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

const windowGraph = {
  id: "windows",
  title: "Windows and bytes on their way",
  height: 190,
  unit: bytesText,
  legend: [["flight", "outstanding"], ["inflight", "in flight: without SACKed and lost"], ["cwnd", "congestion window"], ["second", "ssthresh"], ["window", "peer's window"]],
  range(plot, model) {
    const { acks, flight, windows } = model;
    const own = [plot.rangeOf(flight.at, flight.value, model.flightExtent)];
    const most = () => Math.max(...own.map(([, high]) => high), 1);
    const limit = 4 * most();
    const cwnd = plot.rangeOf(windows.at, windows.cwnd, model.cwndExtent);
    const window = plot.rangeOf(acks.at, acks.window, model.windowExtent);
    // A bound far above what is outstanding binds nothing: it may leave the picture.
    const near = [cwnd, window].filter(([, high]) => high <= limit);
    return widest([...own, ...near], 0);
  },
  draw(plot, model, look, ink) {
    const { acks, flight, windows } = model;
    plot.steps(acks.at, acks.window, model.windowExtent, ink.window);
    plot.steps(windows.at, windows.cwnd, model.cwndExtent, ink.cwnd, 1.5);
    const threshold = thresholds(model);
    if (threshold.at.length > 0) plot.steps(threshold.at, threshold.value, threshold.extent, ink.second, 1, [4, 3]);
    plot.steps(windows.at, windows.inFlight, model.inFlightExtent, ink.inflight, 1.25);
    plot.steps(flight.at, flight.value, model.flightExtent, ink.flight, 1.5);
  },
  read(model, time) {
    const { acks, flight, windows } = model;
    return [
      ["outstanding", valueAt(flight.at, flight.value, time)],
      ["in flight", valueAt(windows.at, windows.inFlight, time)],
      ["congestion window", valueAt(windows.at, windows.cwnd, time)],
      ["peer's window", valueAt(acks.at, acks.window, time)],
    ].filter(([, value]) => value !== undefined).map(([name, value]) => [name, `${wholeText(value)} B`]);
  },
};

// The slow-start threshold from when there was one.
function thresholds(model) {
  if (!model.threshold) {
    const { windows } = model;
    const places = placesWhere(windows.count, (place) => windows.ssthresh[place] < NO_THRESHOLD);
    const { at, ssthresh } = pick(windows, ["at", "ssthresh"], places);
    model.threshold = { at, value: ssthresh, extent: new Extent(ssthresh) };
  }
  return model.threshold;
}

const rttGraph = {
  id: "rtt",
  title: "Round-trip time",
  height: 140,
  unit: (us) => timeText(us * 1e3),
  legend: [["data", "sample"], ["ack", "smoothed"], ["second", "retransmission timeout"]],
  range(plot, model) {
    const { rtts } = model;
    return widest([plot.rangeOf(rtts.at, rtts.sample, model.sampleExtent), plot.rangeOf(rtts.at, rtts.srtt, model.srttExtent)], 0);
  },
  draw(plot, model, look, ink) {
    const { rtts } = model;
    model.rtoExtent ||= new Extent(rtts.rto);
    plot.steps(rtts.at, rtts.rto, model.rtoExtent, ink.second, 1, [4, 3]);
    plot.dots(rtts.at, rtts.sample, model.sampleExtent, ink.data);
    plot.steps(rtts.at, rtts.srtt, model.srttExtent, ink.ack, 1.5);
  },
  read(model, time) {
    const { rtts } = model;
    return [["sample", rtts.sample], ["smoothed", rtts.srtt], ["timeout", rtts.rto]]
      .map(([name, values]) => [name, valueAt(rtts.at, values, time)])
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, timeText(value * 1e3)]);
  },
};

const throughputGraph = {
  id: "throughput",
  title: "Throughput",
  height: 150,
  unit: rateText,
  legend: [["ack", "acknowledged"], ["data", "sent, again included"]],
  // Rates over bins that are as wide as the zoom allows.
  bins(plot, model) {
    const width = 6 * plot.scale / plot.perNs;
    const first = Math.floor(plot.from / width);
    const count = Math.ceil(plot.until / width) - first;
    const rate = (at, sums) => {
      const rates = new Float64Array(count);
      let before = valueAt(at, sums, first * width) || 0;
      for (let bin = 0; bin < count; bin++) {
        const sum = valueAt(at, sums, (first + bin + 1) * width) || 0;
        rates[bin] = ((sum - before) * 8e9) / width;
        before = sum;
      }
      return rates;
    };
    const key = `${plot.from} ${plot.until} ${width}`;
    if (model.bins?.key !== key) {
      const at = Float64Array.from({ length: count }, (_, bin) => (first + bin) * width);
      const [acked, sent] = [rate(model.acks.at, model.acks.una), rate(model.data.at, model.sentSum)];
      model.bins = { key, at, acked, sent, width };
    }
    return model.bins;
  },
  range(plot, model) {
    const { acked, sent } = this.bins(plot, model);
    return widest([[0, acked.reduce((most, rate) => Math.max(most, rate), 0)], [0, sent.reduce((most, rate) => Math.max(most, rate), 0)]], 0);
  },
  draw(plot, model, look, ink) {
    const { at, acked, sent } = this.bins(plot, model);
    plot.steps(at, sent, new Extent(sent), ink.data, 1);
    plot.steps(at, acked, new Extent(acked), ink.ack, 1.5);
  },
  read(model, time) {
    if (!model.bins) return [];
    const { at, acked, sent, width } = model.bins;
    return [
      ["acknowledged", valueAt(at, acked, time)],
      ["sent", valueAt(at, sent, time)],
    ].filter(([, value]) => value !== undefined).map(([name, value]) => [name, `${rateText(value)} over ${timeText(width)}`]);
  },
};

const poolGraph = {
  id: "pool",
  title: "Packet memory by holder",
  height: 150,
  unit: bytesText,
  legend: [],
  range(plot, model) {
    const { pool, poolExtents } = model;
    return widest([plot.rangeOf(pool.at, pool.all, poolExtents[poolExtents.length - 1])], 0);
  },
  draw(plot, model, look, ink) {
    const { pool, poolExtents } = model;
    const last = poolExtents.length - 1;
    // From the back: each covers what it stands on.
    plot.context.globalAlpha = 0.3;
    plot.area(pool.at, pool.all, poolExtents[last], ink.text);
    plot.context.globalAlpha = 1;
    for (let which = last - 1; which >= 0; which--) {
      plot.area(pool.at, pool.tops[which], poolExtents[which], HOLDER_COLOURS[pool.order[which] % HOLDER_COLOURS.length]);
    }
    const size = model.host.poolBlocks * model.host.blockSize;
    if (size <= plot.most) {
      plot.context.fillStyle = ink.again;
      plot.context.fillRect(plot.left, plot.y(size), plot.right - plot.left, Math.max(1, plot.scale));
    }
  },
  read(model, time, look, vocabulary) {
    const { pool, host } = model;
    const place = lastAtOrBefore(pool.at, time);
    if (place < 0) return [];
    let below = 0;
    const lines = pool.order.map((holder, which) => {
      const held = pool.tops[which][place] - below;
      below = pool.tops[which][place];
      return [vocabulary.holders[holder], `${wholeText(held)} B`];
    });
    lines.push(["promised beside", `${wholeText(pool.all[place] - below)} B`]);
    lines.push(["pool", `${wholeText(host.poolBlocks * host.blockSize)} B`]);
    return lines;
  },
};

const GRAPHS = [sequenceGraph, windowGraph, rttGraph, throughputGraph, poolGraph];
