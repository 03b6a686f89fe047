// The page: reads the facts, picks rows, and joins view, stacks and details.
//
// `window.fullpipe` is there for tests and for the curious: the view, the
// stacks, and when the first picture stood.

const facts = JSON.parse(document.getElementById("facts").textContent);
const byId = (id) => document.getElementById(id);
const decoded = new Map();
const look = { level: false, bands: "limits", common: true };
let selection = null;
let ink = inks();

const view = new View((graphs) => draw(graphs));
const stacks = ["a", "b"].map((side) => new Stack(side, view, facts.vocabulary));
const details = new Details(byId("details"), (from, until) => view.show(from, until));
const chosen = { a: null, b: null };
const input = new Input(byId("stage"), stacks, view, {
  select: (from, until) => {
    selection = Number.isNaN(from) ? null : [from, until];
    view.point(view.cursor);
  },
  click: (stack, time) => details.band(stack, time),
  say: () => byId("spoken").replaceChildren(spokenAt(view.cursor)),
});

function draw(graphs) {
  const scale = window.devicePixelRatio || 1;
  const shown = stacks.filter((stack) => stack.model);
  const fitted = shown.map((stack) => stack.fit(scale));
  const ranges = look.common && shown.length > 1 && (graphs || fitted.includes(true)) ? commonRanges(shown) : undefined;
  shown.forEach((stack, place) => {
    if (fitted[place] || graphs || ranges) stack.draw(ink, ranges);
    stack.drawOver(ink, selection);
  });
  readOut();
}

// Of each graph, a range that holds what every stack shows.
function commonRanges(shown) {
  const [first, ...others] = shown.map((stack) => stack.ranges());
  for (const [id, [least, most]] of others.flatMap((ranges) => [...ranges])) {
    // Where nothing was observed there is no range.
    const [low, high] = first.get(id);
    if (!(high >= low)) first.set(id, [least, most]);
    else if (most >= least) first.set(id, [Math.min(low, least), Math.max(high, most)]);
  }
  return first;
}

// Everything at the cursor, as a table below the graphs.
function readOut() {
  const out = byId("readout");
  const time = view.cursor;
  const shown = stacks.filter((stack) => stack.model);
  const step = (view.until - view.from) / 1e3;
  byId("range").textContent = `${momentText(Math.max(0, view.from), step)} – ${momentText(view.until, step)} (${timeText(view.until - view.from)})`;
  if (!Number.isFinite(time)) {
    if (out.dataset.says !== "how") out.replaceChildren(element("span", { class: "soft" }, "Point at a graph to read it; click a band for its figures."));
    out.dataset.says = "how";
    return;
  }
  out.dataset.says = "values";
  const parts = [element("b", {}, momentText(time, Math.max(1, (view.until - view.from) / 1e4)))];
  for (const stack of shown) {
    const names = ["limits", "receiveLimits"].map((which) => limitAt(stack, which, time));
    const lists = [["Limits", [["sender", names[0]], ["receiver", names[1]]]], ...stack.read(time)].map(([graph, lines]) => {
      const pairs = lines.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
      return element("dl", { class: "of", "data-of": graph }, ...pairs);
    });
    parts.push(element("div", {}, shown.length > 1 ? element("h4", {}, stack.title.textContent) : "", ...lists));
  }
  out.replaceChildren(...parts);
}

function limitAt(stack, which, time) {
  const bands = stack.model[which];
  const place = bands.find(time);
  return place < 0 ? "–" : stack.styles[which][bands.reason[place]].label;
}

function spokenAt(time) {
  const stack = stacks.find((candidate) => candidate.model);
  return stack ? `${momentText(time, 1e6)}: sender ${limitAt(stack, "limits", time)}, receiver ${limitAt(stack, "receiveLimits", time)}` : "";
}

const tablesOf = (part) => {
  if (!decoded.has(part.blob)) decoded.set(part.blob, decodeTables(part.blob, part.tables));
  return decoded.get(part.blob);
};

// What can be looked at in a row: each connection, each direction that carried
// text, from either end.
function aspectsOf(row) {
  const aspects = [];
  row.connections.forEach((connection, number) => {
    const name = (place) => row.hosts[connection.ends[place].host].name;
    const far = (place) => (connection.ends.length > 1 ? name(1 - place) : "its peer");
    const several = row.connections.length > 1 ? ` ${number + 1}` : "";
    const places = connection.ends.map((_, place) => place);
    const busiest = places.reduce((most, place) => (connection.ends[place].text > connection.ends[most].text ? place : most), 0);
    for (const place of [busiest, ...places.filter((other) => other !== busiest)]) {
      if (place !== busiest && connection.ends[place].text === 0) continue;
      aspects.push({ connection, end: place, sender: true, label: `${name(place)} → ${far(place)}${several}, seen by the sender` });
      if (connection.ends.length > 1) aspects.push({ connection, end: 1 - place, sender: false, label: `${name(place)} → ${far(place)}${several}, seen by the receiver` });
    }
  });
  return aspects;
}

async function modelOf(row, aspect) {
  aspect.model ||= (async () => {
    const { connection, sender } = aspect;
    const end = connection.ends[aspect.end];
    const far = connection.ends.length > 1 ? connection.ends[1 - aspect.end] : null;
    const host = row.hosts[end.host];
    const [own, { pool }, ownBands, farBands] = await Promise.all([tablesOf(end.series), tablesOf(host.pool), tablesOf(end.bands), far && tablesOf(far.bands)]);
    const [from, to] = sender ? [ownBands, farBands] : [farBands, ownBands];
    return makeModel({ own, limits: from?.limits, receiveLimits: to?.receiveLimits, host, pool, sender, vocabulary: facts.vocabulary });
  })();
  return aspect.model;
}

// Puts a row on one side; null takes it away.
async function choose(place, side, number = 0) {
  const stack = stacks[side === "a" ? 0 : 1];
  if (side === "b" && chosen.b?.place === place && number === chosen.b.number) place = null;
  const row = place === null ? null : facts.rows[place];
  if (row) row.aspects ||= aspectsOf(row);
  chosen[side] = row && { place, number };
  const aspect = row?.aspects[number];
  if (!aspect) {
    stack.model = undefined;
    stack.root.remove();
  } else {
    const model = await modelOf(row, aspect);
    byId("stage").append(...stacks.filter((other) => other === stack || other.model).map((other) => other.root));
    stack.show(row.label, model, look, row.endNs);
    fillTotals(stack);
  }
  const without = ["a", "b"].map((each) => chosen[each] && facts.rows[chosen[each].place]).filter((each) => each && each.aspects.length === 0);
  byId("empty").textContent = without.map(({ label }) => `${label} has no TCP connection to draw; its figures are in the table above.`).join(" ");
  byId("empty").hidden = without.length === 0;
  byId("stage").style.setProperty("--stacks", stacks.filter((other) => other.model).length || 1);
  markChosen();
  const shown = ["a", "b"].map((each) => chosen[each]).filter(Boolean).map((each) => facts.rows[each.place].endNs);
  view.setDomain(0, Math.max(...shown, 1));
}

function markChosen() {
  for (const button of document.querySelectorAll(".pick")) {
    const side = button.classList.contains("pick-a") ? "a" : "b";
    button.setAttribute("aria-pressed", String(chosen[side]?.place === Number(button.dataset.row)));
  }
  for (const side of ["a", "b"]) {
    const select = byId(`aspect-${side}`);
    const row = chosen[side] && facts.rows[chosen[side].place];
    select.parentElement.hidden = !row || row.aspects.length === 0;
    byId("common").parentElement.hidden = stacks.filter((stack) => stack.model).length < 2;
    if (!row) continue;
    select.replaceChildren(...row.aspects.map(({ label }, number) => element("option", { value: number, selected: number === chosen[side].number }, label)));
  }
}

// The limits of a stack by time, as buttons with their share.
function fillTotals(stack) {
  const { bands, bandStyles } = stack;
  const lifetime = bands.until - bands.from;
  const held = bandStyles.map((style, reason) => ({ style, reason, time: bands.time[reason] })).filter(({ time }) => time > 0);
  held.sort((one, other) => other.time - one.time);
  stack.totals.replaceChildren(...held.map(({ style, reason, time }) => element("button", { type: "button", onclick: () => details.total(stack, reason) }, swatch(style), ` ${style.label} ${percentText(time / lifetime)}`)));
}

function relook() {
  for (const stack of stacks) {
    if (!stack.model) continue;
    fillTotals(stack);
    stack.describe();
  }
  view.ask();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  ink = inks();
  for (const stack of stacks) stack.patterns.clear();
  view.ask();
}

function connectControls() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const current = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  byId("theme").addEventListener("click", () => setTheme(current() === "dark" ? "light" : "dark"));
  dark.addEventListener("change", () => setTheme(""));
  byId("level").addEventListener("change", (event) => {
    look.level = event.target.checked;
    relook();
  });
  byId("common").addEventListener("change", (event) => {
    look.common = event.target.checked;
    view.ask();
  });
  byId("bands").addEventListener("change", (event) => {
    look.bands = event.target.value;
    relook();
  });
  byId("pans").addEventListener("change", (event) => {
    input.pans = event.target.checked;
  });
  byId("in").addEventListener("click", () => view.zoom(0.5));
  byId("out").addEventListener("click", () => view.zoom(2));
  byId("all").addEventListener("click", () => view.all());
  for (const side of ["a", "b"]) byId(`aspect-${side}`).addEventListener("change", (event) => choose(chosen[side].place, side, Number(event.target.value)));
  addEventListener("hashchange", () => follow(location.hash.slice(1)));
  new ResizeObserver(() => view.ask()).observe(byId("stage"));
  let before = "";
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme || "";
    setTheme("light");
    view.now();
  });
  addEventListener("afterprint", () => setTheme(before));
}

function fillHeader() {
  document.title = `${facts.experiment} – fullpipe`;
  byId("title").textContent = `${facts.experiment}: ${facts.title}`;
  const parts = [facts.source && `published: ${facts.source}`, `seed ${facts.seed}`, ...facts.overrides].filter(Boolean);
  byId("source").textContent = parts.join(" · ");
  const swept = facts.rows[0]?.point.length > 0;
  byId("figures").append(swept ? new Curves(facts.rows, choose).root : chart(facts.rows));
  byId("rows").append(rowsTable(facts.rows, choose));
  const forgotten = facts.rows.filter((row) => row.forgotten > 0).map((row) => `${row.label}: ${wholeText(row.forgotten)} records of the trace are missing.`);
  byId("warning").textContent = forgotten.join(" ");
}

// What a link to this page asks for: `#a=3&b=1&from=0.2&until=0.4&level&theme=dark`,
// rows counted from 1, times in seconds, `at` for the cursor; with `own` each
// side has a scale of its own, with `bare` there is nothing but the graphs.
async function follow(link) {
  const asked = new URLSearchParams(link);
  const number = (name) => (asked.has(name) ? Number(asked.get(name)) : NaN);
  const carries = (row) => row.connections.some((connection) => connection.ends.some((end) => end.text > 0));
  const first = Math.max(0, facts.rows.findIndex(carries));
  const row = (name, otherwise) => (facts.rows[number(name) - 1] ? number(name) - 1 : otherwise);
  document.body.classList.toggle("bare", asked.has("bare"));
  if (asked.has("theme")) setTheme(asked.get("theme"));
  look.level = byId("level").checked = asked.has("level");
  look.common = byId("common").checked = !asked.has("own");
  if (facts.rows.length > 0) await choose(row("a", first), "a");
  if (row("b", null) !== null) await choose(row("b", null), "b");
  if (number("until") > number("from")) view.show(number("from") * 1e9, number("until") * 1e9);
  if (!Number.isFinite(number("at")) || !stacks[0].model) return;
  view.point(number("at") * 1e9);
  details.band(stacks[0], view.cursor);
}

async function start() {
  fillHeader();
  connectControls();
  await follow(location.hash.slice(1));
  view.now();
  return performance.now();
}

window.fullpipe = { view, stacks, facts, choose, details, look, loaded: start() };
