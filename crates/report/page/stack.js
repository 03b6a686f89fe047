// One connection's graphs below each other, over one strip of limits.
//
// Each graph has two canvases: what was observed, and over it the cursor, so
// that moving the cursor draws no segment.

const GUTTER = { left: 64, right: 10, top: 6, bottom: 20 };
const STRIP = { id: "strip", height: 66 };

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

class Stack {
  // `side`: "a" or "b". `vocabulary`: the names of everything that is a number.
  constructor(side, view, vocabulary) {
    this.side = side;
    this.view = view;
    this.vocabulary = vocabulary;
    this.styles = { limits: stylesOf(vocabulary.limits), receiveLimits: stylesOf(vocabulary.receiveLimits) };
    this.root = element("div", { class: "stack", "data-side": side });
    this.title = element("h3");
    this.totals = element("div", { class: "totals", role: "group", "aria-label": "time by limit" });
    this.root.append(this.title, this.totals);
    this.panes = [this.pane(STRIP, "Limits: sender above, receiver below"), ...GRAPHS.map((graph) => this.pane(graph, graph.title))];
    this.patterns = new Map();
  }

  pane(graph, title) {
    const base = element("canvas", { role: "img", "aria-label": title });
    const over = element("canvas", { class: "over", "aria-hidden": "true" });
    const plot = element("div", { class: "plot", style: `height:${graph.height}px` }, base, over);
    const caption = element("figcaption", {}, element("b", {}, title));
    const legend = element("span", { class: "legend" });
    caption.append(legend);
    const figure = element("figure", { class: "graph", "data-graph": graph.id }, caption, plot);
    this.root.append(figure);
    for (const [colour, text] of graph.legend || []) legend.append(element("span", { class: `key key-${colour}` }, text));
    return { graph, base, over, plot, figure, legend, caption };
  }

  // Shows a model. `look`: the settings of the page; `known`: when the row ended.
  show(title, model, look, known) {
    Object.assign(this, { model, look, known });
    this.title.textContent = title;
    const holders = this.panes.find(({ graph }) => graph.id === "pool").legend;
    holders.replaceChildren(...model.pool.order.map((holder) => {
      const key = element("span", { class: "key key-holder" }, this.vocabulary.holders[holder]);
      key.style.setProperty("--key", HOLDER_COLOURS[holder % HOLDER_COLOURS.length]);
      return key;
    }), element("span", { class: "key key-promised" }, "promised"));
    this.describe();
  }

  get bands() {
    return this.model[this.look.bands];
  }

  get bandStyles() {
    return this.styles[this.look.bands];
  }

  // What a screen reader says of each graph.
  describe() {
    const { model } = this;
    const texts = {
      strip: `Limits over time. ${this.bandStyles.map((style, reason) => [style.label, this.bands.time[reason]]).filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]).map(([label, time]) => `${label} ${percentText(time / (this.bands.until - this.bands.from))}`).join(", ")}`,
      sequence: `Time-sequence graph: ${wholeText(model.data.count)} segments, ${wholeText(model.data.special.filter((place) => model.data.fate[place] & AGAIN).length)} sent again, ${wholeText(model.acks.count)} acknowledgments`,
      windows: `Windows over time; at most ${bytesText(model.flightExtent.over(0, model.flight.count).most || 0)} outstanding`,
      rtt: `Round-trip time over time: ${wholeText(model.rtts.count)} samples`,
      throughput: `Throughput over time; ${rateText(model.meanRate * 8e9)} in the mean`,
      pool: `Packet memory by holder over time, of ${bytesText(model.host.poolBlocks * model.host.blockSize)}`,
    };
    for (const { graph, base } of this.panes) base.setAttribute("aria-label", texts[graph.id]);
  }

  // Fits the canvases to the page; true when one changed its size.
  fit(scale) {
    let changed = false;
    for (const { base, over, plot } of this.panes) {
      const [width, height] = [Math.round(plot.clientWidth * scale), Math.round(plot.clientHeight * scale)];
      if (base.width === width && base.height === height) continue;
      for (const canvas of [base, over]) [canvas.width, canvas.height] = [width, height];
      changed = true;
    }
    this.scale = scale;
    return changed;
  }

  plotOf(canvas) {
    const { scale } = this;
    const box = { left: GUTTER.left * scale, right: canvas.width - GUTTER.right * scale, top: GUTTER.top * scale, bottom: canvas.height - GUTTER.bottom * scale };
    // Nothing shines through the picture itself, and an opaque one costs less.
    const context = canvas.getContext("2d", { alpha: canvas.classList.contains("over") });
    return new Plot(context, box, { from: this.view.from, until: this.view.until, known: this.known }, scale, (this.frame ||= new Map()));
  }

  // What each graph would show of its values, by its id.
  ranges() {
    this.frame = new Map();
    const graphs = this.panes.filter(({ graph }) => graph !== STRIP);
    return new Map(graphs.map(({ graph, base }) => [graph.id, graph.range(this.plotOf(base), this.model, this.look)]));
  }

  // `ranges`: what graphs show of their values where it is not their own choice.
  draw(ink, ranges) {
    if (!this.model) return;
    this.columns = undefined;
    this.frame = new Map();
    for (const pane of this.panes) {
      const { graph, base } = pane;
      const plot = this.plotOf(base);
      plot.context.fillStyle = ink.paper;
      plot.context.fillRect(0, 0, base.width, base.height);
      if (graph === STRIP) {
        this.drawStrip(plot, ink);
        continue;
      }
      this.drawBackground(plot, ink);
      pane.range = ranges?.get(graph.id) ?? graph.range(plot, this.model, this.look);
      plot.setRange(...pane.range);
      drawAxes(plot, graph.unit, ink);
      plot.context.save();
      plot.context.beginPath();
      plot.context.rect(plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
      plot.context.clip();
      graph.draw(plot, this.model, this.look, ink, this.vocabulary);
      plot.context.restore();
    }
  }

  // Which limit holds longest in each few pixels, and its neighbours with the
  // same: [from x, until x, reason]. Shared by all graphs of a frame.
  longest(plot) {
    if (this.columns) return this.columns;
    const runs = [];
    const wide = Math.max(1, Math.round(2 * plot.scale));
    for (let x = Math.floor(plot.left); x < plot.right; x += wide) {
      const reason = this.bands.over(plot.time(x), plot.time(x + wide));
      const next = Math.min(x + wide, plot.right);
      const last = runs[runs.length - 1];
      if (last && last[2] === reason && last[1] === x) last[1] = next;
      else runs.push([x, next, reason]);
    }
    this.columns = runs;
    return runs;
  }

  drawBackground(plot, ink) {
    const { context } = plot;
    context.globalAlpha = ink.band;
    for (const [x0, x1, reason] of this.longest(plot)) {
      if (reason < 0) continue;
      context.fillStyle = this.bandStyles[reason].colour;
      context.fillRect(x0, plot.top, x1 - x0, plot.bottom - plot.top);
    }
    context.globalAlpha = 1;
  }

  // Both lanes of limits; in a column of pixels each limit has its share of the height.
  drawStrip(plot, ink) {
    const height = (plot.bottom - plot.top) / 2;
    this.drawLane(plot, this.model.limits, this.styles.limits, plot.top, height - plot.scale, ink);
    this.drawLane(plot, this.model.receiveLimits, this.styles.receiveLimits, plot.top + height, height - plot.scale, ink);
    drawTimeAxis(plot, ink);
  }

  drawLane(plot, bands, styles, top, height, ink) {
    const { context, scale } = plot;
    const wide = Math.max(1, Math.round(2 * scale));
    let run = null;
    const flush = () => {
      if (!run) return;
      context.fillStyle = this.fill(context, styles[run.reason]);
      context.fillRect(run.from, top, run.until - run.from, height);
      this.label(plot, styles[run.reason], run, top, height, ink);
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
    context.strokeStyle = ink.grid;
    context.strokeRect(plot.left, top, plot.right - plot.left, height);
    context.textAlign = "right";
    context.fillStyle = ink.soft;
    context.font = `${10 * scale}px system-ui, sans-serif`;
    context.fillText(bands === this.model.limits ? "sender" : "receiver", plot.left - 5 * scale, top + height / 2 + 3.5 * scale);
  }

  label(plot, style, run, top, height, ink) {
    const { context, scale } = plot;
    context.font = `${10 * scale}px system-ui, sans-serif`;
    const width = context.measureText(style.label).width;
    if (run.until - run.from < width + 10 * scale) return;
    const middle = (run.from + run.until) / 2;
    context.fillStyle = ink.paper;
    context.globalAlpha = 0.85;
    context.fillRect(middle - width / 2 - 3 * scale, top + 1.5 * scale, width + 6 * scale, height - 3 * scale);
    context.globalAlpha = 1;
    context.fillStyle = ink.text;
    context.textAlign = "center";
    context.fillText(style.label, middle, top + height / 2 + 3.5 * scale);
  }

  fill(context, style) {
    const key = `${style.name} ${this.scale}`;
    if (!this.patterns.has(key)) this.patterns.set(key, patternFill(context, style, this.scale));
    return this.patterns.get(key);
  }

  // The cursor, and what is being selected.
  drawOver(ink, selection) {
    if (!this.model) return;
    for (const pane of this.panes) {
      const { over } = pane;
      const empty = !selection && !Number.isFinite(this.view.cursor);
      // A canvas that is not touched costs the browser nothing.
      if (empty && !pane.marked) continue;
      pane.marked = !empty;
      const context = over.getContext("2d");
      context.clearRect(0, 0, over.width, over.height);
      const plot = this.plotOf(over);
      if (selection) {
        const [from, until] = selection.map((time) => Math.min(Math.max(plot.x(time), plot.left), plot.right));
        context.fillStyle = ink.text;
        context.globalAlpha = 0.14;
        context.fillRect(Math.min(from, until), plot.top, Math.abs(until - from), plot.bottom - plot.top);
        context.globalAlpha = 1;
      }
      const x = plot.x(this.view.cursor);
      if (!(x >= plot.left && x <= plot.right)) continue;
      context.fillStyle = ink.text;
      context.fillRect(Math.round(x), plot.top, Math.max(1, Math.round(this.scale)), plot.bottom - plot.top);
    }
  }

  // The time under a pointer; undefined outside the graphs.
  timeAt(event) {
    const plot = event.target.closest?.(".plot");
    if (!plot) return undefined;
    const bounds = plot.getBoundingClientRect();
    const share = (event.clientX - bounds.left - GUTTER.left) / (bounds.width - GUTTER.left - GUTTER.right);
    if (share < -0.01 || share > 1.01) return undefined;
    return this.view.from + share * (this.view.until - this.view.from);
  }

  // Everything to be read at `time`, by graph.
  read(time) {
    const lines = [];
    for (const { graph } of this.panes) {
      if (graph !== STRIP) lines.push([graph.title, graph.read(this.model, time, this.look, this.vocabulary)]);
    }
    return lines;
  }
}

function drawAxes(plot, unit, ink) {
  const { context, scale } = plot;
  context.font = `${11 * scale}px system-ui, sans-serif`;
  const { values } = ticks(plot.least, plot.most, (plot.bottom - plot.top) / (42 * scale));
  context.textAlign = "right";
  for (const value of values) {
    const y = Math.round(plot.y(value));
    context.fillStyle = ink.grid;
    context.fillRect(plot.left, y, plot.right - plot.left, 1);
    context.fillStyle = ink.soft;
    context.fillText(unit(value), plot.left - 5 * scale, y + 4 * scale);
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
    // At the edges the text stays inside, beside its line instead of below it.
    context.textAlign = x < plot.left + width ? "left" : x > plot.right - width ? "right" : "center";
    context.fillText(momentText(time, step), x, plot.bottom + 14 * scale);
  }
}
