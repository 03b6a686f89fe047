// Numbers as people read them: three digits and a unit.

function digits(value, count = 3) {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(count));
  const text = Math.abs(rounded) >= 10 ** count ? rounded.toFixed(0) : String(rounded);
  return text.replace("-", "−");
}

function scaled(value, unit, steps) {
  const size = Math.abs(value);
  const [factor, prefix] = steps.find(([least]) => size >= least) || steps[steps.length - 1];
  return `${digits(value / factor)} ${prefix}${unit}`;
}

const DECIMAL = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

const bytesText = (bytes) => (Math.abs(bytes) < 1000 ? `${digits(bytes)} B` : scaled(bytes, "B", DECIMAL));
const rateText = (bitsPerSecond) => scaled(bitsPerSecond, "bit/s", DECIMAL);
const wholeText = (number) => Math.round(number).toLocaleString("en-US");
const percentText = (share) => `${digits(share * 100)} %`;

// A duration in nanoseconds.
function timeText(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return `${digits(ns / 1e9, 4)} s`;
  if (size >= 1e6) return `${digits(ns / 1e6)} ms`;
  if (size >= 1e3) return `${digits(ns / 1e3)} µs`;
  return `${digits(ns)} ns`;
}

// A moment in nanoseconds, with as many digits as a step of `step` needs.
function momentText(ns, step = 1) {
  const places = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
  return `${(ns / 1e9).toFixed(places)} s`;
}

// About `count` round steps between two values.
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
