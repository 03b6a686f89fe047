// Decodes the text in the page to columns of numbers.
//
// A blob is deflated and written in base64. It is a sequence of tables, and a table is a sequence
// of columns. A column is stored as differences of its values, each as a zigzag number in groups of
// seven bits, lowest group first. encode.rs writes it.

async function inflate(id) {
  const text = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads one column after the other.
class ColumnReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  column(count) {
    const { bytes } = this;
    const values = new Float64Array(count);
    let at = this.at;
    let sum = 0;
    for (let place = 0; place < count; place++) {
      let byte = bytes[at++];
      let number = byte & 127;
      let shift = 7;
      while (byte > 127 && shift < 28) {
        byte = bytes[at++];
        number |= (byte & 127) << shift;
        shift += 7;
      }
      if (byte < 128) {
        sum += (number >>> 1) ^ -(number & 1);
      } else {
        // Above 28 bits integers are computed as floating point.
        let factor = 2 ** shift;
        do {
          byte = bytes[at++];
          number += (byte & 127) * factor;
          factor *= 128;
        } while (byte > 127);
        sum += number % 2 === 0 ? number / 2 : -(number + 1) / 2;
      }
      values[place] = sum;
    }
    this.at = at;
    return values;
  }

  table(columns, count) {
    const table = { count };
    for (const name of columns) table[name] = this.column(count);
    return table;
  }
}

// Columns of each table, in the order of encode.rs.
const TABLES = {
  sent: ["at", "seq", "len", "ack", "window", "flags", "status", "outstanding"],
  received: ["at", "seq", "len", "ack", "window", "flags", "status", "outstanding"],
  sacksReceived: ["at", "left", "right"],
  sacksSent: ["at", "left", "right"],
  windows: ["at", "cwnd", "ssthresh", "inFlight"],
  rtts: ["at", "sample", "srtt", "rto"],
  limits: ["at", "end", "reason", "bytes"],
  receiveLimits: ["at", "end", "reason", "bytes"],
  marks: ["at", "kind", "value"],
  pool: ["at", "holder", "held", "reserved"],
  cpu: ["at", "end"],
  forwardBusy: ["at", "end"],
  forwardQueue: ["at", "frames"],
  backBusy: ["at", "end"],
  backQueue: ["at", "frames"],
};

// `counts` has the name and the number of rows of each table, in the order of the tables.
async function decodeTables(id, counts) {
  const reader = new ColumnReader(await inflate(id));
  const tables = {};
  for (const [name, count] of counts) tables[name] = reader.table(TABLES[name], count);
  return tables;
}
