// What a band is made of: from when until when, what moved, and what proves it.

// The least and most of a step series between two times, its value at the
// beginning included.
function between(at, extent, from, until) {
  const first = Math.max(0, lastAtOrBefore(at, from));
  const { least, most } = extent.over(first, Math.max(first + 1, lowerBound(at, until)));
  return most === -Infinity ? undefined : { least, most };
}

function marksBetween(model, vocabulary, names, from, until) {
  const { marks } = model;
  let count = 0;
  for (let place = lowerBound(marks.at, from); place < marks.count && marks.at[place] <= until; place++) {
    if (names.includes(vocabulary.marks[marks.kind[place]])) count += 1;
  }
  return count;
}

// Figures of the run between two times that show why `name` held.
function proofOf(which, name, model, vocabulary, from, until) {
  const flight = between(model.flight.at, model.flightExtent, from, until)?.most ?? 0;
  const { least, most: window } = between(model.acks.at, model.windowExtent, from, until) ?? {};
  const sacks = lowerBound(model.sacks.at, until) - lowerBound(model.sacks.at, from);
  const cwnd = between(model.windows.at, model.cwndExtent, from, until)?.most;
  const srtt = between(model.rtts.at, model.srttExtent, from, until)?.most;
  const again = model.data.special.filter((place) => model.data.fate[place] & AGAIN && model.data.at[place] >= from && model.data.at[place] <= until).length;
  const pool = between(model.pool.at, model.poolExtents[model.poolExtents.length - 1], from, until)?.most;
  const size = model.host.poolBlocks * model.host.blockSize;
  const blocked = marksBetween(model, vocabulary, ["writer blocked"], model.limits.from, until);
  const timeouts = marksBetween(model, vocabulary, ["retransmission timeout"], from, until);
  const of = (value) => (value === undefined ? "unknown" : `${wholeText(value)} B`);
  const others = `The congestion window was ${of(cwnd)}, the peer's window ${of(window)}.`;
  const perRtt = (amount) => (srtt > 0 && amount !== undefined ? ` In a round trip of ${timeText(srtt * 1e3)} that is at most ${rateText((amount * 8e6) / srtt)}.` : "");
  if (!model.sender && which === "limits") return `Seen from the receiver, which offered a window of ${of(window)}; the view from the sender has the figures.`;
  switch (name) {
    case "application":
      return `Everything written had been sent, and no write was refused. ${of(flight)} outstanding at most. ${others}`;
    case "send_buffer":
      return `Everything in the send buffer had been sent: ${of(flight)} outstanding at most; until here a write was refused or cut short ${wholeText(blocked)} times. ${others}${perRtt(flight)}`;
    case "memory":
      if (which === "receiveLimits") return `Packet memory could not back a larger window than ${of(window)}${model.sender ? "" : `: ${of(pool)} of ${of(size)} held or promised`}.`;
      return `Packet memory had no block for a write: ${of(pool)} of ${of(size)} held or promised. ${of(flight)} outstanding at most. ${others}${perRtt(flight)}`;
    case "receive_window":
      return `${of(flight)} outstanding of the ${of(window)} that the peer allowed. The congestion window was ${of(cwnd)}.${perRtt(window)}`;
    case "zero_window":
      return `The peer allowed ${of(least)}; ${wholeText(marksBetween(model, vocabulary, ["zero window"], from, until))} times in this time it closed its window.`;
    case "congestion_window_slow_start":
    case "congestion_window_steady":
    case "congestion_window_after_loss":
      return `${of(flight)} outstanding of a congestion window of ${of(cwnd)}. The peer allowed ${of(window)}.${perRtt(cwnd)}`;
    case "recovery":
      return `${wholeText(again)} segments were sent again in this time, after ${wholeText(timeouts)} timeouts.`;
    case "pacing":
      return `The next segment was not due yet: a congestion window of ${of(cwnd)} is spread over a round trip${srtt > 0 ? ` of ${timeText(srtt * 1e3)}` : ""}. ${of(flight)} outstanding.`;
    case "nagle":
      return `Less than a segment waited while ${of(flight)} were outstanding. ${others}`;
    case "receive_buffer":
      return `The window was down to ${of(least)} although the application read in time: the receive buffer is no larger.`;
    case "slow_reader":
      return `The window was down to ${of(least)}: what had arrived was not read.`;
    case "reassembly_hole":
      return `Data waited behind a gap; ${wholeText(sacks)} SACK blocks in this time say which. The window was ${of(window)}.`;
    case "none":
      return `The window had room for a segment: between ${of(least)} and ${of(window)}.`;
    case "device":
      return `The device took no frame. ${of(flight)} outstanding. ${others}`;
    default:
      return `${of(flight)} outstanding. ${others}`;
  }
}

// Bytes are charged to what held a sender, not to what its receiver did.
function movedRow(bands, bytes) {
  const all = bands.moved.reduce((sum, part) => sum + part, 0);
  return all > 0 ? [["bytes moved", `${wholeText(bytes)} B of ${wholeText(all)} B`]] : [];
}

class Details {
  constructor(root, show) {
    this.root = root;
    this.show = show;
  }

  // The band of a stack that holds at `time`.
  band(stack, time) {
    const { bands, bandStyles, model, vocabulary } = stack;
    const place = bands.find(time);
    if (place < 0) return;
    const [from, until] = [bands.at[place], bands.end[place]];
    const reason = bands.reason[place];
    const lifetime = bands.until - bands.from;
    const rows = [
      ["from – to", `${momentText(from, 1e3)} – ${momentText(until, 1e3)}`],
      ["length", `${timeText(until - from)}, ${percentText((until - from) / lifetime)} of the connection`],
      ...movedRow(bands, bands.bytes[place]),
    ];
    const nearby = this.nearby(stack, time);
    if (nearby) rows.push(["under this pixel", nearby]);
    this.fill(stack, reason, rows, proofOf(stack.look.bands, bandStyles[reason].name, model, vocabulary, from, until), () => this.show((from * 1.1 - until * 0.1), (until * 1.1 - from * 0.1)));
  }

  // At this zoom a pixel may cover many bands.
  nearby(stack, time) {
    const step = (stack.view.until - stack.view.from) / Math.max(1, stack.panes[0].base.width);
    stack.bands.over(time - step, time + step);
    const sum = stack.bands.shares.reduce((all, share) => all + share, 0);
    const parts = stack.bandStyles.map((style, which) => [style.label, stack.bands.shares[which] / sum]).filter(([, share]) => share > 0);
    if (parts.length < 2) return "";
    return parts.sort((one, other) => other[1] - one[1]).map(([label, share]) => `${label} ${percentText(share)}`).join(", ");
  }

  // All bands of one reason.
  total(stack, reason) {
    const { bands, bandStyles, model, vocabulary } = stack;
    const lifetime = bands.until - bands.from;
    let longest = -1;
    for (let place = 0; place < bands.count; place++) {
      if (bands.reason[place] === reason && (longest < 0 || bands.end[place] - bands.at[place] > bands.end[longest] - bands.at[longest])) longest = place;
    }
    const [from, until] = [bands.at[longest], bands.end[longest]];
    const rows = [
      ["time in all", `${timeText(bands.time[reason])}, ${percentText(bands.time[reason] / lifetime)} of the connection`],
      ["how often", `${wholeText(bands.times[reason])} times, the longest ${timeText(until - from)} from ${momentText(from, 1e3)}`],
      ...movedRow(bands, bands.moved[reason]),
    ];
    this.fill(stack, reason, rows, `In the longest: ${proofOf(stack.look.bands, bandStyles[reason].name, model, vocabulary, from, until)}`, () => this.show((from * 1.5 - until * 0.5), (until * 1.5 - from * 0.5)));
  }

  fill(stack, reason, rows, proof, show) {
    const style = stack.bandStyles[reason];
    const table = element("dl");
    for (const [name, value] of rows) table.append(element("dt", {}, name), element("dd", {}, value));
    this.root.replaceChildren(
      element("h3", {}, swatch(style), ` ${style.label} `, element("small", {}, stack.title.textContent)),
      table,
      element("p", { class: "proof" }, proof),
      element("button", { type: "button", onclick: show }, "Show it"),
    );
    this.root.hidden = false;
  }
}
