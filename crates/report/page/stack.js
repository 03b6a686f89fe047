// The verdict of one row (scenario) next to its graphs, all over one time axis.
//
// Each graph has two canvases: the series, and over them the cursor, so that moving the cursor
// draws no segment.

const GUTTER = { left: 64, right: 10, top: 6, bottom: 20 };
const OVERVIEW = { id: "overview", title: "Whole transfer", height: 46, legend: [] };
const LANES = { id: "lanes", title: "Waited for, and busy", height: 100, legend: [] };

// The gutter at the left of a plot of `width` points.
const gutterOf = (width) => Math.min(GUTTER.left, Math.floor(width / 5));

class Stack {
  // `side`: "a" or "b". `vocabulary`: names of the numbers in the data.
  constructor(side, view, vocabulary) {
    this.side = side;
    this.view = view;
    this.vocabulary = vocabulary;
    this.styles = { limits: stylesOf(vocabulary.limits), receiveLimits: stylesOf(vocabulary.receiveLimits) };
    this.root = element("div", { class: "stack", "data-side": side });
    this.title = element("h2");
    this.verdict = element("div", { class: "verdict" });
    this.totals = element("div", { class: "totals", role: "group", "aria-label": "time by limit" });
    this.details = element("aside", {
      class: "details",
      "aria-live": "polite",
      "aria-label": "Details",
      hidden: true,
    });
    const side_ = element("div", { class: "side" }, this.title, this.verdict, this.totals, this.details);
    this.graphs = element("div", { class: "graphs" });
    this.root.append(side_, this.graphs);
    const [sequence, ...others] = GRAPHS;
    this.panes = [OVERVIEW, sequence, LANES, ...others].map((graph) => this.pane(graph));
    this.patterns = new Map();
  }

  pane(graph) {
    const base = element("canvas", { role: "img", "aria-label": graph.title });
    const over = element("canvas", { class: "over", "aria-hidden": "true" });
    const values = element("div", { class: "values", hidden: true });
    const plot = element("div", { class: "plot" }, base, over, values);
    plot.style.setProperty("--height", `${graph.height}px`);
    const legend = element("span", { class: "legend" });
    for (const [colour, text] of graph.legend)
      legend.append(element("span", { class: `key key-${colour}` }, text));
    const apart = element("span", { class: "apart", hidden: true }, "not on the scale of the other row");
    const caption = element("figcaption", {}, element("b", {}, graph.title), apart, legend);
    this.graphs.append(element("figure", { class: "graph", "data-graph": graph.id }, caption, plot));
    return { graph, base, over, plot, values, legend, apart };
  }

  // Shows a model. `settings` are those of the page, and `known` is the end of the row.
  show(title, model, settings, known) {
    Object.assign(this, { model, settings, known });
    this.title.replaceChildren(...prose(title));
    this.lanes = lanesOf(model, this.styles);
    const lanes = this.paneOf("lanes");
    lanes.plot.style.setProperty("--height", `${lanesHeight(this.lanes) + GUTTER.top + GUTTER.bottom}px`);
    const holders = model.pool.order.map((holder) => {
      const key = element("span", { class: "key key-holder" }, this.vocabulary.holders[holder]);
      key.style.setProperty("--key", HOLDER_COLOURS[holder % HOLDER_COLOURS.length]);
      return key;
    });
    this.paneOf("pool").legend.replaceChildren(
      ...holders,
      element("span", { class: "key key-reserved" }, "reserved"),
    );
    this.overviewKey = undefined;
    this.describe();
  }

  paneOf(id) {
    return this.panes.find(({ graph }) => graph.id === id);
  }

  // The bands that shade the graphs. A click on a graph explains the band at this place.
  get bands() {
    return this.model[this.settings.bands] ?? this.model.limits;
  }

  get bandStyles() {
    return this.styles[this.settings.bands] ?? this.styles.limits;
  }

  // Texts for screen readers.
  describe() {
    const { model } = this;
    const shares = this.bandStyles.map((style, reason) => [style.label, this.bands.time[reason]]);
    const named = shares.filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]);
    const lifetime = this.bands.until - this.bands.from;
    const again = model.data.special.filter((place) => model.data.status[place] & RETRANSMITTED).length;
    const most = model.flightExtent.over(0, model.flight.count).most;
    const texts = {
      overview: "Sequence numbers of the whole transfer, with the part that the graphs show",
      lanes: `Limits over time. The sender waited for ${named.map(([label, time]) => `${label} ${percentText(time / lifetime)}`).join(", ")}`,
      sequence: `Time-sequence graph: ${wholeText(model.data.count)} segments, ${wholeText(again)} retransmissions, ${wholeText(model.acks.count)} acknowledgments${model.binding ? `; limit: ${model.binding.label}` : ""}`,
      windows: `Windows over time; at most ${bytesText(Math.max(0, most))} unacknowledged`,
      rtt: `Round-trip time over time: ${wholeText(model.rtts.count)} samples`,
      throughput: `Throughput over time; ${rateText(model.meanRate * 8e9)} on average${model.path?.bps ? ` of ${rateText(model.path.bps)}` : ""}`,
      pool: `Packet memory by holder over time, of ${bytesText(poolSize(model))}`,
    };
    for (const { graph, base } of this.panes) base.setAttribute("aria-label", texts[graph.id]);
  }

  // Fits the canvases to the page. Returns true if one of them changed its size.
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

  plotOf(canvas, [from, until] = [this.view.from, this.view.until]) {
    const { scale } = this;
    const box = {
      left: gutterOf(canvas.width / scale) * scale,
      right: canvas.width - GUTTER.right * scale,
      top: GUTTER.top * scale,
      bottom: canvas.height - GUTTER.bottom * scale,
    };
    // An opaque canvas costs less.
    const context = canvas.getContext("2d", { alpha: canvas.classList.contains("over") });
    return new Plot(context, box, { from, until, known: this.known }, scale, (this.frame ||= new Map()));
  }

  // Says which graphs have a range of their own although the rows share `ranges`.
  markApart(ranges) {
    for (const { graph, apart } of this.panes) apart.hidden = !(ranges && graph.range && !ranges.has(graph.id));
  }

  // The range that each graph would choose, by its id.
  ranges() {
    this.frame = new Map();
    const graphs = this.panes.filter(({ graph }) => graph.range);
    return new Map(
      graphs.map(({ graph, base }) => [graph.id, graph.range(this.plotOf(base), this.model, this.settings)]),
    );
  }

  // `ranges` has the ranges of the graphs that do not choose their own.
  draw(ink, ranges) {
    if (!this.model) return;
    this.columns = undefined;
    this.frame = new Map();
    for (const pane of this.panes) {
      const { graph, base } = pane;
      if (graph === OVERVIEW) {
        this.drawOverview(pane, ink);
        continue;
      }
      const plot = this.plotOf(base);
      plot.context.fillStyle = ink.paper;
      plot.context.fillRect(0, 0, base.width, base.height);
      if (graph === LANES) {
        new LanePainter(plot, ink, (style) => this.fill(plot.context, style)).draw(this.lanes);
        continue;
      }
      this.drawShade(plot, ink);
      pane.range = ranges?.get(graph.id) ?? graph.range(plot, this.model, this.settings);
      plot.setRange(...pane.range);
      drawAxes(plot, graph.units, ink);
      plot.context.save();
      plot.context.beginPath();
      plot.context.rect(plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
      plot.context.clip();
      pane.labels = graph.draw(plot, this.model, this.settings, ink, this.vocabulary);
      plot.context.restore();
    }
  }

  // Draws the whole transfer. It is drawn again only if something other than the view has changed.
  drawOverview({ base }, ink) {
    const key = `${base.width} ${base.height} ${ink.paper} ${this.view.domain}`;
    if (this.overviewKey === key) return;
    this.overviewKey = key;
    const frame = this.frame;
    this.frame = new Map();
    const plot = this.plotOf(base, this.view.domain);
    const { acks, ackExtent, data } = this.model;
    plot.context.fillStyle = ink.paper;
    plot.context.fillRect(0, 0, base.width, base.height);
    plot.setRange(...widest([plot.rangeOf(acks.at, acks.una, ackExtent)], 0));
    drawTimeAxis(plot, ink);
    plot.context.globalAlpha = 0.35;
    plot.area(acks.at, acks.una, ackExtent, ink.ack);
    plot.context.globalAlpha = 1;
    plot.steps(acks.at, acks.una, ackExtent, ink.ack, 1.25);
    plot.context.fillStyle = ink.again;
    for (const place of data.special)
      plot.context.fillRect(
        Math.round(plot.x(data.at[place])),
        plot.top,
        Math.max(1, plot.scale),
        4 * plot.scale,
      );
    plot.context.strokeStyle = ink.grid;
    plot.context.strokeRect(plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
    this.frame = frame;
  }

  // The limit with the most time in each few pixels: [from x, until x, reason]. Shared by all
  // graphs of a frame.
  longest(plot) {
    if (this.columns) return this.columns;
    const runs = [];
    const wide = Math.max(1, Math.round(2 * plot.scale));
    for (let x = Math.floor(plot.left); x < plot.right; x += wide) {
      const reason = this.bands.over(plot.time(x), plot.time(x + wide));
      const next = Math.min(x + wide, plot.right);
      const last = runs.at(-1);
      if (last && last[2] === reason && last[1] === x) last[1] = next;
      else runs.push([x, next, reason]);
    }
    this.columns = runs;
    return runs;
  }

  // Shades a graph by limit, unless the path or a processor is what limits the transfer.
  drawShade(plot, ink) {
    if (this.settings.bands === "none") return;
    if (this.model.shown.resource && this.settings.bands === "limits") return;
    const { context } = plot;
    context.globalAlpha = ink.band;
    for (const [x0, x1, reason] of this.longest(plot)) {
      if (reason < 0) continue;
      context.fillStyle = this.bandStyles[reason].colour;
      context.fillRect(x0, plot.top, x1 - x0, plot.bottom - plot.top);
    }
    context.globalAlpha = 1;
  }

  fill(context, style) {
    const key = `${style.name} ${this.scale}`;
    if (!this.patterns.has(key)) this.patterns.set(key, patternFill(context, style, this.scale));
    return this.patterns.get(key);
  }

  // The cursor with its values, the selection, and in the overview the part that is shown.
  drawOver(ink, selection) {
    if (!this.model) return;
    for (const pane of this.panes) {
      if (pane.graph === OVERVIEW) {
        this.drawShown(pane, ink);
        continue;
      }
      const { over } = pane;
      const empty = !selection && !Number.isFinite(this.view.cursor);
      // Skip an empty canvas: one that is not touched costs the browser nothing.
      if (empty && !pane.marked) continue;
      pane.marked = !empty;
      const plot = this.plotOf(over);
      plot.context.clearRect(0, 0, over.width, over.height);
      if (selection) this.shadeBetween(plot, selection, ink);
      const x = plot.x(this.view.cursor);
      const isSeen = x >= plot.left && x <= plot.right;
      showValues(pane, isSeen ? this.valuesOf(pane) : [], x / this.scale, over.width / this.scale);
      if (!isSeen) continue;
      plot.context.fillStyle = ink.text;
      plot.context.fillRect(
        Math.round(x),
        plot.top,
        Math.max(1, Math.round(this.scale)),
        plot.bottom - plot.top,
      );
    }
  }

  shadeBetween(plot, times, ink) {
    const [from, until] = times.map((time) => Math.min(Math.max(plot.x(time), plot.left), plot.right));
    plot.context.fillStyle = ink.text;
    plot.context.globalAlpha = 0.14;
    plot.context.fillRect(Math.min(from, until), plot.top, Math.abs(until - from), plot.bottom - plot.top);
    plot.context.globalAlpha = 1;
  }

  drawShown({ over }, ink) {
    const plot = this.plotOf(over, this.view.domain);
    const { context, scale } = plot;
    context.clearRect(0, 0, over.width, over.height);
    const [from, until] = [this.view.from, this.view.until].map((time) => plot.x(time));
    const width = Math.max(3 * scale, until - from);
    context.fillStyle = ink.bound;
    context.globalAlpha = 0.18;
    context.fillRect(from, plot.top, width, plot.bottom - plot.top);
    context.globalAlpha = 1;
    context.strokeStyle = ink.bound;
    context.lineWidth = 1.5 * scale;
    context.strokeRect(from, plot.top, width, plot.bottom - plot.top);
  }

  // The values of a graph at the cursor.
  valuesOf({ graph }) {
    const { cursor, from, until } = this.view;
    const step = (until - from) / 1e3;
    if (graph === LANES) return this.lanes.map((lane) => [lane.name, laneText(lane, cursor, step)]);
    const lines = graph.read(this.model, cursor, { vocabulary: this.vocabulary });
    return graph.id === "sequence" ? [["at", momentText(cursor, Math.max(1, step / 10))], ...lines] : lines;
  }

  // The time under a pointer; undefined outside the graphs.
  timeAt(event) {
    const plot = event.target.closest?.(".plot");
    if (!plot) return undefined;
    const bounds = plot.getBoundingClientRect();
    const gutter = gutterOf(bounds.width);
    const share = (event.clientX - bounds.left - gutter) / (bounds.width - gutter - GUTTER.right);
    if (share < -0.01 || share > 1.01) return undefined;
    const isOverview = plot.parentElement.dataset.graph === "overview";
    const [from, until] = isOverview ? this.view.domain : [this.view.from, this.view.until];
    return from + share * (until - from);
  }

  // The lane under a pointer, if there is one.
  laneUnder(event) {
    const plot = event.target.closest?.("[data-graph=lanes] .plot");
    return plot
      ? laneAt(this.lanes, event.clientY - plot.getBoundingClientRect().top - GUTTER.top)
      : undefined;
  }
}
