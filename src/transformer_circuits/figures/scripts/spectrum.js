// A small circuit from copying to its opposite: a slider, the matrix, its eigenvalues, its score.
(function () {
  "use strict";
  const { View, blend, css, ground, isDark, make, readableOn } = Circuits.views;

  const STYLE = `
.cs-slider{display:flex;flex-wrap:wrap;gap:4px 10px;align-items:center;margin-bottom:6px}
.cs-slider input{flex:1 1 12em;max-width:26em;height:28px;accent-color:var(--mark)}
.cs-slider output{min-width:5em;font-variant-numeric:tabular-nums;font-weight:600}
.cs-columns{display:flex;flex-wrap:wrap;gap:8px 28px}
.cs-columns>*{flex:1 1 280px;min-width:0;max-width:360px}
.cs-matrix{border-collapse:collapse;table-layout:fixed;width:100%;margin:0;font-size:12px;text-align:center}
.circuit-view .cs-matrix :is(th,td){padding:4px 0;border:0;text-align:center;font-weight:400}
.circuit-view .cs-matrix th{font-family:ui-monospace,monospace;font-size:11px;white-space:pre;background:none;color:var(--fg)}
.circuit-view .cs-matrix td{font-variant-numeric:tabular-nums;border:1px solid var(--line)}
.circuit-view .cs-matrix td.cs-own{border:2px solid var(--fg)}
.circuit-view .cs-matrix td.cs-most{font-weight:700;text-decoration:underline}
.cs-plane{display:block;width:100%;height:auto;overflow:visible}
.cs-plane text{fill:var(--soft);font-size:12px}
.cs-score{display:grid;grid-template-columns:9em 1fr 4em;gap:8px;align-items:center;font-size:13px}
.cs-score output{text-align:right;font-variant-numeric:tabular-nums}
.cs-line{position:relative;height:14px;border-bottom:1px solid var(--line)}
.cs-line i{position:absolute;top:0;bottom:0;min-width:1px}
.cs-line b{position:absolute;top:-2px;bottom:-3px;width:1px;background:var(--fg);left:50%}`;
  const SVG = "http://www.w3.org/2000/svg";
  const COLOURS = { up: [[178, 24, 43], [244, 165, 130]], down: [[33, 102, 172], [146, 197, 222]] };
  const SIZE = 260;

  function shape(name, attributes) {
    const made = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  }

  // data: words, copying and rest [output][source], and for each stop of s: stops, scores,
  // eigenvalues [[real, imaginary]].
  class Spectrum extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.stop = data.stops.length - 1;
      host.append(make("style", "", STYLE), this.slider());
      const columns = make("div", "cs-columns");
      const [left, right] = [make("div"), make("div")];
      left.append(this.matrix());
      left.append(make("div", "cv-note", "Column: the token looked at. Row: the output raised or lowered. Framed: the token itself. Bold and underlined: what the column raises most."));
      right.append(this.plane());
      right.append(make("div", "cv-note", "Each dot is an eigenvalue; faint dots are those at the other places of the slider."));
      columns.append(left, right);
      this.bars = [this.bar("score Σλ / Σ|λ|"), this.bar("raise themselves most")];
      host.append(columns, ...this.bars.map((bar) => bar.row), this.say);
      this.draw();
    }

    slider() {
      const row = make("label", "cs-slider");
      const input = make("input");
      input.type = "range";
      Object.assign(input, { min: 0, max: this.data.stops.length - 1, step: 1, value: this.stop });
      input.addEventListener("input", () => ((this.stop = Number(input.value)), this.draw()));
      this.input = input;
      this.value = make("output");
      row.append(make("span", "", "Copying part, s"), input, this.value);
      return row;
    }

    matrix() {
      const { words } = this.data;
      const table = make("table", "cs-matrix");
      const head = make("tr");
      const corner = make("td");
      corner.style.border = "0";
      const name = (word, scope) => Object.assign(make("th", "", word), { scope });
      head.append(corner, ...words.map((word) => name(word, "col")));
      this.cells = words.map((_, j) => words.map((_, i) => make("td", i === j ? "cs-own" : "")));
      const rows = this.cells.map((cells, j) => {
        const row = make("tr");
        row.append(name(words[j], "row"), ...cells);
        return row;
      });
      table.append(head, ...rows);
      return table;
    }

    plane() {
      const { eigenvalues } = this.data;
      const far = 1.1 * Math.max(...eigenvalues.flat().map(([re, im]) => Math.hypot(re, im)));
      this.at = ([re, im]) => ({ cx: (SIZE / 2) * (1 + re / far), cy: (SIZE / 2) * (1 - im / far) });
      const svg = shape("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "cs-plane", "aria-hidden": "true" });
      const axis = { stroke: "var(--line)" };
      const half = SIZE / 2;
      svg.append(shape("line", { x1: 0, x2: SIZE, y1: half, y2: half, ...axis }), shape("line", { y1: 0, y2: SIZE, x1: half, x2: half, ...axis }));
      const note = (text, x, y, anchor) => {
        const words = shape("text", { x, y, "text-anchor": anchor });
        words.textContent = text;
        svg.append(words);
      };
      note("negative", 0, half - 6, "start");
      note("positive", SIZE, half - 6, "end");
      note("imaginary", half + 5, 12, "start");
      eigenvalues.flat().forEach((value) => svg.append(shape("circle", { ...this.at(value), r: 1.5, fill: "var(--line)", opacity: 0.5 })));
      this.dots = eigenvalues[0].map(() => shape("circle", { r: 6, stroke: "var(--fg)", "stroke-width": 1.5 }));
      svg.append(...this.dots);
      return svg;
    }

    bar(text) {
      const bar = { row: make("div", "cs-score"), fill: make("i"), value: make("output") };
      const line = make("div", "cs-line");
      line.append(bar.fill, make("b"));
      bar.row.append(make("span", "", text), line, bar.value);
      return bar;
    }

    paint() {
      const { words, stops, scores, eigenvalues } = this.data;
      const s = stops[this.stop];
      const own = this.paintMatrix(s);
      const values = eigenvalues[this.stop];
      this.dots.forEach((dot, k) => {
        const [re, im] = values[k];
        const { cx, cy } = this.at(values[k]);
        dot.setAttribute("cx", cx);
        dot.setAttribute("cy", cy);
        dot.setAttribute("fill", im ? "var(--bg)" : `var(--${re < 0 ? "down" : "up"})`);
      });
      const score = scores[this.stop];
      this.paintBar(this.bars[0], score, score.toFixed(2));
      this.paintBar(this.bars[1], own / words.length, `${own} of ${words.length}`);
      this.value.textContent = s.toFixed(2);
      const real = values.filter(([, im]) => !im).map(([re]) => re);
      const count = [real.filter((re) => re > 0).length, real.filter((re) => re < 0).length, values.length - real.length];
      const zero = real.filter((re) => !re).length;
      const kinds = `${count[0]} positive, ${count[1]} negative, ${count[2]} complex` + (zero ? `, ${zero} zero` : "");
      this.input.setAttribute("aria-valuetext", `s ${s.toFixed(2)}, score ${score.toFixed(2)}`);
      this.say.textContent = `At s = ${s.toFixed(2)} the score is ${score.toFixed(2)} (eigenvalues: ${kinds}), and ${own} of ${words.length} tokens raise themselves most.`;
    }

    // Returns how many tokens raise themselves more than any other.
    paintMatrix(s) {
      const { copying, rest } = this.data;
      const now = copying.map((row, j) => row.map((part, i) => s * part + rest[j][i]));
      const most = Math.max(...copying.flatMap((row, j) => row.map((part, i) => Math.abs(part) + Math.abs(rest[j][i]))));
      const dark = isDark();
      let own = 0;
      now[0].forEach((_, i) => {
        const column = now.map((row) => row[i]);
        const first = column.indexOf(Math.max(...column));
        own += first === i;
        column.forEach((value, j) => {
          const cell = this.cells[j][i];
          const colour = blend(ground(dark), COLOURS[value < 0 ? "down" : "up"][Number(dark)], Math.abs(value) / most);
          cell.style.background = css(colour);
          cell.style.color = readableOn(colour);
          cell.textContent = value.toFixed(1).replace("-", "−");
          cell.classList.toggle("cs-most", j === first);
        });
      });
      return own;
    }

    paintBar(bar, value, text) {
      bar.fill.style.left = `${50 * (1 + Math.min(0, value))}%`;
      bar.fill.style.width = `${50 * Math.abs(value)}%`;
      bar.fill.style.background = `var(--${value < 0 ? "down" : "up"})`;
      bar.value.textContent = text.replace("-", "−");
    }
  }

  Circuits.views.register("spectrum", (host, data) => new Spectrum(host, data));
})();
