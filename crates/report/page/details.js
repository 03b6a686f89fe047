// The details of a band: begin and end, the bytes charged to it, and the values that prove its
// limit.

// The extremes of a step series between two times, its value at the beginning included.
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

const counted = (count, what) => `${wholeText(count)} ${what}${count === 1 ? "" : "s"}`;

// The figures between two times that show why `name` was the limit.
function proofOf(which, name, model, vocabulary, from, until) {
  const flight = between(model.flight.at, model.flightExtent, from, until)?.most ?? 0;
  const { least, most: window } = between(model.acks.at, model.windowExtent, from, until) ?? {};
  const sacks = lowerBound(model.sacks.at, until) - lowerBound(model.sacks.at, from);
  const cwnd = between(model.windows.at, model.cwndExtent, from, until)?.most;
  const srtt = between(model.rtts.at, model.srttExtent, from, until)?.most;
  const isAgain = (place) =>
    model.data.status[place] & RETRANSMITTED && model.data.at[place] >= from && model.data.at[place] <= until;
  const again = model.data.special.filter(isAgain).length;
  const pool = between(model.pool.at, model.poolExtents.at(-1), from, until)?.most;
  const blocked = marksBetween(model, vocabulary, ["writer blocked"], model.limits.from, until);
  const timeouts = marksBetween(model, vocabulary, ["retransmission timeout"], from, until);
  const of = (value) => (value === undefined ? "unknown" : bytesText(value));
  const inUse = `${of(pool)} of ${of(poolSize(model))} in use or reserved`;
  const others = `The congestion window was ${of(cwnd)}, the receive window ${of(window)}.`;
  const perRtt = (amount) =>
    srtt > 0 && amount !== undefined
      ? ` In a round trip of ${timeText(srtt * 1e3)} that is at most ${rateText((amount * 8e6) / srtt)}.`
      : "";
  if (!model.sender && which === "limits") {
    return `Seen from the receiver, whose window was ${of(window)}. The view from the sender has the figures.`;
  }
  switch (name) {
    case "application":
      return `All payload written had been sent, and no write was refused. At most ${of(flight)} in flight. ${others}`;
    case "send_buffer":
      return `All payload in the send buffer had been sent: at most ${of(flight)} in flight. Until the end of this band, ${counted(blocked, "write")} found it full. ${others}${perRtt(flight)}`;
    case "memory":
      if (which === "receiveLimits")
        return `Packet memory allowed no larger window than ${of(window)}${model.sender ? "" : `: ${inUse}`}.`;
      return `Packet memory had no block for a write: ${inUse}. At most ${of(flight)} in flight. ${others}${perRtt(flight)}`;
    case "receive_window":
      return `${of(flight)} in flight, of a receive window of ${of(window)}. The congestion window was ${of(cwnd)}.${perRtt(window)}`;
    case "zero_window":
      return `The receive window was ${of(least)}; the peer closed it ${counted(marksBetween(model, vocabulary, ["zero window"], from, until), "time")} in this band.`;
    case "congestion_window_slow_start":
    case "congestion_window_steady":
    case "congestion_window_after_loss":
    case "congestion_window_after_mark":
    case "congestion_window_after_idle":
      return `${of(flight)} in flight, of a congestion window of ${of(cwnd)}. The receive window was ${of(window)}.${perRtt(cwnd)}`;
    case "recovery":
      return `${counted(again, "retransmission")} in this band, after ${counted(timeouts, "timeout")}.`;
    case "pacing":
      return `The next segment was not due yet: a congestion window of ${of(cwnd)} is spread over a round trip${srtt > 0 ? ` of ${timeText(srtt * 1e3)}` : ""}. At most ${of(flight)} in flight.`;
    case "nagle":
      return `Less than a segment waited while ${of(flight)} were unacknowledged. ${others}`;
    case "receive_buffer":
      return `The window was down to ${of(least)} although the application read in time: the receive buffer is no larger.`;
    case "slow_reader":
      return `The window was down to ${of(least)}: the application had not read the payload that had arrived.`;
    case "reassembly_hole":
      return `Payload waited behind a missing segment, as ${counted(sacks, "SACK block")} in this band show. The window was ${of(window)}.`;
    case "none":
      return `The window had room for a segment: between ${of(least)} and ${of(window)}.`;
    case "device":
      return `The device took no frame. At most ${of(flight)} in flight. ${others}`;
    default:
      return `At most ${of(flight)} in flight. ${others}`;
  }
}

// Bytes are charged to the limits of a sender, not to those of a receiver.
function chargedRow(bands, bytes) {
  const all = bands.moved.reduce((sum, part) => sum + part, 0);
  return all > 0 ? [["payload sent", `${bytesText(bytes)} of ${bytesText(all)}`]] : [];
}

class Details {
  constructor(show) {
    this.show = show;
  }

  // Shows the band of `stack` at `time`; `which` is "limits" or "receiveLimits".
  band(stack, time, which = stack.settings.bands === "receiveLimits" ? "receiveLimits" : "limits") {
    const { model, vocabulary } = stack;
    const bands = model[which];
    const place = bands.find(time);
    if (place < 0) return;
    const [from, until] = [bands.at[place], bands.end[place]];
    const reason = bands.reason[place];
    const style = stack.styles[which][reason];
    const lifetime = bands.until - bands.from;
    const pairs = [
      ["from – to", `${momentText(from, 1e5)} – ${momentText(until, 1e5)}`],
      ["length", `${timeText(until - from)}, ${percentText((until - from) / lifetime)} of the connection`],
      ...chargedRow(bands, bands.bytes[place]),
    ];
    const nearby = this.nearby(stack, bands, stack.styles[which], time);
    if (nearby) pairs.push(["in this pixel", nearby]);
    const proof = proofOf(which, style.name, model, vocabulary, from, until);
    this.fill(stack, style, titleOf(which, style), pairs, proof, [
      from * 1.1 - until * 0.1,
      until * 1.1 - from * 0.1,
    ]);
  }

  // Returns the shares of the limits in the pixel at `time`, because at a coarse zoom a pixel
  // covers several bands.
  nearby(stack, bands, styles, time) {
    const step = (stack.view.until - stack.view.from) / Math.max(1, stack.panes[0].base.width);
    bands.over(time - step, time + step);
    const sum = bands.shares.reduce((all, share) => all + share, 0);
    const parts = styles
      .map((style, which) => [style.label, bands.shares[which] / sum])
      .filter(([, share]) => share > 0);
    if (parts.length < 2) return "";
    return parts
      .sort((one, other) => other[1] - one[1])
      .map(([label, share]) => `${label} ${percentText(share)}`)
      .join(", ");
  }

  // Shows the totals of all bands of one reason (limit).
  total(stack, reason, which = "limits") {
    const { model, vocabulary } = stack;
    const bands = model[which];
    const style = stack.styles[which][reason];
    const lifetime = bands.until - bands.from;
    const longest = bands.longestOf([reason]);
    const [from, until] = [bands.at[longest], bands.end[longest]];
    const pairs = [
      [
        "in all",
        `${timeText(bands.time[reason])}, ${percentText(bands.time[reason] / lifetime)} of the connection`,
      ],
      [
        "bands",
        `${wholeText(bands.times[reason])}, the longest ${timeText(until - from)} from ${momentText(from, 1e5)}`,
      ],
      ...chargedRow(bands, bands.moved[reason]),
    ];
    const proof = `In the longest band: ${proofOf(which, style.name, model, vocabulary, from, until)}`;
    this.fill(stack, style, titleOf(which, style), pairs, proof, [
      from * 1.5 - until * 0.5,
      until * 1.5 - from * 0.5,
    ]);
  }

  // Shows the use of a link or a processor in the visible time.
  resource(stack, lane) {
    const { view, model } = stack;
    const [from, until] = [Math.max(0, view.from), Math.min(stack.known, view.until)];
    const { limits } = model;
    const kind = lane.ink;
    const resource = model.resources.find(({ name }) => lane.id.endsWith(` ${name}`));
    const queue =
      resource.queue?.count > 0
        ? between(resource.queue.at, new Extent(resource.queue.frames), from, until)
        : undefined;
    const carried =
      ((valueAt(model.acks.at, model.acks.una, until) ?? 0) -
        (valueAt(model.acks.at, model.acks.una, from) ?? 0)) *
      8e9;
    const pairs = [
      [
        "busy",
        `${percentText(resource.usage.share(from, until))} of the time shown, ${percentText(resource.usage.share(limits.from, limits.until))} of the connection`,
      ],
      ...(queue ? [["queue", `at most ${framesText(queue.most)}`]] : []),
      ["acknowledged", `${rateText(carried / (until - from))} in the time shown`],
    ];
    const style = { colour: inks()[kind], pattern: SOLID };
    const what =
      kind === "link"
        ? "A link that is always busy carries no more. The sender's own limits are then only a consequence of the busy link."
        : "A host whose processor is always busy handles no more frames.";
    this.fill(
      stack,
      style,
      `${kind === "link" ? "Link" : "Processor of"} ${resource.name}`,
      pairs,
      what,
      undefined,
    );
  }

  lane(stack, lane, time) {
    if (lane.kind === "bands") this.band(stack, time, lane.id);
    else this.resource(stack, lane);
  }

  fill(stack, style, title, pairs, proof, times) {
    const close = element(
      "button",
      {
        type: "button",
        class: "close",
        "aria-label": "Close",
        onclick: () => {
          stack.details.hidden = true;
        },
      },
      "×",
    );
    const show =
      times && element("button", { type: "button", onclick: () => this.show(...times) }, "Zoom to it");
    stack.details.replaceChildren(
      close,
      element("h3", {}, swatch(style), ` ${title}`),
      pairsList(pairs),
      element("p", { class: "proof" }, proof),
      show || "",
    );
    stack.details.hidden = false;
  }
}

const titleOf = (which, style) =>
  which === "limits" ? `Sender waited for ${style.label}` : `Receiver: ${style.label}`;
