// Drawings of the page: curves over the steps of a training, and attention as squares.
import { h } from "../live/parts.js";

const [WIDE, HIGH, LEFT, BELOW, ABOVE] = [360, 180, 34, 24, 20];

function shape(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Curves over steps. `series`: [{name, style}], drawn by the class of that style in train.css;
// `top`: the highest value of the axis; `guide`: {value, name} of a line across.
export class Curves {
  constructor(host, { title, series, top, guide }) {
    Object.assign(this, { title, series, top });
    this.values = series.map(() => h("span", { class: "train-value" }));
    const entries = series.map(({ name, style }, k) => {
      const size = { viewBox: "0 0 26 10", width: 26, height: 10, "aria-hidden": "true" };
      const swatch = shape("svg", size);
      swatch.append(shape("line", { x1: 1, x2: 25, y1: 5, y2: 5, class: style }));
      return h("li", {}, swatch, ` ${name} `, this.values[k]);
    });
    this.svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
    const bottom = HIGH - BELOW;
    this.svg.append(
      shape("path", { class: "train-axis", d: `M${LEFT} ${ABOVE}V${bottom}H${WIDE - 8}` }),
    );
    for (const value of [0, top / 2, top])
      this.label(LEFT - 5, this.y(value) + 4, "end", `${value}`);
    if (guide) {
      this.svg.append(
        shape("path", { class: "train-guide", d: `M${LEFT} ${this.y(guide.value)}H${WIDE - 8}` }),
      );
      this.label(WIDE - 8, this.y(guide.value) - 4, "end", guide.name);
    }
    this.lines = series.map(({ style }) => shape("polyline", { class: style, points: "" }));
    this.ticks = [0, 0.5, 1].map((share) =>
      this.label(this.x(share), HIGH - 8, ["start", "middle", "end"][2 * share]),
    );
    this.svg.append(...this.lines);
    const key = h("ul", { class: "train-key" }, ...entries);
    host.append(h("figure", { class: "train-curves" }, h("figcaption", {}, title), key, this.svg));
  }

  label(x, y, anchor, text) {
    const made = shape("text", { x, y, "text-anchor": anchor }, text);
    this.svg.append(made);
    return made;
  }

  x(share) {
    return LEFT + share * (WIDE - 8 - LEFT);
  }

  y(value) {
    return ABOVE + (1 - value / this.top) * (HIGH - BELOW - ABOVE);
  }

  // `points`: per series a list of [step, value]; `last`: the step at the end of the axis.
  draw(points, last) {
    this.ticks.forEach(
      (tick, k) => (tick.textContent = `${k === 2 ? "step " : ""}${(k * last) / 2}`),
    );
    points.forEach((one, k) => {
      const place = ([step, value]) =>
        `${this.x(step / last).toFixed(1)},${this.y(Math.min(value, this.top)).toFixed(1)}`;
      this.lines[k].setAttribute("points", one.map(place).join(" "));
      this.values[k].textContent = one.length ? one[one.length - 1][1].toFixed(2) : "";
    });
  }

  // The text alternative: the last value of each curve.
  describe(step) {
    const said = this.series.map(({ name }, k) => `${name} ${this.values[k].textContent}`);
    this.svg.setAttribute("aria-label", `${this.title}. At step ${step}: ${said.join("; ")}.`);
  }
}

// The attention of one head on one context: each row a position that looks, each column one that
// is looked at, in the colour of the head's layer. `seek`: the kind of attention its caption tells, and
// `expected`: [row, column] of its squares, to outline.
export class Picture {
  constructor(host, name, layer, n, seek, expected) {
    Object.assign(this, { name, layer, n, seek, expected });
    this.canvas = h("canvas", { width: 8 * n, height: 8 * n, role: "img" });
    this.note = h("figcaption");
    host.append(h("figure", { class: "train-picture" }, this.canvas, this.note));
  }

  // `A` [n, n]; `paid`: {kind: attention}; `marked`: whether to draw the outlines.
  draw(A, paid, marked) {
    const { n, canvas } = this;
    const style = getComputedStyle(canvas);
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = style.getPropertyValue(["--first", "--second"][this.layer]);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        pen.globalAlpha = A[i * n + j];
        pen.fillRect(8 * j, 8 * i, 8, 8);
      }
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = style.getPropertyValue("--ink");
    if (marked) this.expected.forEach(([i, j]) => pen.strokeRect(8 * j + 0.5, 8 * i + 0.5, 7, 7));
    const said = Object.entries(paid)
      .map(([kind, value]) => `${kind} ${value.toFixed(2)}`)
      .join(", ");
    this.note.textContent = `${this.seek} ${paid[this.seek].toFixed(2)}`;
    canvas.setAttribute("aria-label", `Attention of ${this.name}: ${said}.`);
  }
}
