// Numbers as people read them: three significant digits and a unit.

function digits(value, count = 3) {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(count));
  const text = Math.abs(rounded) >= 10 ** count ? rounded.toFixed(0) : String(rounded);
  return text.replace("-", "−");
}

// Units of a quantity, the largest first.
const UNITS = {
  bytes: [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "B"],
  ],
  rate: [
    [1e9, "Gbit/s"],
    [1e6, "Mbit/s"],
    [1e3, "kbit/s"],
    [1, "bit/s"],
  ],
  time: [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
  ],
  frames: [[1, "frames"]],
};

function unitFor(units, size) {
  // Write 999.6 kB as 1 MB, because three digits would make it 1000 kB.
  return units.find(([factor]) => size >= factor * 0.9995) || units[units.length - 1];
}

function scaled(value, units) {
  if (value === 0) return "0";
  const [factor, unit] = unitFor(units, Math.abs(value));
  return `${digits(value / factor)} ${unit}`;
}

const bytesText = (bytes) => scaled(bytes, UNITS.bytes);
const rateText = (bitsPerSecond) => scaled(bitsPerSecond, UNITS.rate);
const timeText = (ns) => scaled(ns, UNITS.time);
const framesText = (frames) => (frames === 1 ? "1 frame" : `${wholeText(frames)} frames`);
const wholeText = (number) => Math.round(number).toLocaleString("en-US");

// Labels of an axis: one unit for all of them, taken from the largest value.
function axisLabels(units, largest) {
  const [factor, unit] = unitFor(units, Math.abs(largest));
  return (value) => (value === 0 ? "0" : `${digits(value / factor, 6)} ${unit}`);
}

function percentText(share) {
  const percent = share * 100;
  if (percent <= 0) return "0 %";
  if (percent < 0.1) return "< 0.1 %";
  return `${percent < 1 ? percent.toFixed(1) : digits(percent)} %`;
}

// A moment in nanoseconds, with as many digits as a step of `step` needs.
function momentText(ns, step = 1) {
  const places = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
  return `${(ns / 1e9).toFixed(places)} s`;
}

// Returns about `count` round values, at equal steps, between two values.
function ticks(from, until, count) {
  const span = until - from;
  if (!(span > 0) || count < 1) return { step: 1, values: [] };
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const values = [];
  for (let at = Math.ceil(from / step); at * step <= until; at++) values.push(at * step);
  return { step, values };
}
