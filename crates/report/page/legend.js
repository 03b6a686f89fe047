// The legend: every mark of the graphs, drawn and explained.

// Sample marks as SVG, 34 by 20 points, and their meanings.
function legendEntries(ink) {
  const line = (x1, y1, x2, y2, colour, more = {}) =>
    svgElement("path", {
      d: `M${x1},${y1}L${x2},${y2}`,
      stroke: colour,
      "stroke-width": 2,
      fill: "none",
      ...more,
    });
  const steps = (colour, more = {}) =>
    svgElement("path", { d: "M2,16H12V9H24V3H32", stroke: colour, "stroke-width": 2, fill: "none", ...more });
  const sign = (text, colour) =>
    svgElement("text", { x: 17, y: 15, fill: colour, "text-anchor": "middle", "font-size": 12 }, text);
  const bar = (colour) => [
    line(17, 3, 17, 17, colour),
    line(14, 3, 20, 3, colour),
    line(14, 17, 20, 17, colour),
  ];
  return [
    [bar(ink.data), "a segment: from its first to its last byte, at the moment it was sent"],
    [
      [...bar(ink.again), svgElement("text", { x: 26, y: 9, fill: ink.again, "font-size": 9 }, "R")],
      "R: a retransmission",
    ],
    [[line(13, 6, 21, 14, ink.lost), line(13, 14, 21, 6, ink.lost)], "a segment that never arrived"],
    [[steps(ink.ack)], "acknowledged: below this line everything has arrived"],
    [[steps(ink.window)], "receive window: no segment may end above this line"],
    [[line(17, 4, 17, 16, ink.sack)], "SACK: payload that arrived behind a missing segment"],
    [
      [steps(ink.bound)],
      "the limit that binds, with its setting: segments reach it and wait for an acknowledgment",
    ],
    [
      [line(2, 17, 32, 3, ink.link, { "stroke-dasharray": "7 3" })],
      "path at capacity: the slope that the segments would have if the path were always busy",
    ],
    [
      [line(2, 10, 32, 10, ink.bdp, { "stroke-dasharray": "5 4" })],
      "bandwidth-delay product: bytes in flight that keep the path busy",
    ],
    [[sign("RTO", ink.again)], "a retransmission timeout"],
    [[sign("0  W", ink.window)], "0: the peer closed its window; W: it opened it again"],
    [[sign("D", ink.lost)], "a segment of the peer that was discarded"],
    [[sign("M", ink.again)], "packet memory had no free block"],
    [[sign("▾ ▴", ink.soft)], "▾: a write was refused or cut short; ▴: the writer was notified of room"],
  ];
}

function fillLegend(root, ink, styles) {
  const marks = legendEntries(ink).map(([shapes, text]) =>
    element(
      "li",
      {},
      svgElement("svg", { viewBox: "0 0 34 20", width: 34, height: 20, "aria-hidden": "true" }, ...shapes),
      element("span", {}, text),
    ),
  );
  const used = [
    ...new Map([...styles.limits, ...styles.receiveLimits].map((style) => [style.name, style])).values(),
  ];
  const bands = used.map((style) => element("li", {}, swatch(style), element("span", {}, style.label)));
  root.replaceChildren(
    element("h3", {}, "Time-sequence graph"),
    element(
      "p",
      {},
      "Time goes to the right, sequence numbers go up. The horizontal distance from a segment to the acknowledged line is the round-trip time; the vertical distance is the number of bytes in flight.",
    ),
    element("ul", {}, ...marks),
    element("h3", {}, "Bands"),
    element(
      "p",
      {},
      "At every moment the sender waits for exactly one thing; the upper band says for which. The second band says what kept the receiver's window from growing. Below are the busy share and the queue of each link, and the busy share of each processor whose work takes time.",
    ),
    element("ul", {}, ...bands),
  );
}
