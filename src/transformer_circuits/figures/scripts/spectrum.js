// A small matrix from copying to anti-copying: a slider, the matrix, and its eigenvalues.
(function () {
  "use strict";
  const { DOWN, UP, View, blend, css, ground, isDark, make, readableOn, svg } = Circuits.views;

  const SIDE = 220;

  // data: tokens, copying and rest (rows of numbers), steps: [{s, eigenvalues: [[real, imaginary]]}].
  class Spectrum extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.at = data.steps.length - 1;
      const row = make("div", "cv-row");
      const left = make("div", "cv-narrow");
      left.append(make("div", "cv-note", "Columns: the token looked at. Rows: what it raises; the most of each column is framed"));
      this.grid = make("div", "cv-matrix");
      this.grid.style.gridTemplateColumns = `max-content repeat(${data.tokens.length}, 1fr)`;
      left.append(this.grid);
      const right = make("div", "cv-narrow");
      right.append(make("div", "cv-note", "Eigenvalues in the complex plane; across: the real part. Open: complex. Small: at other places of the slider"));
      this.plane = svg(right, "svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, width: SIDE, height: SIDE, "aria-hidden": "true" });
      this.most = Math.max(...data.steps.flatMap((step) => step.eigenvalues.map(([x, y]) => Math.hypot(x, y))));
      row.append(left, right);
      host.append(this.slider("From anti-copying to copying", data.steps.length - 1), row, this.say);
      this.draw();
    }

    matrix(s) {
      const { copying, rest } = this.data;
      return rest.map((row, i) => row.map((value, j) => value + s * copying[i][j]));
    }

    paint() {
      const { tokens, steps } = this.data;
      const { s, eigenvalues } = steps[this.at];
      const values = this.matrix(s);
      const most = Math.max(...values.flat().map(Math.abs));
      const first = tokens.map((_, j) => values.map((row) => row[j]).indexOf(Math.max(...values.map((row) => row[j]))));
      this.grid.replaceChildren(make("span"), ...tokens.map((token) => make("span", "cv-name", token)));
      values.forEach((row, i) => {
        this.grid.append(make("span", "cv-name", tokens[i]));
        row.forEach((value, j) => {
          const cell = make("span", first[j] === i ? "cv-first" : "", value.toFixed(1));
          const colour = blend(ground(isDark()), value < 0 ? DOWN : UP, Math.abs(value) / most);
          cell.style.background = css(colour);
          cell.style.color = readableOn(colour);
          this.grid.append(cell);
        });
      });
      this.dots(eigenvalues);
      const turning = eigenvalues.filter(([, y]) => y).length;
      const lowered = eigenvalues.filter(([x, y]) => !y && x < 0).length;
      const sum = eigenvalues.reduce((total, [x]) => total + x, 0);
      const size = eigenvalues.reduce((total, [x, y]) => total + Math.hypot(x, y), 0);
      const own = first.filter((i, j) => i === j).length;
      const raised = tokens.filter((_, j) => values[j][j] > 0).length;
      this.input.setAttribute("aria-valuetext", `${s.toFixed(2)} of the copying part`);
      this.say.textContent =
        `${s.toFixed(2)} of the copying part: score Σλ/Σ|λ| ${(sum / size).toFixed(2)}, with ${lowered} negative and ${turning} complex eigenvalues. ` +
        `${raised} of ${tokens.length} tokens raise themselves; ${own} of ${tokens.length} raise themselves most.`;
    }

    dots(eigenvalues) {
      this.plane.textContent = "";
      const [middle, scale] = [SIDE / 2, (SIDE / 2 - 10) / this.most];
      svg(this.plane, "path", { d: `M0 ${middle}H${SIDE}M${middle} 0V${SIDE}`, class: "cv-zero" });
      const dot = ([x, y], looks) => svg(this.plane, "circle", { cx: middle + scale * x, cy: middle - scale * y, ...looks });
      this.data.steps.forEach((step) => step.eigenvalues.forEach((value) => dot(value, { r: 1, fill: "var(--line)" })));
      eigenvalues.forEach((value) => {
        const side = value[0] < 0 ? "below" : "above";
        dot(value, { r: 5, class: value[1] ? `cv-${side} cv-open` : `cv-${side}` });
      });
    }
  }

  Circuits.views.register("spectrum", (host, data) => new Spectrum(host, data));
})();
