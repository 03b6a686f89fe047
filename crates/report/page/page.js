// The page: reads the facts of a run, picks rows (scenarios), and joins the view of time, the
// stacks of graphs and the details of bands.
//
// `window.fullpipe` is for tests and for the browser's console.

const facts = JSON.parse(document.getElementById("facts").textContent);
const byId = (id) => document.getElementById(id);
const decoded = new Map();
const settings = { detrended: false, bands: "limits", common: true };
let selection = null;
let ink = inks();

const view = new View((graphs) => draw(graphs));
const stacks = ["a", "b"].map((side) => new Stack(side, view, facts.vocabulary));
const details = new Details((from, until) => view.show(from, until));
const chosen = { a: null, b: null };
const input = new Input(byId("stage"), stacks, view, {
  select: (from, until) => {
    selection = Number.isNaN(from) ? null : [from, until];
    view.point(view.cursor);
  },
  click: (stack, time, lane) => (lane ? details.lane(stack, lane, time) : details.band(stack, time)),
  say: () => byId("spoken").replaceChildren(spokenAt(view.cursor)),
});

const shownStacks = () => stacks.filter((stack) => stack.model);

function draw(graphs) {
  const scale = window.devicePixelRatio || 1;
  const shown = shownStacks();
  const fitted = shown.map((stack) => stack.fit(scale));
  const isCommon = settings.common && shown.length > 1;
  const ranges = isCommon && (graphs || fitted.includes(true)) ? commonRanges(shown) : undefined;
  if (graphs || ranges) for (const stack of shown) stack.markApart(ranges);
  shown.forEach((stack, place) => {
    if (fitted[place] || graphs || ranges) stack.draw(ink, ranges);
    stack.drawOver(ink, selection);
  });
  const step = (view.until - view.from) / 1e3;
  const [from, until] = [Math.max(0, view.from), view.until].map((time) => momentText(time, step));
  byId("range").textContent = `${from} – ${until} (${timeText(view.until - view.from)})`;
}

// Largest ratio between the ranges of two rows that share a scale. With a larger ratio, one of the
// rows would show nothing.
const MOST_DIFFERENT = 8;

// Returns for each graph the range that contains the values of both rows.
function commonRanges(shown) {
  const [first, ...others] = shown.map((stack) => stack.ranges());
  for (const [id, [least, most]] of others.flatMap((ranges) => [...ranges])) {
    // A row in which nothing was observed has no range.
    const [low, high] = first.get(id) ?? [];
    const spans = [high - low, most - least];
    if (!(high >= low)) first.set(id, [least, most]);
    else if (Math.max(...spans) > MOST_DIFFERENT * Math.min(...spans)) first.delete(id);
    else if (most >= least) first.set(id, [Math.min(low, least), Math.max(high, most)]);
  }
  return first;
}

function spokenAt(time) {
  const [stack] = shownStacks();
  if (!stack) return "";
  const step = (view.until - view.from) / 1e3;
  const lanes = stack.lanes.map((lane) => `${lane.name} ${laneText(lane, time, step)}`);
  return `${momentText(time, 1e6)}: ${lanes.join(", ")}`;
}

const tablesOf = (part) => {
  if (!decoded.has(part.blob)) decoded.set(part.blob, decodeTables(part.blob, part.tables));
  return decoded.get(part.blob);
};

// Returns what can be shown of a row: each connection, in each direction that carried payload, as
// either end saw it.
function aspectsOf(row) {
  const aspects = [];
  row.connections.forEach((connection, number) => {
    const { ends } = connection;
    const name = (place) => row.hosts[ends[place].host].name;
    const far = (place) => (ends.length > 1 ? name(1 - place) : "its peer");
    const several = row.connections.length > 1 ? ` ${number + 1}` : "";
    const places = ends.map((_, place) => place);
    const busiest = places.reduce(
      (most, place) => (ends[place].payload > ends[most].payload ? place : most),
      0,
    );
    for (const place of [busiest, ...places.filter((other) => other !== busiest)]) {
      if (place !== busiest && ends[place].payload === 0) continue;
      const label = `${name(place)} → ${far(place)}${several}`;
      aspects.push({ connection, end: place, sender: true, label: `${label}, seen by the sender` });
      if (ends.length < 2) continue;
      aspects.push({ connection, end: 1 - place, sender: false, label: `${label}, seen by the receiver` });
    }
  });
  return aspects;
}

// Returns the path's figures if the data of `aspect` takes the path of the row's first flow.
function pathOf(row, aspect) {
  const { path } = row;
  const { ends } = aspect.connection;
  const from = ends[aspect.sender ? aspect.end : 1 - aspect.end]?.host;
  if (!path || from !== path.sender) return undefined;
  const bdp = path.bps && path.rttNs ? (path.bps * path.rttNs) / 8e9 : undefined;
  return { ...path, bdp };
}

// Links on the path, in the direction of the data, and processors.
async function resourcesOf(row, isForward) {
  const links = row.path?.links ?? row.links.map((_, link) => ({ link, forward: true }));
  const carried = await Promise.all(
    links.map(async ({ link, forward }) => {
      const { name, shared, usage } = row.links[link];
      const tables = await tablesOf(usage);
      const way = forward === isForward ? "forward" : "back";
      const parts = shared ? [tables.forwardBusy, tables.backBusy] : [tables[`${way}Busy`]];
      return { kind: "link", name, usage: new Usage(parts), queue: tables[`${way}Queue`] };
    }),
  );
  const worked = await Promise.all(
    row.hosts.map(async ({ name, usage }) => ({
      kind: "cpu",
      name,
      usage: new Usage([(await tablesOf(usage)).cpu]),
    })),
  );
  return [...carried, ...worked.filter(({ usage }) => !usage.isEmpty)];
}

async function modelOf(row, aspect) {
  aspect.model ||= (async () => {
    const { connection, sender } = aspect;
    const end = connection.ends[aspect.end];
    const far = connection.ends.length > 1 ? connection.ends[1 - aspect.end] : null;
    const host = row.hosts[end.host];
    const path = pathOf(row, aspect);
    const [own, { pool }, ownBands, farBands, resources] = await Promise.all([
      tablesOf(end.series),
      tablesOf(host.usage),
      tablesOf(end.bands),
      far && tablesOf(far.bands),
      resourcesOf(row, path !== undefined || !row.path),
    ]);
    const [from, to] = sender ? [ownBands, farBands] : [farBands, ownBands];
    const shownBy = path ? row.shownBy : undefined;
    const { vocabulary } = facts;
    return makeModel({
      own,
      limits: from?.limits,
      receiveLimits: to?.receiveLimits,
      host,
      pool,
      sender,
      vocabulary,
      resources,
      path,
      shownBy,
    });
  })();
  return aspect.model;
}

// Reading a row takes time, so choices are carried out one after the other, in the order of the
// clicks.
let turn = Promise.resolve();

function inTurn(act) {
  turn = turn.then(act).catch(reportError);
  return turn;
}

const choose = (...choice) => inTurn(() => put(...choice));

// Shows a row on one side; with null, clears the side.
async function put(place, side, number = 0) {
  const stack = stacks[side === "a" ? 0 : 1];
  if (side === "b" && chosen.b?.place === place && number === chosen.b.number) place = null;
  const row = place === null ? null : facts.rows[place];
  if (row) row.aspects ||= aspectsOf(row);
  chosen[side] = row && { place, number };
  const aspect = row?.aspects[number];
  stack.details.hidden = true;
  stack.model = undefined;
  if (!aspect) {
    stack.root.remove();
  } else {
    const model = await modelOf(row, aspect);
    stack.show(row.label, model, settings, row.endNs);
    fillVerdict(stack, row, jump);
    fillTotals(stack);
    byId("stage").append(...shownStacks().map((other) => other.root));
  }
  noteRowsWithout();
  markChosen();
  const shown = shownStacks();
  byId("stage").style.setProperty("--stacks", shown.length || 1);
  byId("stage").classList.toggle("single", shown.length < 2);
  const ends = ["a", "b"]
    .map((each) => chosen[each])
    .filter(Boolean)
    .map((each) => facts.rows[each.place].endNs);
  const homes = shown.map(({ model }) => model.home);
  const home = homes.length > 0 && [
    Math.min(...homes.map(([from]) => from)),
    Math.min(...homes.map(([, until]) => until)),
  ];
  view.setDomain(0, Math.max(...ends, 1), home);
}

// Rows without a TCP connection have a verdict and no graphs.
function noteRowsWithout() {
  const rows = ["a", "b"].map((side) => chosen[side] && facts.rows[chosen[side].place]);
  const without = rows.filter((row) => row && row.aspects.length === 0);
  byId("empty").replaceChildren(
    ...without.flatMap(({ label, verdict }) => [
      element("b", {}, ...prose(label)),
      " has no TCP connection to draw. ",
      ...prose(`Limited by ${verdict.limited_by}. ${(verdict.because ?? []).join(" ")} `),
    ]),
  );
  byId("empty").hidden = without.length === 0;
}

function markChosen() {
  for (const button of document.querySelectorAll(".pick")) {
    const side = button.classList.contains("pick-a") ? "a" : "b";
    button.setAttribute("aria-pressed", String(chosen[side]?.place === Number(button.dataset.row)));
  }
  byId("common").parentElement.hidden = shownStacks().length < 2;
  for (const side of ["a", "b"]) {
    byId(`row-${side}`).value = chosen[side]?.place ?? "";
    const select = byId(`aspect-${side}`);
    const row = chosen[side] && facts.rows[chosen[side].place];
    select.parentElement.hidden = !row || row.aspects.length === 0;
    if (!row) continue;
    const option = ({ label }, number) =>
      element("option", { value: number, selected: number === chosen[side].number }, label);
    select.replaceChildren(...row.aspects.map(option));
  }
}

// Shows the limits of the sender, sorted by time, as buttons with their shares.
function fillTotals(stack) {
  const { model } = stack;
  const which = settings.bands === "receiveLimits" ? "receiveLimits" : "limits";
  const bands = model[which];
  const lifetime = bands.until - bands.from;
  const shares = stack.styles[which].map((style, reason) => ({
    style,
    reason,
    share: bands.time[reason] / lifetime,
  }));
  const seen = shares.filter(({ share }) => share >= 5e-4).sort((one, other) => other.share - one.share);
  const buttons = seen.map(({ style, reason, share }) =>
    element(
      "button",
      {
        type: "button",
        onclick: () => details.total(stack, reason, which),
      },
      swatch(style),
      ` ${style.label} ${percentText(share)}`,
    ),
  );
  const title = which === "limits" ? "Sender waited for" : "Receiver's window limited by";
  stack.totals.replaceChildren(element("span", { class: "soft" }, title), ...buttons);
}

// Moves the view to the moment that shows the verdict's cause.
function jump(stack) {
  const { model } = stack;
  const moment = momentOf(model);
  if (!moment) return;
  view.show(moment.from, moment.until);
  view.point(moment.at);
  const lane = stack.lanes.find(({ id }) => id === moment.lane);
  if (lane) details.lane(stack, lane, moment.at);
}

function apply() {
  for (const stack of shownStacks()) {
    fillTotals(stack);
    stack.describe();
  }
  view.ask();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  ink = inks();
  byId("theme").textContent = isDark() ? "Light theme" : "Dark theme";
  fillLegend(byId("legend").querySelector("div"), ink, stacks[0].styles);
  for (const stack of stacks) stack.patterns.clear();
  for (const stack of shownStacks()) fillVerdict(stack, facts.rows[chosen[stack.side].place], jump);
  view.ask();
}

const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const isDark = () =>
  (document.documentElement.dataset.theme || (darkQuery.matches ? "dark" : "light")) === "dark";

function connectControls() {
  byId("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  darkQuery.addEventListener("change", () => setTheme(""));
  const change = (id, act) => byId(id).addEventListener("change", (event) => act(event.target));
  change("detrend", ({ checked }) => {
    settings.detrended = checked;
    apply();
  });
  change("common", ({ checked }) => {
    settings.common = checked;
    view.ask();
  });
  change("bands", ({ value }) => {
    settings.bands = value;
    apply();
  });
  change("pans", ({ checked }) => {
    input.pans = checked;
  });
  byId("in").addEventListener("click", () => view.zoom(0.5));
  byId("out").addEventListener("click", () => view.zoom(2));
  byId("all").addEventListener("click", () => view.all());
  byId("home").addEventListener("click", () => view.show(...view.home));
  for (const side of ["a", "b"]) {
    change(`row-${side}`, ({ value }) => choose(value === "" ? null : Number(value), side));
    change(`aspect-${side}`, ({ value }) => choose(chosen[side].place, side, Number(value)));
  }
  addEventListener("hashchange", () => inTurn(() => follow(location.hash.slice(1))));
  new ResizeObserver(() => view.ask()).observe(byId("stage"));
  let before = "";
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme || "";
    setTheme("light");
    view.now();
  });
  addEventListener("afterprint", () => setTheme(before));
}

function fillPage() {
  document.title = `${facts.experiment} – fullpipe`;
  byId("title").replaceChildren(...prose(`${facts.experiment}: ${facts.title}`));
  const parts = [
    facts.source && `published: ${facts.source}`,
    facts.seed !== null && `seed ${facts.seed}`,
    ...facts.overrides,
  ].filter(Boolean);
  byId("source").textContent = parts.join(" · ");
  const options = () =>
    facts.rows.map(({ label }, place) => element("option", { value: place }, plain(label)));
  byId("row-a").append(...options());
  byId("row-b").append(element("option", { value: "" }, "nothing"), ...options());
  byId("beside").hidden = facts.rows.length < 2;
  const pick = async (place, side) => {
    await choose(place, side);
    byId("tools").scrollIntoView({ block: "nearest" });
  };
  if (facts.rows[0]?.point.length > 0) byId("figures").append(new Curves(facts.rows, pick).root);
  byId("rows").append(rowsTable(facts.rows, pick));
  const missing = facts.rows.filter((row) => row.forgotten > 0);
  byId("warning").textContent = missing
    .map((row) => `${plain(row.label)}: ${wholeText(row.forgotten)} records of the trace are missing.`)
    .join(" ");
}

// Follows a link to this page: `#a=3&b=1&from=0.2&until=0.4&at=0.3&detrend&theme=dark`. Rows count
// from 1, times are seconds, `at` is the cursor. With `own` each row has its own scale. With
// `proof` the page shows the moment that shows the verdict's cause, with `bare` only the verdict
// and the graphs, with `table` only the rows.
async function follow(link) {
  const asked = new URLSearchParams(link);
  const number = (name) => (asked.has(name) ? Number(asked.get(name)) : NaN);
  const carries = (row) =>
    row.connections.some((connection) => connection.ends.some((end) => end.payload > 0));
  const first = Math.max(0, facts.rows.findIndex(carries));
  const row = (name, otherwise) => (facts.rows[number(name) - 1] ? number(name) - 1 : otherwise);
  for (const part of ["bare", "table"]) document.body.classList.toggle(part, asked.has(part));
  setTheme(asked.get("theme") ?? "");
  settings.detrended = byId("detrend").checked = asked.has("detrend");
  settings.common = byId("common").checked = !asked.has("own");
  if (facts.rows.length > 0) await put(row("a", first), "a");
  if (row("b", null) !== null) await put(row("b", null), "b");
  if (asked.has("proof") && stacks[0].model) jump(stacks[0]);
  if (number("until") > number("from")) view.show(number("from") * 1e9, number("until") * 1e9);
  if (!Number.isFinite(number("at")) || !stacks[0].model) return;
  view.point(number("at") * 1e9);
  details.band(stacks[0], view.cursor);
}

async function start() {
  fillPage();
  connectControls();
  await inTurn(() => follow(location.hash.slice(1)));
  view.now();
  return performance.now();
}

// Waits until every choice that was made is shown.
async function settled() {
  let last;
  do {
    last = turn;
    await last;
  } while (last !== turn);
}

window.fullpipe = { view, stacks, facts, choose, details, settings, jump, settled, loaded: start() };
