// Bands below the time-sequence graph, in lanes: one for the limits of the sender, one for those of
// the receiver, and one for the use of each link and processor. A transfer that is limited by its
// path shows a link that is always busy.

const LANE_HEIGHTS = { bands: 22, usage: 22, queue: 24 };
const LANE_GAP = 4;

// The lanes of a model, from top to bottom. `styles` has the styles of `limits` and of
// `receiveLimits`.
function lanesOf(model, styles) {
  const lanes = [
    {
      id: "limits",
      kind: "bands",
      short: "sender",
      name: "sender waited for",
      bands: model.limits,
      styles: styles.limits,
    },
    {
      id: "receiveLimits",
      kind: "bands",
      short: "receiver",
      name: "receiver: window limited by",
      bands: model.receiveLimits,
      styles: styles.receiveLimits,
    },
  ];
  for (const { kind, name, usage, queue } of model.resources) {
    const words = kind === "link" ? `link ${name}` : `processor of ${name}`;
    const short = kind === "link" ? "link" : "CPU";
    lanes.push({ id: `${kind} ${name}`, kind: "usage", short, name: `${words} busy`, usage, ink: kind });
    if (!queue || queue.count === 0) continue;
    const extent = new Extent(queue.frames);
    lanes.push({
      id: `queue ${name}`,
      kind: "queue",
      short: "queue",
      name: `queue of ${words}`,
      queue,
      extent,
      ink: kind,
    });
  }
  let top = 0;
  for (const lane of lanes) {
    lane.top = top;
    lane.height = LANE_HEIGHTS[lane.kind];
    top += lane.height + LANE_GAP;
  }
  return lanes;
}

const lanesHeight = (lanes) => lanes.at(-1).top + lanes.at(-1).height;

// The lane at `y` points below the first one's top.
const laneAt = (lanes, y) =>
  lanes.find(({ top, height }) => y >= top - LANE_GAP / 2 && y < top + height + LANE_GAP / 2);

// Returns the text of a lane at a moment; `step` is the nanoseconds of a pixel.
function laneText(lane, time, step) {
  if (lane.kind === "bands") {
    const place = lane.bands.find(time);
    return place < 0 ? "–" : lane.styles[lane.bands.reason[place]].label;
  }
  if (lane.kind === "usage") return percentText(lane.usage.share(time - step, time + step));
  return framesText(valueAt(lane.queue.at, lane.queue.frames, time) ?? 0);
}

class LanePainter {
  // `fillOf(style)` returns the fill of a style on this canvas.
  constructor(plot, ink, fillOf) {
    Object.assign(this, { plot, ink, fillOf });
  }

  draw(lanes) {
    const { plot, ink } = this;
    this.labels = [];
    for (const lane of lanes) {
      const top = plot.top + lane.top * plot.scale;
      const height = lane.height * plot.scale;
      if (lane.kind === "bands") this.bands(lane, top, height);
      else if (lane.kind === "usage") this.usage(lane, top, height);
      else this.queue(lane, top, height);
      this.frame(lane, top, height);
    }
    drawTimeAxis(plot, ink);
    // The labels come last, so that no line of the axis crosses them.
    for (const label of this.labels) this.write(label);
  }

  frame(lane, top, height) {
    const { plot, ink } = this;
    const { context, scale, left, right } = plot;
    context.strokeStyle = ink.grid;
    context.lineWidth = 1;
    context.strokeRect(left, top, right - left, height);
    context.font = `${11 * scale}px system-ui, sans-serif`;
    if (context.measureText(lane.short).width > left - 6 * scale) return;
    context.textAlign = "right";
    context.fillStyle = ink.soft;
    context.fillText(lane.short, left - 5 * scale, top + height / 2 + 4 * scale);
  }

  // In a column of pixels each limit has its share of the height.
  bands({ bands, styles, id }, top, height) {
    const { plot } = this;
    const { context, scale } = plot;
    const wide = Math.max(1, Math.round(2 * scale));
    let run = null;
    const flush = () => {
      if (!run) return;
      context.fillStyle = this.fillOf(styles[run.reason]);
      context.fillRect(run.from, top, run.until - run.from, height);
      const { label } = styles[run.reason];
      const long = id === "limits" ? `waited for ${label}` : label;
      this.label([long, label], run.from, run.until, top, height);
      run = null;
    };
    for (let x = Math.floor(plot.left); x < plot.right; x += wide) {
      const reason = bands.over(plot.time(x), plot.time(x + wide));
      const sum = bands.shares.reduce((all, share) => all + share, 0);
      const alone = reason >= 0 && bands.shares[reason] > sum * 0.995;
      if (alone && run?.reason === reason) {
        run.until = Math.min(x + wide, plot.right);
        continue;
      }
      flush();
      if (alone) {
        run = { from: x, until: Math.min(x + wide, plot.right), reason };
        continue;
      }
      let below = top + height;
      for (let which = 0; which < styles.length && sum > 0; which++) {
        const part = (bands.shares[which] / sum) * height;
        if (part < 0.3) continue;
        context.fillStyle = styles[which].colour;
        context.fillRect(x, below - part, wide, part);
        below -= part;
      }
    }
    flush();
  }

  // In a column of pixels the busy share of the time is the share of the height.
  usage(lane, top, height) {
    const { plot, ink } = this;
    const { context, scale, left, right, from, until } = plot;
    const wide = Math.max(1, Math.round(2 * scale));
    context.fillStyle = ink[lane.ink];
    let before = lane.usage.until(plot.time(left));
    for (let x = left; x < right; x += wide) {
      const end = Math.min(x + wide, right);
      const after = lane.usage.until(plot.time(end));
      const part = Math.min(1, (after - before) / (plot.time(end) - plot.time(x))) * height;
      if (part > 0.3) context.fillRect(x, top + height - part, end - x, part);
      before = after;
    }
    const busy = percentText(lane.usage.share(Math.max(0, from), Math.min(plot.known, until)));
    this.label([`${lane.name} ${busy} of this time`, `busy ${busy}`], left, right, top, height);
  }

  queue(lane, top, height) {
    const { plot, ink } = this;
    const { at, frames } = lane.queue;
    const most = lane.extent.over(0, at.length).most;
    const inner = Object.create(plot);
    Object.assign(inner, { top, bottom: top + height });
    inner.setRange(0, most * 1.05);
    plot.context.globalAlpha = 0.6;
    inner.area(at, frames, lane.extent, ink[lane.ink]);
    plot.context.globalAlpha = 1;
    const { most: here } = lane.extent.over(...this.seen(at));
    const text = `at most ${framesText(Math.max(0, here))} of ${wholeText(most)}`;
    this.label([`${lane.name}: ${text}`, text], plot.left, plot.right, top, height);
  }

  seen(at) {
    const [begin, end] = this.plot.visible(at);
    return [Math.max(0, begin - 1), end];
  }

  // Notes the first of `texts` that fits between `from` and `until`, to be written in the middle.
  label(texts, from, until, top, height) {
    const { context, scale } = this.plot;
    context.font = `${11 * scale}px system-ui, sans-serif`;
    for (const text of texts) {
      const width = context.measureText(text).width;
      if (until - from < width + 10 * scale) continue;
      this.labels.push({ text, width, middle: (from + until) / 2, top, height });
      return;
    }
  }

  write({ text, width, middle, top, height }) {
    const { plot, ink } = this;
    const { context, scale } = plot;
    context.font = `${11 * scale}px system-ui, sans-serif`;
    context.fillStyle = ink.paper;
    context.globalAlpha = 0.86;
    context.fillRect(middle - width / 2 - 4 * scale, top + 2.5 * scale, width + 8 * scale, height - 5 * scale);
    context.globalAlpha = 1;
    context.fillStyle = ink.text;
    context.textAlign = "center";
    context.fillText(text, middle, top + height / 2 + 4 * scale);
  }
}
