// From the text in the page to columns of numbers.
//
// A blob is deflated, then written in base64. Inside, tables follow each other,
// and in a table its columns; a column is the differences of its values, each
// as a zigzag number in groups of seven bits, lowest first. encode.rs writes it.

async function inflate(id) {
  const text = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads columns one after the other.
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
        // Above 28 bits whole numbers go on as floating point.
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

// What a blob of one kind holds; the order is that of encode.rs.
const TABLES = {
  sent: ["at", "seq", "len", "ack", "window", "flags", "fate", "outstanding"],
  received: ["at", "seq", "len", "ack", "window", "flags", "fate", "outstanding"],
  sacksReceived: ["at", "left", "right"],
  sacksSent: ["at", "left", "right"],
  windows: ["at", "cwnd", "ssthresh", "inFlight"],
  rtts: ["at", "sample", "srtt", "rto"],
  limits: ["at", "end", "reason", "bytes"],
  receiveLimits: ["at", "end", "reason", "bytes"],
  marks: ["at", "kind", "value"],
  pool: ["at", "holder", "held", "promised"],
};

// `counts` names the tables of the blob, in their order, and their rows.
async function decodeTables(id, counts) {
  const reader = new ColumnReader(await inflate(id));
  const tables = {};
  for (const [name, count] of counts) tables[name] = reader.table(TABLES[name], count);
  return tables;
}
