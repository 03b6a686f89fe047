// Wheel, drag, touch and keys, the same over every graph.
//
// The wheel scrolls the page; with Ctrl it zooms, with Shift it pans. A drag selects a time to zoom
// to. With Shift, with the middle button, or if the options say so, a drag pans. On a touch screen
// one finger pans and two zoom.

class Input {
  // `act`: { select(from, until), click(stack, time, lane), say() }.
  constructor(stage, stacks, view, act) {
    Object.assign(this, { stage, stacks, view, act });
    this.pans = false;
    this.drag = null;
    this.touches = new Map();
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    stage.addEventListener("pointerup", (event) => this.up(event));
    stage.addEventListener("pointercancel", (event) => this.cancel(event));
    stage.addEventListener("pointerleave", () => this.view.point(NaN));
    stage.addEventListener("dblclick", (event) => event.target.closest(".plot") && this.view.all());
    stage.addEventListener("keydown", (event) => this.key(event));
  }

  stackOf(event) {
    const root = event.target.closest?.(".stack");
    return this.stacks.find((stack) => stack.root === root && stack.model);
  }

  // The stack and the time under a pointer.
  under(event) {
    const stack = this.stackOf(event);
    const time = stack?.timeAt(event);
    return time === undefined ? undefined : { stack, time };
  }

  wheel(event) {
    const under = this.under(event);
    if (!under) return;
    const pixels = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.view.zoom(1.0018 ** (event.deltaY * pixels), under.time);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.view.pan(((event.deltaX || event.deltaY) * pixels) / 1000);
    }
  }

  down(event) {
    const under = this.under(event);
    if (!under || event.button === 2) return;
    const overview = event.target.closest("[data-graph=overview]") !== null;
    this.touches.set(event.pointerId, event.clientX);
    const moves = event.pointerType === "touch" || event.shiftKey || event.button === 1 || this.pans;
    const plotWidth = event.target.closest(".plot").clientWidth;
    const width = Math.max(1, plotWidth - gutterOf(plotWidth) - GUTTER.right);
    const lane = under.stack.laneUnder(event);
    this.drag = {
      ...under,
      overview,
      moves,
      width,
      lane,
      startX: event.clientX,
      from: this.view.from,
      until: this.view.until,
      spread: this.spread(),
      moved: false,
    };
    if (overview) this.view.centre(under.time);
    event.target.setPointerCapture?.(event.pointerId);
  }

  spread() {
    const [one, other] = [...this.touches.values()];
    return other === undefined ? 0 : Math.abs(one - other);
  }

  move(event) {
    const { drag, view } = this;
    if (this.touches.has(event.pointerId)) this.touches.set(event.pointerId, event.clientX);
    const time = drag ? this.timeOf(event) : this.under(event)?.time;
    if (!drag && event.target.closest?.("[data-graph=overview]")) return view.point(NaN);
    if (time === undefined) return;
    if (!drag) return view.point(time);
    if (drag.overview) return view.centre(time);
    const by = event.clientX - drag.startX;
    if (Math.abs(by) > 4) drag.moved = true;
    const span = drag.until - drag.from;
    if (drag.spread > 0 && this.touches.size > 1) {
      const factor = drag.spread / Math.max(8, this.spread());
      const half = (span * factor) / 2;
      drag.moved = true;
      return view.show(drag.time - half, drag.time + half);
    }
    if (drag.moves)
      return view.show(drag.from - (by / drag.width) * span, drag.until - (by / drag.width) * span);
    this.act.select(drag.time, time);
    view.point(time);
  }

  // The time under a pointer that may have left the graph on which it was pressed.
  timeOf(event) {
    const { drag, view } = this;
    const [from, until] = drag.overview ? view.domain : [view.from, view.until];
    return drag.time + ((event.clientX - drag.startX) / drag.width) * (until - from);
  }

  up(event) {
    const { drag } = this;
    this.touches.delete(event.pointerId);
    if (!drag || this.touches.size > 0) return;
    this.drag = null;
    if (drag.overview) return;
    if (!drag.moved) {
      this.act.select(NaN, NaN);
      this.view.point(drag.time);
      return this.act.click(drag.stack, drag.time, drag.lane);
    }
    if (drag.moves) return;
    const until = drag.time + ((event.clientX - drag.startX) / drag.width) * (drag.until - drag.from);
    this.act.select(NaN, NaN);
    this.view.show(Math.min(drag.time, until), Math.max(drag.time, until));
  }

  cancel(event) {
    this.touches.delete(event.pointerId);
    this.drag = null;
    this.act.select(NaN, NaN);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button, select, input"))
      return;
    const { view } = this;
    const stack = this.stacks.find((candidate) => candidate.model);
    if (!stack) return;
    const cursor = Number.isFinite(view.cursor) ? view.cursor : (view.from + view.until) / 2;
    const step = (view.until - view.from) / (event.shiftKey ? 400 : 40);
    const keys = {
      ArrowLeft: () => view.pan(-0.1),
      ArrowRight: () => view.pan(0.1),
      "+": () => view.zoom(0.7, cursor),
      "=": () => view.zoom(0.7, cursor),
      "-": () => view.zoom(1 / 0.7, cursor),
      0: () => view.all(),
      Home: () => view.show(...view.home),
      ",": () => this.moveCursor(cursor - step),
      ".": () => this.moveCursor(cursor + step),
      "<": () => this.moveCursor(cursor - step / 10),
      ">": () => this.moveCursor(cursor + step / 10),
      "[": () => this.toBand(stack, cursor, -1),
      "]": () => this.toBand(stack, cursor, 1),
      Enter: () => this.act.click(stack, cursor),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  moveCursor(time) {
    const { view } = this;
    const [first, last] = view.domain;
    time = Math.min(Math.max(time, first), last);
    if (time < view.from || time > view.until) view.pan(time < view.from ? -0.5 : 0.5);
    view.point(time);
    this.act.say();
  }

  // Moves the cursor to the next band on either side.
  toBand(stack, cursor, direction) {
    const { bands } = stack;
    const place = Math.min(Math.max(bands.find(cursor) + direction, 0), bands.count - 1);
    if (place < 0) return;
    this.moveCursor((bands.at[place] + bands.end[place]) / 2);
    this.act.click(stack, this.view.cursor);
  }
}
