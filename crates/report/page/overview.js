// The rows as a table, and figures of others beside ours as bars.

// A longer chart is folded up, so that the rows stay in sight.
const LINES_SHOWN = 24;

// Percent of the width that the longest bar takes; its figure stands behind it.
const LONGEST_BAR = 72;

const figureOf = (figures, name) => figures.find((figure) => figure.name === name)?.value;

// The quantity that a row is told by: the first published, else the goodput.
function headline(rows) {
  for (const row of rows) if (row.published.length > 0) return row.published[0];
  return rows[0]?.measured[0];
}

function deviationText(published, measured) {
  if (!(published > 0)) return "";
  const share = measured / published - 1;
  const tenths = (Math.abs(share) * 100).toFixed(1);
  return `${tenths === "0.0" ? "" : share > 0 ? "+" : "−"}${tenths} %`;
}

// Where a value lies on the scale of its quantity, from 0 to 1. Values that are
// hundreds of times apart share a scale of powers, or the small would be invisible.
function scaleOf(values) {
  const above = values.filter((value) => value > 0);
  const [least, most] = [Math.min(...above), Math.max(...above)];
  if (above.length === 0) return { powers: false, share: () => 0 };
  if (most / least < 100) return { powers: false, share: (value) => Math.max(0, value / most) };
  const bottom = Math.log(least / 2);
  return { powers: true, share: (value) => (value > 0 ? (Math.log(value) - bottom) / (Math.log(most) - bottom) : 0) };
}

// One line for each quantity of each row that the source or others have a figure
// for, and one for each row of which the source says only in words what came out.
function chartLines(rows) {
  return rows.flatMap((row) => {
    const names = [...new Set([row.published, ...row.peers.map((peer) => peer.figures)].flat().map((figure) => figure.name))];
    const lines = names.map((name) => {
      const bars = [["published", row.published], ...row.peers.map((peer) => [peer.name, peer.figures]), ["ours", row.measured]]
        .map(([who, figures]) => [who, figures.find((figure) => figure.name === name)])
        .filter(([, figure]) => figure);
      return { row, name, heading: bars[0][1].heading, bars: bars.map(([who, figure]) => [who, figure.value]) };
    });
    if (lines.length === 0 && row.publishedOutcome) lines.push({ row, heading: "", bars: [], words: `published: ${row.publishedOutcome}; ours: ${row.outcome}` });
    return lines;
  });
}

function chart(rows) {
  const lines = chartLines(rows);
  if (lines.length === 0) return element("p", { class: "soft" }, "No figures were published for these rows.");
  const scales = new Map();
  for (const { name } of lines) {
    if (!scales.has(name)) scales.set(name, scaleOf(lines.filter((line) => line.name === name).flatMap(({ bars }) => bars.map(([, value]) => value))));
  }
  const table = element("table", { class: "chart" }, element("caption", {}, "Published and ours"));
  for (const { row, name, heading, bars, words } of lines) {
    const { powers, share } = scales.get(name);
    const bar = ([who, value]) => {
      const kind = who === "ours" || who === "published" ? who : "peer";
      const fill = element("span", { class: `bar ${kind}` });
      const text = element("span", { class: "value" }, `${who} ${digits(value)}`);
      fill.style.width = text.style.left = `${share(value) * LONGEST_BAR}%`;
      return element("div", { class: "track" }, fill, text);
    };
    const of = (who) => bars.find(([whose]) => whose === who)?.[1];
    table.append(element("tr", {},
      element("th", { scope: "row" }, row.label, row.fitted.length > 0 ? element("small", {}, " fitted") : ""),
      element("td", { class: "unit" }, heading, powers ? element("small", {}, " (powers)") : ""),
      element("td", { class: "bars" }, ...(words ? [words] : bars.map(bar))),
      element("td", { class: "deviation" }, of("published") === undefined || of("ours") === undefined ? "" : deviationText(of("published"), of("ours")))));
  }
  if (lines.length <= LINES_SHOWN) return table;
  table.caption.remove();
  return element("details", {}, element("summary", {}, `Published and ours: ${lines.length} figures`), table);
}

// The rows; `choose(place, side)` is called when one is picked.
function rowsTable(rows, choose) {
  const told = headline(rows);
  const body = element("tbody");
  rows.forEach((row, place) => {
    const published = figureOf(row.published, told?.name);
    const ours = figureOf(row.measured, told?.name);
    const words = row.outcome === "complete" ? "" : row.outcome;
    const pick = (side, text) => element("button", { type: "button", class: `pick pick-${side}`, "data-row": place, "aria-pressed": "false", "aria-label": `${text} ${row.label}`, onclick: () => choose(place, side) }, side.toUpperCase());
    body.append(element("tr", {},
      element("td", { class: "picks" }, pick("a", "show"), pick("b", "compare with")),
      element("th", { scope: "row" }, row.label),
      element("td", { class: "number" }, published === undefined ? row.publishedOutcome || "–" : digits(published)),
      element("td", { class: "number" }, words || (ours === undefined ? "–" : digits(ours))),
      element("td", { class: "number" }, published === undefined || ours === undefined ? "" : deviationText(published, ours)),
      element("td", {}, row.verdict, row.fitted.length > 0 ? element("div", { class: "soft" }, `Fitted on this row: ${row.fitted.join(", ")}.`) : "", row.note ? element("div", { class: "soft" }, row.note) : "", row.seeds > 1 ? element("div", { class: "soft" }, `Figures of ${row.seeds} seeds; the graphs show the first.`) : "")));
  });
  const heads = ["look", "row", `published ${told?.heading ?? ""}`, `ours ${told?.heading ?? ""}`, "deviation", "verdict"];
  return element("table", { class: "rows" }, element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))), body);
}
