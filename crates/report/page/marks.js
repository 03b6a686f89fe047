// Events above or below the time-sequence graph, each kind at a height of its own: a small stroke
// and, with room, a sign.

const SIGNS = {
  "retransmission timeout": { sign: "RTO", ink: "again", top: true, lane: 0 },
  "zero window": { sign: "0", ink: "window", top: true, lane: 1 },
  "window opened": { sign: "W", ink: "window", top: true, lane: 1 },
  discard: { sign: "D", ink: "lost", top: true, lane: 2 },
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
    painted.set(kind, x);
  }
}

function markText(marks, place, vocabulary) {
  const name = vocabulary.marks[marks.kind[place]];
  const why = name === "discard" ? ` ${vocabulary.discards[marks.value[place]]}` : "";
  return `${name}${why} at ${momentText(marks.at[place], 1e3)}`;
}
