// What part of time is looked at, and where the cursor is: one for all graphs.
//
// Whatever changes asks for one frame; a frame draws everything once.

class View {
  constructor(draw) {
    this.draw = draw;
    this.cursor = NaN;
    this.pending = 0;
    this.stale = { graphs: true, cursor: true };
    this.frames = 0;
    this.domain = [0, 1];
    [this.from, this.until] = this.domain;
  }

  // All there is to look at; looks at all of it.
  setDomain(from, until) {
    const margin = (until - from) * 0.01;
    this.domain = [from - margin, until + margin];
    [this.from, this.until] = this.domain;
    this.ask();
  }

  // Looks at from .. until, as far as there is something.
  show(from, until) {
    const [first, last] = this.domain;
    const span = Math.min(Math.max(until - from, 200), last - first);
    from = Math.min(Math.max(from, first), last - span);
    [this.from, this.until] = [from, from + span];
    this.ask();
  }

  // Looks at `factor` times as much, with `time` where it was.
  zoom(factor, time = (this.from + this.until) / 2) {
    this.show(time - (time - this.from) * factor, time + (this.until - time) * factor);
  }

  // Moves by a share of what is to be seen.
  pan(share) {
    const by = (this.until - this.from) * share;
    this.show(this.from + by, this.until + by);
  }

  all() {
    this.show(...this.domain);
  }

  // Moves the cursor; NaN takes it away.
  point(time) {
    this.cursor = time;
    this.stale.cursor = true;
    this.request();
  }

  ask() {
    this.stale.graphs = true;
    this.request();
  }

  request() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => this.now());
  }

  // Draws what is stale, at once.
  now() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    const { graphs } = this.stale;
    this.stale = { graphs: false, cursor: false };
    this.frames += 1;
    this.draw(graphs);
  }
}
