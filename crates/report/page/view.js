// The visible time, and the cursor. All graphs share them.
//
// A change requests one frame, and a frame draws everything once.

class View {
  constructor(draw) {
    this.draw = draw;
    this.cursor = NaN;
    this.pending = 0;
    this.stale = { graphs: true, cursor: true };
    this.frames = 0;
    this.domain = [0, 1];
    this.home = this.domain;
    [this.from, this.until] = this.domain;
  }

  // Sets the whole time, and the part of it that is visible first.
  setDomain(from, until, home) {
    const margin = (until - from) * 0.01;
    this.domain = [from - margin, until + margin];
    this.home = home || this.domain;
    this.show(...this.home);
  }

  // Shows the time from..until, as far as it lies in the whole time.
  show(from, until) {
    const [first, last] = this.domain;
    const span = Math.min(Math.max(until - from, 200), last - first);
    from = Math.min(Math.max(from, first), last - span);
    [this.from, this.until] = [from, from + span];
    this.ask();
  }

  // Shows `factor` times as much time as before; `time` stays at its place on the screen.
  zoom(factor, time = (this.from + this.until) / 2) {
    this.show(time - (time - this.from) * factor, time + (this.until - time) * factor);
  }

  // Moves by a share of the visible time.
  pan(share) {
    const by = (this.until - this.from) * share;
    this.show(this.from + by, this.until + by);
  }

  // Moves so that `time` is in the middle.
  centre(time) {
    const half = (this.until - this.from) / 2;
    this.show(time - half, time + half);
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

  // Draws at once everything that has changed.
  now() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    const { graphs } = this.stale;
    this.stale = { graphs: false, cursor: false };
    this.frames += 1;
    this.draw(graphs);
  }
}
