// Curves of a sweep: a quantity over one swept setting, with a line for each row (scenario) of the
// file and each combination of values of the other settings.
//
// Lines differ by colour and by the shape of their points. A point names its row, and picking the
// point shows the row.

const CURVES = { width: 900, height: 340, left: 64, right: 16, top: 12, bottom: 44 };
const SHAPES = ["circle", "square", "diamond", "triangle", "cross", "ring"];

// Shapes about ten points wide, centred on 0,0.
const SHAPE_PATHS = {
  circle: "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0Z",
  square: "M-4,-4h8v8h-8Z",
  diamond: "M0,-5.5L5.5,0L0,5.5L-5.5,0Z",
  triangle: "M0,-5.5L5.5,4.5H-5.5Z",
  cross: "M-5,-2h3v-3h4v3h3v4h-3v3h-4v-3h-3Z",
  ring: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0ZM-2,0a2,2 0 1,1 4,0a2,2 0 1,1 -4,0Z",
};

// Returns the swept setting for the x axis: the one with the most values among settings whose
// values are numbers, or among all settings if none has numbers.
function sweptAlong(rows) {
  const paths = rows[0]?.point.map(({ path }) => path) ?? [];
  const axes = paths.map((path, place) => {
    const values = new Map(rows.map((row) => [row.point[place].value, row.point[place].number]));
    const numbers = [...values.values()].every((number) => number !== null);
    return { path, place, values, numbers };
  });
  axes.sort((one, other) => other.numbers - one.numbers || other.values.size - one.values.size);
  return axes[0];
}

// Returns a function from a number to its place on the axis, from 0 to 1. The axis is logarithmic
// if the numbers span a factor of 8 or more.
function placing(numbers) {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  if (!(most > least)) return () => 0.5;
  if (least > 0 && most / least >= 8) return (number) => Math.log(number / least) / Math.log(most / least);
  return (number) => (number - least) / (most - least);
}

// Returns the lines by name: the rows that differ only in the setting of the x axis, in the order
// of the file.
function linesOf(rows, along) {
  const lines = new Map();
  rows.forEach((row, place) => {
    const others = row.point
      .filter((_, axis) => axis !== along.place)
      .map(({ path, value }) => `${path}=${value}`);
    const name = [row.name, ...others].join(", ");
    if (!lines.has(name)) lines.set(name, []);
    lines.get(name).push({ row, place, at: row.point[along.place] });
  });
  return lines;
}

class Curves {
  // `choose(place, side)` is called when a point is picked.
  constructor(rows, choose) {
    Object.assign(this, { rows, choose });
    this.along = sweptAlong(rows);
    const names = new Map(rows.flatMap((row) => row.measured.map(({ name, heading }) => [name, heading])));
    const options = [...names].map(([name, heading]) => element("option", { value: name }, heading));
    const show = () => this.show(select.value);
    const select = element("select", { "aria-label": "quantity", onchange: show }, ...options);
    this.picture = element("div", { class: "curves" });
    this.legend = element("div", { class: "legend" });
    const caption = element("p", {}, select, ` over ${this.along.path}`);
    this.root = element("section", { "aria-label": "Sweep" }, caption, this.picture, this.legend);
    this.show(select.value);
  }

  show(name) {
    const { along, rows } = this;
    const values = rows.map((row) => figureOf(row.measured, name)).filter((value) => value !== undefined);
    const most = Math.max(...values, 0) || 1;
    const keys = [...along.values.keys()];
    const numbers = along.numbers ? [...along.values.values()] : keys.map((_, place) => place);
    const place = placing(numbers);
    const { width, height, left, right, top, bottom } = CURVES;
    const x = (value) => left + place(numbers[keys.indexOf(value)]) * (width - left - right);
    const y = (value) => height - bottom - (value / most) * (height - top - bottom);
    const picture = svgElement("svg", {
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `${name} over ${along.path}`,
    });
    this.drawAxes(picture, keys, x, y, most);
    this.legend.replaceChildren();
    [...linesOf(rows, along)].forEach(([title, points], number) => {
      const colour = HOLDER_COLOURS[number % HOLDER_COLOURS.length];
      const shape =
        SHAPE_PATHS[SHAPES[(number + Math.floor(number / HOLDER_COLOURS.length)) % SHAPES.length]];
      const shown = points
        .map((point) => ({ ...point, value: figureOf(point.row.measured, name) }))
        .filter(({ value }) => value !== undefined);
      shown.sort((one, other) => x(one.at.value) - x(other.at.value));
      const path = shown
        .map(({ at, value }, step) => `${step === 0 ? "M" : "L"}${x(at.value)},${y(value)}`)
        .join("");
      picture.append(svgElement("path", { d: path, fill: "none", stroke: colour, "stroke-width": 2 }));
      for (const { row, at, value, place: which } of shown) {
        const point = svgElement("path", {
          d: shape,
          fill: colour,
          class: "point",
          tabindex: 0,
          role: "button",
          transform: `translate(${x(at.value)},${y(value)})`,
        });
        point.append(
          svgElement(
            "title",
            {},
            `${plain(row.label)}: ${digits(value)}${row.outcome === "complete" ? "" : `, ${row.outcome}`}`,
          ),
        );
        const pick = () => this.choose(which, "a");
        point.addEventListener("click", pick);
        point.addEventListener("keydown", (event) => event.key === "Enter" && pick());
        picture.append(point);
      }
      const sample = svgElement(
        "svg",
        { viewBox: "-7 -7 14 14", class: "sample", "aria-hidden": "true" },
        svgElement("path", { d: shape, fill: colour }),
      );
      this.legend.append(element("span", {}, sample, title));
    });
    this.picture.replaceChildren(picture);
  }

  drawAxes(picture, keys, x, y, most) {
    const { width, height, left, right, bottom } = CURVES;
    for (const value of ticks(0, most, 6).values) {
      picture.append(svgElement("path", { d: `M${left},${y(value)}H${width - right}`, class: "line" }));
      picture.append(
        svgElement("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, digits(value)),
      );
    }
    // Leave out names that would cover each other.
    let free = -Infinity;
    for (const key of [...keys].sort((one, other) => x(one) - x(other))) {
      picture.append(svgElement("path", { d: `M${x(key)},${height - bottom}v4`, class: "line" }));
      if (x(key) - key.length * 3.5 < free) continue;
      free = x(key) + key.length * 3.5 + 6;
      picture.append(
        svgElement("text", { x: x(key), y: height - bottom + 18, "text-anchor": "middle" }, key),
      );
    }
  }
}
