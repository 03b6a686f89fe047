// The rows as a table, and published figures beside ours as bars.

const figureOf = (figures, name) => figures.find((figure) => figure.name === name)?.value;

// The quantity that a row is told by: the first published, else the goodput.
function headline(rows) {
  for (const row of rows) if (row.published.length > 0) return row.published[0];
  return rows[0]?.measured[0];
}

function deviationText(published, measured) {
  if (!(published > 0)) return "";
  const share = measured / published - 1;
  return `${share > 0 ? "+" : share < 0 ? "−" : ""}${digits(Math.abs(share) * 100)} %`;
}

// One line of the chart for each figure that was published.
function chart(rows) {
  const lines = rows.flatMap((row) => row.published.map((figure) => ({ row, figure, ours: figureOf(row.measured, figure.name) ?? 0 })));
  if (lines.length === 0) return element("p", { class: "soft" }, "No figures were published for these rows.");
  const most = {};
  for (const { figure, ours } of lines) most[figure.name] = Math.max(most[figure.name] || 0, figure.value, ours);
  const table = element("table", { class: "chart" }, element("caption", {}, "Published and ours"));
  for (const { row, figure, ours } of lines) {
    const bar = (kind, value) => {
      const fill = element("span", { class: `bar ${kind}` });
      fill.style.width = `${most[figure.name] > 0 ? (value / most[figure.name]) * 100 : 0}%`;
      return element("div", { class: "track" }, fill, element("span", { class: "value" }, `${kind} ${digits(value)}`));
    };
    table.append(element("tr", {},
      element("th", { scope: "row" }, row.label, row.fitted.length > 0 ? element("small", {}, " fitted") : ""),
      element("td", { class: "unit" }, figure.heading),
      element("td", { class: "bars" }, bar("published", figure.value), bar("ours", ours)),
      element("td", { class: "deviation" }, deviationText(figure.value, ours))));
  }
  return table;
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
