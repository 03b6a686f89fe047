// The verdict in its parts, the share of the path that the transfer used, and the moment that shows
// its cause.

// Limits of which a retransmission shows the cause.
const AFTER_A_LOSS = ["recovery", "congestion_window_after_loss"];

// Round trips that are visible around the moment that shows a verdict's cause.
const SHOWN_ROUND_TRIPS = 12;

const upperFirst = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// The visible time that shows a verdict's cause best, and the moment in it at which the cursor is
// set.
function momentOf({ limits, flight, data, rttNs, binding, shown }) {
  const length = SHOWN_ROUND_TRIPS * rttNs;
  if (shown.resource) {
    const { kind, name, usage } = shown.resource;
    const from = usage.busiest(limits.from, limits.until, length);
    return { from, until: from + length, at: from + length / 2, lane: `${kind} ${name}` };
  }
  const again = AFTER_A_LOSS.includes(shown.limits[0])
    ? data.special.find((place) => data.status[place] & RETRANSMITTED)
    : undefined;
  if (again !== undefined)
    return {
      from: data.at[again] - length / 3,
      until: data.at[again] + (2 * length) / 3,
      at: data.at[again],
      lane: "limits",
    };
  const place = limits.longestOf(shown.reasons);
  if (place < 0) return undefined;
  const [begin, end] = [limits.at[place], limits.end[place]];
  const from = Math.max(limits.from, begin - rttNs);
  const until = Math.min(end + rttNs, from + length);
  // If the limit is a number of bytes, the moment is the one with the most bytes in flight.
  let at = begin + Math.min(end - begin, length) / 2;
  if (binding?.edge) {
    let best = -1;
    for (
      let where = lowerBound(flight.at, begin);
      where < flight.count && flight.at[where] < Math.min(end, until);
      where++
    ) {
      if (flight.value[where] > best) [best, at] = [flight.value[where], flight.at[where]];
    }
  }
  return { from, until, at, lane: "limits" };
}

// The style of the resource or limit that shows a verdict's cause: that of links, of processors, or
// of the limit. If no limit is named, returns the style of the longest limit of `model`.
function shownStyle({ kind, limits }, model, styles) {
  if (kind !== "limits") return { name: kind, colour: inks()[kind], pattern: SOLID };
  const name = limits[0] ?? model.shown.limits[0];
  return styles.limits.find((style) => style.name === name) ?? styles.limits[0];
}

// The limit's name and what follows it: its figure, or further sentences.
function headOf(limitedBy) {
  const end = limitedBy.search(/: | \(|\. /);
  const head = end < 0 ? limitedBy : limitedBy.slice(0, end);
  const text = limitedBy.slice(head.length).replace(/^[:.]? /, "");
  // The name of a setting is written as it is.
  const isSetting = text.includes(" = ");
  return [upperFirst(head), isSetting ? text : upperFirst(text)];
}

// A setting to change: the line to paste, its place, and on demand the origin of its value.
function changeLine({ host, paste, from, notes = [] }) {
  const parts = [element("code", { class: "paste" }, plain(paste))];
  const place = [host && `on ${host}`, from && `instead of ${from}`].filter(Boolean).join(", ");
  if (notes.length === 0) return element("div", {}, ...parts, element("small", {}, place));
  const why = element(
    "details",
    { class: "why" },
    element("summary", {}, place || "why"),
    ...prose(notes.join(" ")),
  );
  return element("div", {}, ...parts, why);
}

// Fills `stack.verdict` from a row; `jump` moves the view to the moment that shows the verdict's
// cause.
function fillVerdict(stack, row, jump) {
  const { limited_by: limitedBy, because = [], change = [], gives, then } = row.verdict;
  const { model, styles } = stack;
  const [head, figure] = headOf(limitedBy);
  const limited = [
    swatch(shownStyle(row.shownBy, model, styles)),
    " ",
    ...prose(head),
    element("small", {}, ...prose(figure)),
  ];
  const parts = [
    ["Limited by", limited, "limited"],
    ["Because", because.map((sentence) => element("p", {}, ...prose(sentence))), "because"],
    ["Change", change.map(changeLine), "change"],
    ["Gives", gives ? prose(gives) : [], "gives"],
    ["Then", then ? prose(`limited by ${then}`) : [], "then"],
  ].filter(([, nodes]) => nodes.length > 0);
  const list = element(
    "dl",
    {},
    ...parts.flatMap(([name, nodes, kind]) => [
      element("dt", {}, name),
      element("dd", { class: kind }, ...nodes),
    ]),
  );
  stack.verdict.replaceChildren(list);
  const used = shareOfPath(row);
  if (used) stack.verdict.append(used);
  if (!model) return;
  stack.verdict.append(element("button", { type: "button", class: "jump" }, "Show the moment"));
  stack.verdict.onclick = (event) => {
    if (!event.target.closest("details") && String(getSelection()) === "") jump(stack);
  };
}

// The goodput as a bar of the path's capacity.
function shareOfPath(row) {
  const goodput = figureOf(row.measured, "goodput_mbps");
  const capacity = row.path?.bps;
  if (!capacity || goodput === undefined) return undefined;
  const share = (goodput * 1e6) / capacity;
  const fill = element("span", { class: "fill" });
  fill.style.width = `${Math.min(1, share) * 100}%`;
  const text = `${rateText(goodput * 1e6)} of the ${rateText(capacity)} that the path carries (${percentText(share)})`;
  return element(
    "div",
    { class: "used" },
    element("div", { class: "gauge", "aria-hidden": "true" }, fill),
    text,
  );
}
