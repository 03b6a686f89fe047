// Colours, patterns and names of limits, for light and dark.
//
// The hues are those of Okabe and Ito, which people with any colour vision tell
// apart; limits of one family share a hue and differ by their pattern. No
// meaning is in colour alone: bands are also labelled, and read out.

const SOLID = "solid";
const PATTERNS = { rising: [[0, 8, 8, 0]], falling: [[0, 0, 8, 8]], cross: [[0, 8, 8, 0], [0, 0, 8, 8]], level: [[0, 4, 8, 4]], upright: [[4, 0, 4, 8]], dots: "dots" };

const STYLES = {
  application: ["#8a8a8a", SOLID],
  send_buffer: ["#e69f00", SOLID],
  receive_window: ["#56b4e9", SOLID],
  zero_window: ["#0072b2", "cross"],
  congestion_window_slow_start: ["#009e73", "rising"],
  congestion_window_steady: ["#009e73", SOLID],
  congestion_window_after_loss: ["#009e73", "cross"],
  pacing: ["#f0e442", "upright"],
  device: ["#a6761d", "level"],
  nagle: ["#cc79a7", SOLID],
  recovery: ["#d55e00", "falling"],
  memory: ["#7b4fb3", "dots"],
  handshake: ["#bdbdbd", "rising"],
  closing: ["#bdbdbd", "falling"],
  none: ["#bdbdbd", SOLID],
  receive_buffer: ["#56b4e9", SOLID],
  slow_reader: ["#0072b2", "upright"],
  reassembly_hole: ["#d55e00", "falling"],
};
// What the page has no style for is told apart by these.
const SPARE = [["#44aa99", "dots"], ["#882255", "level"], ["#999933", "cross"], ["#117733", "upright"]];

const HOLDER_COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#8a8a8a"];

const labelOf = (name) => name.replaceAll("_", " ").replace("congestion window", "cwnd:");

function stylesOf(names) {
  let spare = 0;
  return names.map((name) => {
    const [colour, pattern] = STYLES[name] || SPARE[spare++ % SPARE.length];
    return { name, label: labelOf(name), colour, pattern };
  });
}

// A fill with the style's pattern, for a canvas with so many pixels a point.
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

// The page's inks as its style sheet has them just now.
function inks() {
  const style = getComputedStyle(document.documentElement);
  const ink = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: ink("text"), soft: ink("soft"), grid: ink("grid"), paper: ink("paper"),
    data: ink("data"), again: ink("again"), lost: ink("lost"), sack: ink("sack"),
    ack: ink("ack"), window: ink("window"), cwnd: ink("cwnd"), flight: ink("flight"), inflight: ink("inflight"), second: ink("second"),
    band: Number(ink("band")),
  };
}
