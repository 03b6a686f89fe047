// Colours, patterns and names, for light and dark.
//
// The hues of limits are those of Okabe and Ito, which people with any colour vision tell apart.
// Limits of one family share a hue and differ by pattern. No meaning depends on colour alone: bands
// are labelled, and screen readers read them out.

const SOLID = "solid";
const PATTERNS = {
  rising: [[0, 8, 8, 0]],
  falling: [[0, 0, 8, 8]],
  cross: [
    [0, 8, 8, 0],
    [0, 0, 8, 8],
  ],
  level: [[0, 4, 8, 4]],
  upright: [[4, 0, 4, 8]],
  dots: "dots",
};

// Colour, pattern and label of each limit.
const STYLES = {
  application: ["#8a8a8a", SOLID, "the application"],
  send_buffer: ["#e69f00", SOLID, "room in the send buffer"],
  receive_window: ["#56b4e9", SOLID, "the receive window"],
  zero_window: ["#0072b2", "cross", "a zero window to open"],
  congestion_window_slow_start: ["#009e73", "rising", "cwnd, in slow start"],
  congestion_window_steady: ["#009e73", SOLID, "cwnd"],
  congestion_window_after_loss: ["#009e73", "cross", "cwnd, after a loss"],
  congestion_window_after_mark: ["#009e73", "dots", "cwnd, after a congestion mark"],
  congestion_window_after_idle: ["#009e73", "level", "cwnd, after idle time"],
  pacing: ["#f0e442", "upright", "pacing"],
  device: ["#a6761d", "level", "the device"],
  nagle: ["#cc79a7", SOLID, "a full segment (Nagle)"],
  recovery: ["#d55e00", "falling", "loss recovery"],
  memory: ["#7b4fb3", "dots", "packet memory"],
  handshake: ["#bdbdbd", "rising", "the handshake"],
  closing: ["#bdbdbd", "falling", "closing"],
  processor: ["#882255", "level", "the processor"],
  unknown: ["#bdbdbd", "dots", "something that the capture does not show"],
  descriptors: ["#a6761d", "dots", "receive descriptors"],
  none: ["#bdbdbd", SOLID, "nothing: the window was open"],
  receive_buffer: ["#56b4e9", SOLID, "the receive buffer"],
  slow_reader: ["#0072b2", "upright", "a slow reader"],
  reassembly_hole: ["#d55e00", "falling", "a missing segment"],
};
// Styles for limits that the table does not have.
const SPARE = [
  ["#44aa99", "dots"],
  ["#882255", "level"],
  ["#999933", "cross"],
  ["#117733", "upright"],
];

const HOLDER_COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#8a8a8a"];

function stylesOf(names) {
  let spare = 0;
  return names.map((name) => {
    const known = STYLES[name] || [...SPARE[spare++ % SPARE.length], name.replaceAll("_", " ")];
    const [colour, pattern, label] = known;
    return { name, label, colour, pattern };
  });
}

// A fill with the style's pattern, for a canvas with `scale` pixels a point.
function patternFill(context, style, scale) {
  if (style.pattern === SOLID) return style.colour;
  const size = 8 * scale;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const paint = tile.getContext("2d");
  paint.fillStyle = style.colour;
  paint.fillRect(0, 0, size, size);
  paint.scale(scale, scale);
  paint.strokeStyle = paint.fillStyle = "rgba(0,0,0,0.55)";
  paint.lineWidth = 1.2;
  if (style.pattern === "dots") {
    paint.fillRect(1, 1, 2, 2);
    paint.fillRect(5, 5, 2, 2);
  } else {
    for (const [x0, y0, x1, y1] of PATTERNS[style.pattern]) {
      paint.beginPath();
      paint.moveTo(x0, y0);
      paint.lineTo(x1, y1);
      paint.stroke();
    }
  }
  return context.createPattern(tile, "repeat");
}

// A small sample of a style, for legends.
function swatch(style) {
  const canvas = document.createElement("canvas");
  canvas.width = 28;
  canvas.height = 20;
  canvas.className = "swatch";
  canvas.setAttribute("aria-hidden", "true");
  const context = canvas.getContext("2d");
  context.fillStyle = patternFill(context, style, 2);
  context.fillRect(0, 0, 28, 20);
  return canvas;
}

const INKS = [
  "text",
  "soft",
  "grid",
  "paper",
  "panel",
  "data",
  "again",
  "lost",
  "sack",
  "ack",
  "window",
  "cwnd",
  "flight",
  "inflight",
  "second",
  "bound",
  "link",
  "cpu",
  "bdp",
];

// The colours of the style sheet as it applies now.
function inks() {
  const style = getComputedStyle(document.documentElement);
  const ink = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ...Object.fromEntries(INKS.map((name) => [name, ink(name)])), band: Number(ink("band")) };
}
