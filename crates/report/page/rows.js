// The rows (scenarios) of an experiment as a table: figures as bars, next to published figures and
// those of other systems.
//
// Bars are linear and begin at 0; all bars of a quantity have one scale.

const figureOf = (figures, name) => figures.find((figure) => figure.name === name)?.value;

// The quantity that represents the rows: the first published one of any row, or else the first
// measured one of the first row.
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

// The quantities of a row: those for which the source or other systems have a figure, or else the
// one that represents the row.
function quantitiesOf(row, head) {
  const others = [row.published, ...row.peers.map((peer) => peer.figures)].flat();
  const names = [...new Set(others.map((figure) => figure.name))];
  const known = names.length > 0 ? names : [head?.name];
  return known
    .map((name) => [name, [...others, ...row.measured].find((figure) => figure.name === name)?.heading])
    .filter(([, heading]) => heading);
}

// The bars of one quantity of a row: [source, value].
function barsOf(row, name) {
  return [
    ["published", row.published],
    ...row.peers.map((peer) => [peer.name, peer.figures]),
    ["fullpipe", row.measured],
  ]
    .map(([source, figures]) => [source, figureOf(figures, name)])
    .filter(([, value]) => value !== undefined);
}

// The largest value of each quantity.
function scalesOf(rows, head) {
  const scales = new Map();
  for (const row of rows) {
    for (const [name] of quantitiesOf(row, head)) {
      const values = barsOf(row, name).map(([, value]) => value);
      scales.set(name, Math.max(scales.get(name) ?? 0, ...values));
    }
  }
  return scales;
}

function barLine(source, value, heading, most, published) {
  const kind = source === "fullpipe" || source === "published" ? source : "peer";
  const fill = element("span", { class: `bar ${kind}` });
  fill.style.width = `${most > 0 ? Math.max(0, value / most) * 100 : 0}%`;
  const deviation = source === "fullpipe" && published !== undefined ? deviationText(published, value) : "";
  return element(
    "div",
    { class: "figure" },
    element("span", { class: "source" }, source),
    element("span", { class: "value" }, `${digits(value)} ${heading}`),
    element("span", { class: "track", "aria-hidden": "true" }, fill),
    element("span", { class: "deviation" }, deviation),
  );
}

// The figures of a row, as bars and words.
function figuresOf(row, head, scales) {
  const lines = quantitiesOf(row, head).flatMap(([name, heading]) => {
    const bars = barsOf(row, name);
    const published = row.isCompared ? figureOf(row.published, name) : undefined;
    return bars.map(([source, value]) => barLine(source, value, heading, scales.get(name), published));
  });
  const words = [
    row.publishedOutcome && `published: ${row.publishedOutcome}`,
    (row.publishedOutcome || row.outcome !== "complete") && `fullpipe: ${row.outcome}`,
  ].filter(Boolean);
  if (words.length > 0) lines.push(element("div", { class: "words" }, words.join("; ")));
  return lines;
}

// The table; `choose(place, side)` is called when a row is picked.
function rowsTable(rows, choose) {
  const head = headline(rows);
  const scales = scalesOf(rows, head);
  const body = element("tbody");
  rows.forEach((row, place) => {
    const pick = (side, text) =>
      element(
        "button",
        {
          type: "button",
          class: `pick pick-${side}`,
          "data-row": place,
          "aria-pressed": "false",
          "aria-label": `${text} ${row.label}`,
          onclick: () => choose(place, side),
        },
        text,
      );
    const remarks = [
      row.fitted.length > 0 && `Fitted on this row: ${row.fitted.join(", ")}.`,
      row.note,
      row.seeds > 1 && `Figures of ${row.seeds} seeds; the graphs show the first.`,
    ].filter(Boolean);
    const { limited_by: limitedBy, because = [], change = [] } = row.verdict;
    body.append(
      element(
        "tr",
        {},
        element(
          "th",
          { scope: "row" },
          ...prose(row.label),
          element("div", { class: "picks" }, pick("a", "Show"), pick("b", "Compare")),
        ),
        element("td", { class: "figures" }, ...figuresOf(row, head, scales)),
        element(
          "td",
          {},
          element("b", {}, ...prose(upperFirst(limitedBy))),
          ...prose(because.join(" ")),
          ...change.map(({ paste }) => element("code", { class: "paste" }, plain(paste))),
          ...remarks.map((remark) => element("div", { class: "soft" }, ...prose(remark))),
        ),
      ),
    );
  });
  const heads = ["row", "figures", "limited by"];
  const caption = element("caption", {}, "All rows", element("small", {}, scaleNote(rows, head, scales)));
  return element(
    "table",
    { class: "rows" },
    caption,
    element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)))),
    body,
  );
}

// " Bars from 0 to 95.2 Mbit/s, 25 seconds."
function scaleNote(rows, head, scales) {
  const headings = new Map(rows.flatMap((row) => quantitiesOf(row, head)));
  const ends = [...scales].map(([name, most]) => `${digits(most)} ${headings.get(name)}`);
  return ends.length > 0 ? ` Bars go from 0 to ${ends.join(", ")}.` : "";
}
