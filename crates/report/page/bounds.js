// The lines that explain a rate: the path's capacity, the bandwidth-delay product, and the limit
// that applies, with the name of its setting.

// Limits by the window that the receiver advertises, and by the sender's own rate.
const BY_RECEIVE_WINDOW = ["receive_window", "zero_window"];
const BY_CWND = [
  "congestion_window_slow_start",
  "congestion_window_steady",
  "congestion_window_after_loss",
  "congestion_window_after_mark",
  "congestion_window_after_idle",
  "recovery",
  "pacing",
];

// Returns the limit that applies, if it can be drawn as a line. `edge` is the highest sequence
// number that the limit allows, `bytes` the bytes in flight, `bps` the rate.
function bindingOf({ path, acks, windows, shown }) {
  if (!path) return undefined;
  const { bound } = path;
  const name = bound ? plain(bound.setting) : undefined;
  if (shown.resource?.kind === "link" && path.bps) {
    return { isPath: true, bps: path.bps, label: `path: ${rateText(path.bps)}` };
  }
  const [limit] = shown.limits;
  if (BY_RECEIVE_WINDOW.includes(limit)) {
    const { at, edge } = acks;
    return { at, edge, isWindow: true, bps: bound?.bps, label: `receive window (${name ?? "of the peer"})` };
  }
  if (bound?.bytes) {
    const edge = acks.una.map((una) => una + bound.bytes);
    const { bytes, bps } = bound;
    return { at: acks.at, edge, bytes, bps, label: `${name} (${bytesText(bytes)} of payload)` };
  }
  if (BY_CWND.includes(limit) && windows.count > 0) {
    const edge = Float64Array.from(
      windows.at,
      (at, place) => (valueAt(acks.at, acks.una, at) ?? 0) + windows.cwnd[place],
    );
    return { at: windows.at, edge, isCwnd: true, label: "congestion window" };
  }
  return bound ? { setting: name, isMemory: limit === "memory", label: name } : undefined;
}

// The label of the path's capacity. If the capacity is the limit, the label says so.
const capacityLabel = ({ path, binding }) =>
  `${binding?.isPath ? "limit: " : ""}path capacity ${rateText(path.bps)}`;

// Texts beside lines. No text covers another.
class Labels {
  constructor(plot, ink) {
    Object.assign(this, { plot, ink, placed: [] });
  }

  // Puts `text` at the first of `spots` where there is room. A spot is the [x, y] of the text's
  // lower left corner or, with `isEnd`, of its lower right corner.
  put(text, colour, spots, isEnd = false) {
    const { context, scale, left, right, top, bottom } = this.plot;
    context.font = `600 ${11 * scale}px system-ui, sans-serif`;
    const width = context.measureText(text).width + 8 * scale;
    const height = 16 * scale;
    if (width > right - left) return;
    for (const [x, y] of spots) {
      const box = {
        text,
        x: Math.min(Math.max(isEnd ? x - width : x, left + 2 * scale), right - width - 2 * scale),
        y: Math.min(Math.max(y - height, top + 2 * scale), bottom - height - 2 * scale),
        width,
        height,
      };
      if (this.placed.some((other) => overlap(box, other))) continue;
      this.placed.push(box);
      context.globalAlpha = 0.86;
      context.fillStyle = this.ink.paper;
      context.fillRect(box.x, box.y, width, height);
      context.globalAlpha = 1;
      context.fillStyle = colour;
      context.textAlign = "left";
      context.fillText(text, box.x + 4 * scale, box.y + 12 * scale);
      return;
    }
  }
}

function overlap(one, other) {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  );
}

// Draws a horizontal line with its label. If the line is above the picture, the label says so.
function drawLevel(plot, labels, value, text, colour, { width = 1.5, dash = [] } = {}) {
  const { context, scale, left, right } = plot;
  const isAbove = value > plot.most;
  const y = plot.y(value);
  if (!isAbove) {
    context.setLineDash(dash.map((length) => length * scale));
    context.strokeStyle = colour;
    context.lineWidth = width * scale;
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(right, y);
    context.stroke();
    context.setLineDash([]);
  }
  const xs = [0.98, 0.6, 0.3, 0.02].map((share) => left + (right - left) * share);
  const at = isAbove ? plot.top : y;
  labels.put(
    isAbove ? `↑ ${text}` : text,
    colour,
    xs.flatMap((x) => [
      [x, at - 2 * scale],
      [x, at + 19 * scale],
    ]),
  );
}
