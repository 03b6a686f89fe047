// The graphs below the time-sequence graph, each as a description: its range, its drawing, and
// its values at a moment.

const windowGraph = {
  id: "windows",
  title: "Windows and in flight",
  height: 190,
  units: UNITS.bytes,
  legend: [
    ["flight", "unacknowledged"],
    ["inflight", "in flight"],
    ["cwnd", "congestion window"],
    ["second", "ssthresh"],
    ["window", "receive window"],
    ["bound", "the limit"],
  ],
  range(plot, model) {
    const { acks, flight, windows, path, binding } = model;
    const own = [plot.rangeOf(flight.at, flight.value, model.flightExtent)];
    const most = Math.max(own[0][1], 1);
    const cwnd = plot.rangeOf(windows.at, windows.cwnd, model.cwndExtent);
    const window = plot.rangeOf(acks.at, acks.window, model.windowExtent);
    // Leave out a window far above the bytes in flight, because it does not limit the sender.
    const near = [cwnd, window].filter(([, high]) => high <= 4 * most);
    if (binding?.bytes) near.push([0, Math.min(binding.bytes, 8 * most)]);
    if (path?.bdp && path.bdp <= 8 * most) near.push([0, path.bdp]);
    return widest([...own, ...near], 0);
  },
  draw(plot, model, settings, ink) {
    const { acks, flight, windows, path, binding } = model;
    const labels = new Labels(plot, ink);
    const isBound = (kind) => (binding?.[kind] ? ["bound", 2.25] : undefined);
    const [windowInk, windowWidth] = isBound("isWindow") || ["window", 1.25];
    const [cwndInk, cwndWidth] = isBound("isCwnd") || ["cwnd", 1.5];
    plot.steps(acks.at, acks.window, model.windowExtent, ink[windowInk], windowWidth);
    plot.steps(windows.at, windows.cwnd, model.cwndExtent, ink[cwndInk], cwndWidth);
    const threshold = thresholds(model);
    if (threshold.at.length > 0)
      plot.steps(threshold.at, threshold.value, threshold.extent, ink.second, 1, [4, 3]);
    plot.steps(windows.at, windows.inFlight, model.inFlightExtent, ink.inflight, 1.25);
    plot.steps(flight.at, flight.value, model.flightExtent, ink.flight, 1.5);
    if (binding?.bytes)
      drawLevel(plot, labels, binding.bytes, `limit: ${binding.label}`, ink.bound, { width: 2.25 });
    if (path?.bdp) {
      drawLevel(plot, labels, path.bdp, `bandwidth-delay product ${bytesText(path.bdp)}`, ink.bdp, {
        width: 1,
        dash: [5, 4],
      });
    }
    return labels.placed;
  },
  read(model, time) {
    const { acks, flight, windows } = model;
    return [
      ["unacknowledged", valueAt(flight.at, flight.value, time)],
      ["in flight", valueAt(windows.at, windows.inFlight, time)],
      ["congestion window", valueAt(windows.at, windows.cwnd, time)],
      ["receive window", valueAt(acks.at, acks.window, time)],
    ]
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, bytesText(value)]);
  },
};

// The slow-start threshold from the moment it is set.
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
  height: 130,
  units: UNITS.time.map(([factor, unit]) => [factor / 1e3, unit]),
  legend: [
    ["data", "sample"],
    ["ack", "smoothed"],
    ["second", "retransmission timeout"],
    ["bdp", "idle path"],
  ],
  range(plot, model) {
    const { rtts, path } = model;
    const ranges = [
      plot.rangeOf(rtts.at, rtts.sample, model.sampleExtent),
      plot.rangeOf(rtts.at, rtts.srtt, model.srttExtent),
    ];
    if (path?.rttNs) ranges.push([0, path.rttNs / 1e3]);
    return widest(ranges, 0);
  },
  draw(plot, model, settings, ink) {
    const { rtts, path } = model;
    const labels = new Labels(plot, ink);
    model.rtoExtent ||= new Extent(rtts.rto);
    plot.steps(rtts.at, rtts.rto, model.rtoExtent, ink.second, 1, [4, 3]);
    plot.dots(rtts.at, rtts.sample, model.sampleExtent, ink.data);
    plot.steps(rtts.at, rtts.srtt, model.srttExtent, ink.ack, 1.5);
    if (path?.rttNs)
      drawLevel(plot, labels, path.rttNs / 1e3, `idle path ${timeText(path.rttNs)}`, ink.bdp, {
        width: 1,
        dash: [5, 4],
      });
    return labels.placed;
  },
  read(model, time) {
    const { rtts } = model;
    return [
      ["sample", rtts.sample],
      ["smoothed", rtts.srtt],
      ["timeout", rtts.rto],
    ]
      .map(([name, values]) => [name, valueAt(rtts.at, values, time)])
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, timeText(value * 1e3)]);
  },
};

const throughputGraph = {
  id: "throughput",
  title: "Throughput",
  height: 150,
  units: UNITS.rate,
  legend: [
    ["ack", "acknowledged"],
    ["data", "sent, with retransmissions"],
    ["link", "path capacity"],
    ["bound", "the limit"],
  ],
  // Rates over bins that are as wide as the zoom allows, and at least a round trip long. Shorter
  // bins would show bursts and pauses instead of a rate.
  bins(plot, model) {
    const width = Math.max((6 * plot.scale) / plot.perNs, model.rttNs);
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
    const most = [acked, sent].map((rates) => rates.reduce((high, rate) => Math.max(high, rate), 0));
    return widest(
      [
        [0, Math.max(...most)],
        [0, model.path?.bps ?? 0],
      ],
      0,
    );
  },
  draw(plot, model, settings, ink) {
    const { at, acked, sent } = this.bins(plot, model);
    const { path, binding } = model;
    const labels = new Labels(plot, ink);
    plot.steps(at, sent, new Extent(sent), ink.data, 1);
    plot.steps(at, acked, new Extent(acked), ink.ack, 2);
    if (path?.bps) {
      const colour = binding?.isPath ? ink.bound : ink.link;
      drawLevel(plot, labels, path.bps, capacityLabel(model), colour, {
        width: binding?.isPath ? 2.25 : 1.5,
        dash: [9, 4],
      });
    }
    if (binding?.bps && !binding.isPath) {
      drawLevel(
        plot,
        labels,
        binding.bps,
        `limit: ${binding.label}: at most ${rateText(binding.bps)}`,
        ink.bound,
        { width: 2.25 },
      );
    }
    return labels.placed;
  },
  read(model, time) {
    if (!model.bins) return [];
    const { at, acked, sent, width } = model.bins;
    const lines = [
      ["acknowledged", valueAt(at, acked, time)],
      ["sent", valueAt(at, sent, time)],
    ]
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, rateText(value)]);
    return [...lines, ["over", timeText(width)]];
  },
};

const poolGraph = {
  id: "pool",
  title: "Packet memory by holder",
  height: 150,
  units: UNITS.bytes,
  legend: [],
  range(plot, model) {
    const { pool, poolExtents } = model;
    const used = plot.rangeOf(pool.at, pool.all, poolExtents.at(-1));
    const size = poolSize(model);
    return widest([used, [0, size <= 3 * used[1] ? size : 0]], 0);
  },
  draw(plot, model, settings, ink) {
    const { pool, poolExtents, binding } = model;
    const labels = new Labels(plot, ink);
    const last = poolExtents.length - 1;
    // Draw the largest area first: each area includes the smaller ones, which then cover their part
    // of it.
    plot.context.globalAlpha = 0.3;
    plot.area(pool.at, pool.all, poolExtents[last], ink.text);
    plot.context.globalAlpha = 1;
    for (let which = last - 1; which >= 0; which--) {
      const colour = HOLDER_COLOURS[pool.order[which] % HOLDER_COLOURS.length];
      plot.area(pool.at, pool.tops[which], poolExtents[which], colour);
    }
    const size = poolSize(model);
    const isBound = binding?.isMemory === true;
    const text = isBound ? `limit: ${binding.setting} (${bytesText(size)})` : `pool ${bytesText(size)}`;
    if (size > 0)
      drawLevel(plot, labels, size, text, isBound ? ink.bound : ink.again, { width: isBound ? 2.25 : 1.25 });
    return labels.placed;
  },
  read(model, time, { vocabulary }) {
    const { pool } = model;
    const place = lastAtOrBefore(pool.at, time);
    if (place < 0) return [];
    let below = 0;
    const lines = pool.order.map((holder, which) => {
      const held = pool.tops[which][place] - below;
      below = pool.tops[which][place];
      return [vocabulary.holders[holder], bytesText(held)];
    });
    lines.push(["reserved", bytesText(pool.all[place] - below)]);
    lines.push(["of", bytesText(poolSize(model))]);
    return lines;
  },
};

const poolSize = (model) => model.host.poolBlocks * model.host.blockSize;

const GRAPHS = [sequenceGraph, throughputGraph, windowGraph, rttGraph, poolGraph];
