// The series of one connection that the graphs draw, as one of its ends saw it.
//
// Times are nanoseconds, amounts bytes. "Data" is the payload of the direction that is shown.

const RETRANSMITTED = 1;
const LOST = 2;
const NO_THRESHOLD = 4294967295;

const FLAGS = [
  [1, "FIN"],
  [2, "SYN"],
  [4, "RST"],
  [8, "PSH"],
  [16, "ACK"],
  [32, "URG"],
  [64, "ECE"],
  [128, "CWR"],
  [256, "AE"],
];
const flagsText = (bits) =>
  FLAGS.filter(([bit]) => bits & bit)
    .map(([, name]) => name)
    .join(" ");

// Picks rows of a table by their places.
function pick(table, columns, places) {
  const picked = { count: places.length };
  for (const name of columns) picked[name] = Float64Array.from(places, (place) => table[name][place]);
  return picked;
}

function placesWhere(count, holds) {
  const places = [];
  for (let place = 0; place < count; place++) if (holds(place)) places.push(place);
  return places;
}

// Segments that take sequence space.
function dataSegments(table) {
  const takes = (place) => table.len[place] > 0 || (table.flags[place] & 3) !== 0;
  let all = true;
  for (let place = 0; place < table.count && all; place++) all = takes(place);
  const names = ["at", "seq", "len", "flags", "status", "ack", "window"];
  const kept = all ? table : pick(table, names, placesWhere(table.count, takes));
  const end = new Float64Array(kept.count);
  for (let place = 0; place < kept.count; place++) {
    end[place] = kept.seq[place] + kept.len[place] + (kept.flags[place] & 1) + ((kept.flags[place] >> 1) & 1);
  }
  const special = placesWhere(kept.count, (place) => kept.status[place] !== 0);
  return { ...kept, end, special };
}

// Acknowledgments: the highest acknowledged byte and the window's edge over time.
function acknowledgments(table) {
  const isAck = (place) => (table.flags[place] & 16) !== 0 && (table.flags[place] & 4) === 0;
  const acks = pick(table, ["at", "ack", "window"], placesWhere(table.count, isAck));
  acks.edge = new Float64Array(acks.count);
  acks.una = new Float64Array(acks.count);
  let una = 0;
  for (let place = 0; place < acks.count; place++) {
    acks.edge[place] = acks.ack[place] + acks.window[place];
    una = Math.max(una, acks.ack[place]);
    acks.una[place] = una;
  }
  return acks;
}

// Unacknowledged bytes over time, from both tables of an end.
function outstanding(sent, received) {
  const count = sent.count + received.count;
  const [at, value] = [new Float64Array(count), new Float64Array(count)];
  let [s, r] = [0, 0];
  for (let place = 0; place < count; place++) {
    const own = r >= received.count || (s < sent.count && sent.at[s] <= received.at[r]);
    const table = own ? sent : received;
    const from = own ? s++ : r++;
    at[place] = table.at[from];
    value[place] = table.outstanding[from];
  }
  return { at, value, count };
}

function runningSum(values) {
  const sums = new Float64Array(values.length);
  let sum = 0;
  for (let place = 0; place < values.length; place++) {
    sum += values[place];
    sums[place] = sum;
  }
  return sums;
}

// The bytes of each holder of packet memory, stacked, and the bytes of all holders with their
// reservations, at each change.
function poolLevels(table, blockSize) {
  const holders = new Set();
  for (let place = 0; place < table.count; place++) holders.add(table.holder[place]);
  const order = [...holders].sort();
  const held = new Float64Array(8);
  const reserved = new Float64Array(8);
  const at = table.at;
  const tops = order.map(() => new Float64Array(table.count));
  const all = new Float64Array(table.count);
  for (let place = 0; place < table.count; place++) {
    held[table.holder[place]] = table.held[place];
    reserved[table.holder[place]] = table.reserved[place];
    let [sum, open] = [0, 0];
    for (let which = 0; which < order.length; which++) {
      sum += held[order[which]] * blockSize;
      open += reserved[order[which]] * blockSize;
      tops[which][place] = sum;
    }
    all[place] = sum + open;
  }
  return { at, order, tops, all, count: table.count };
}

const EMPTY = new Float64Array(0);
const NO_BANDS = { count: 0, at: EMPTY, end: EMPTY, reason: EMPTY, bytes: EMPTY };

// `own` has the tables of the end that is shown, and `sender` is true if that end sends the data.
// `limits` are those of the data's sender, and `receiveLimits` those of its receiver; an end that
// was not observed has none. `resources` are links and processors. `path` has the path's figures,
// and `shownBy` names what shows the verdict's cause; both are set only if the data takes the path
// that the verdict is about.
function makeModel({ own, limits = NO_BANDS, receiveLimits = NO_BANDS, host, pool, ...rest }) {
  const { sender, vocabulary } = rest;
  const model = {
    sender,
    host,
    resources: rest.resources,
    path: rest.path,
    data: dataSegments(sender ? own.sent : own.received),
    acks: acknowledgments(sender ? own.received : own.sent),
    sacks: sender ? own.sacksReceived : own.sacksSent,
    flight: outstanding(own.sent, own.received),
    windows: own.windows,
    rtts: own.rtts,
    marks: own.marks,
    limits: new Bands(limits, vocabulary.limits.length),
    receiveLimits: new Bands(receiveLimits, vocabulary.receiveLimits.length),
    pool: poolLevels(pool, host.blockSize),
  };
  const { data, acks } = model;
  model.dataExtent = new Extent(data.seq, data.end);
  model.ackExtent = new Extent(acks.una);
  model.edgeExtent = new Extent(acks.edge);
  model.windowExtent = new Extent(acks.window);
  model.flightExtent = new Extent(model.flight.value);
  model.cwndExtent = new Extent(model.windows.cwnd);
  model.inFlightExtent = new Extent(model.windows.inFlight);
  model.sampleExtent = new Extent(model.rtts.sample);
  model.srttExtent = new Extent(model.rtts.srtt);
  model.poolExtents = [...model.pool.tops, model.pool.all].map((column) => new Extent(column));
  model.sentSum = runningSum(data.len);
  const first = Math.min(lowerBound(acks.una, 2), Math.max(0, acks.count - 1));
  const span = acks.count > 0 ? acks.at[acks.count - 1] - acks.at[first] : 0;
  const moved = acks.count > 0 ? acks.una[acks.count - 1] : 0;
  model.meanRate = span > 0 ? moved / span : 0;
  model.origin = acks.count > 0 ? acks.at[first] : 0;
  model.rttNs = roundTrip(model);
  model.home = firstRoundTrips(model, 20);
  model.shown = shownOf(model, rest.shownBy, vocabulary.limits);
  model.binding = bindingOf(model);
  return model;
}

// Returns the resource or the limits that show a verdict's cause. `resource` is a link or a
// processor; `limits` are the sender's limits by name, the longest first, and `reasons` their
// numbers. If the verdict names none, or if none of those named was observed, returns the limit
// with the most time.
function shownOf({ resources, limits }, shownBy, names) {
  const isNamed = ({ kind, name, usage }) =>
    kind === shownBy?.kind && name === shownBy.name && !usage.isEmpty;
  const resource = resources.find(isNamed);
  const named = (shownBy?.limits ?? []).map((name) => names.indexOf(name));
  const seen = named.filter((reason) => limits.time[reason] > 0);
  const reasons = seen.length > 0 ? seen : [limits.time.indexOf(Math.max(...limits.time))];
  return { resource, reasons, limits: reasons.map((reason) => names[reason]) };
}

// A typical round-trip time: the smoothed sample in the middle of the transfer or, without samples,
// the round-trip time of the idle path.
function roundTrip(model) {
  const { srtt } = model.rtts;
  const middle = srtt.length > 0 ? srtt[srtt.length >> 1] * 1e3 : 0;
  return middle || model.path?.rttNs || 1e6;
}

// The time of the first `count` round trips with data: each ends when everything that had been sent
// at its beginning is acknowledged. Time in which nothing was in flight does not count.
function firstRoundTrips(model, count) {
  const { data, acks } = model;
  const first = data.count > 0 ? data.at[Math.max(0, placeOfPayload(data))] : 0;
  let until = first;
  for (let trip = 0; trip < count; trip++) {
    const sent = lastAtOrBefore(data.at, until);
    if (sent < 0) break;
    const acked = lowerBound(acks.una, data.end[sent]);
    if (acked >= acks.count) break;
    until = acks.at[acked] > until ? acks.at[acked] : (data.at[sent + 1] ?? until);
  }
  if (until === first) until = first + count * model.rttNs;
  return [Math.max(0, first - (until - first) * 0.02), until];
}

// The first segment with payload.
function placeOfPayload(data) {
  for (let place = 0; place < data.count; place++) if (data.len[place] > 0) return place;
  return -1;
}

// The columns that the time-sequence graph draws. With `detrended`, the mean rate is subtracted, so
// that a plateau of some milliseconds is visible in a long transfer.
function sequenceColumns(model, detrended) {
  const name = detrended ? "detrended" : "straight";
  model.columns ||= {};
  if (model.columns[name]) return model.columns[name];
  const { data, acks, sacks, binding } = model;
  const slope = detrended ? model.meanRate : 0;
  const less = (values, at) =>
    detrended ? values.map((value, place) => value - slope * (at[place] - model.origin)) : values;
  const columns = {
    seq: less(data.seq, data.at),
    end: less(data.end, data.at),
    una: less(acks.una, acks.at),
    edge: less(acks.edge, acks.at),
    left: less(sacks.left, sacks.at),
    right: less(sacks.right, sacks.at),
  };
  columns.dataExtent = detrended ? new Extent(columns.seq, columns.end) : model.dataExtent;
  columns.ackExtent = detrended ? new Extent(columns.una) : model.ackExtent;
  columns.edgeExtent = detrended ? new Extent(columns.edge) : model.edgeExtent;
  if (binding?.edge) {
    columns.binding = less(binding.edge, binding.at);
    columns.bindingExtent = new Extent(columns.binding);
  }
  if (model.path?.bdp) {
    columns.bdp = less(
      acks.una.map((una) => una + model.path.bdp),
      acks.at,
    );
    columns.bdpExtent = new Extent(columns.bdp);
  }
  model.columns[name] = columns;
  return columns;
}

// The value of a step series at `time`; undefined before its first value.
function valueAt(at, values, time) {
  const place = lastAtOrBefore(at, time);
  return place < 0 ? undefined : values[place];
}
