// What the graphs draw of one connection as one of its ends saw it.
//
// The data goes one way: from the end that sent more text, unless the other
// direction is asked for. Times are nanoseconds, amounts bytes.

const AGAIN = 1;
const LOST = 2;
const NO_THRESHOLD = 4294967295;

const FLAGS = [[1, "FIN"], [2, "SYN"], [4, "RST"], [8, "PSH"], [16, "ACK"], [32, "URG"], [64, "ECE"], [128, "CWR"], [256, "AE"]];
const flagsText = (bits) => FLAGS.filter(([bit]) => bits & bit).map(([, name]) => name).join(" ");

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

// Segments with text, or that took sequence space, as bars.
function bars(table) {
  const takes = (place) => table.len[place] > 0 || (table.flags[place] & 3) !== 0;
  let all = true;
  for (let place = 0; place < table.count && all; place++) all = takes(place);
  const names = ["at", "seq", "len", "flags", "fate", "ack", "window"];
  const kept = all ? table : pick(table, names, placesWhere(table.count, takes));
  const end = new Float64Array(kept.count);
  for (let place = 0; place < kept.count; place++) {
    end[place] = kept.seq[place] + kept.len[place] + (kept.flags[place] & 1) + ((kept.flags[place] >> 1) & 1);
  }
  const special = placesWhere(kept.count, (place) => kept.fate[place] !== 0);
  return { ...kept, end, special };
}

// Acknowledgments: the line of what is acknowledged, and that of the window.
function acknowledgments(table) {
  const places = placesWhere(table.count, (place) => (table.flags[place] & 16) !== 0 && (table.flags[place] & 4) === 0);
  const acks = pick(table, ["at", "ack", "window"], places);
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

// What is outstanding, as both tables of an end tell it, in the order of time.
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

// Held and promised blocks, one on top of the other, at each change; in bytes.
function poolLevels(table, blockSize) {
  const holders = new Set();
  for (let place = 0; place < table.count; place++) holders.add(table.holder[place]);
  const order = [...holders].sort();
  const held = new Float64Array(8);
  const promised = new Float64Array(8);
  const at = table.at;
  const tops = order.map(() => new Float64Array(table.count));
  const all = new Float64Array(table.count);
  for (let place = 0; place < table.count; place++) {
    held[table.holder[place]] = table.held[place];
    promised[table.holder[place]] = table.promised[place];
    let [sum, open] = [0, 0];
    for (let which = 0; which < order.length; which++) {
      sum += held[order[which]] * blockSize;
      open += promised[order[which]] * blockSize;
      tops[which][place] = sum;
    }
    all[place] = sum + open;
  }
  return { at, order, tops, all, count: table.count };
}

// Bytes of text that an end sent.
const textOf = (tables) => tables.sent.len.reduce((sum, len) => sum + len, 0);

const NO_BANDS = { count: 0, at: new Float64Array(0), end: new Float64Array(0), reason: new Float64Array(0), bytes: new Float64Array(0) };

// `own` has the tables of the end that looks; `sender`: the data is what it
// sent. `limits` held the data's sender, `receiveLimits` its receiver; that of
// an end that was not observed is missing.
function makeModel({ own, limits = NO_BANDS, receiveLimits = NO_BANDS, host, pool, sender, vocabulary }) {
  const model = {
    sender,
    host,
    data: bars(sender ? own.sent : own.received),
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
  const first = lowerBound(acks.una, 2);
  const span = acks.count > 0 ? acks.at[acks.count - 1] - acks.at[Math.min(first, acks.count - 1)] : 0;
  const moved = acks.count > 0 ? acks.una[acks.count - 1] : 0;
  model.meanRate = span > 0 ? moved / span : 0;
  model.origin = acks.count > 0 ? acks.at[Math.min(first, acks.count - 1)] : 0;
  return model;
}

// The same columns with the mean rate taken away, so that a plateau of some
// milliseconds shows; made when first asked for.
function levelled(model) {
  if (model.levelled) return model.levelled;
  const less = (values, at) => values.map((value, place) => value - model.meanRate * (at[place] - model.origin));
  const { data, acks, sacks } = model;
  const flat = {
    seq: less(data.seq, data.at), end: less(data.end, data.at),
    una: less(acks.una, acks.at), edge: less(acks.edge, acks.at),
    left: less(sacks.left, sacks.at), right: less(sacks.right, sacks.at),
  };
  flat.dataExtent = new Extent(flat.seq, flat.end);
  flat.ackExtent = new Extent(flat.una);
  flat.edgeExtent = new Extent(flat.edge);
  model.levelled = flat;
  return flat;
}

// The columns that the time-sequence graph draws, level or not.
function sequenceColumns(model, level) {
  if (level) return levelled(model);
  const { data, acks, sacks, dataExtent, ackExtent, edgeExtent } = model;
  return { seq: data.seq, end: data.end, una: acks.una, edge: acks.edge, left: sacks.left, right: sacks.right, dataExtent, ackExtent, edgeExtent };
}

// The value of a step series at `time`; undefined before its first.
function valueAt(at, values, time) {
  const place = lastAtOrBefore(at, time);
  return place < 0 ? undefined : values[place];
}
