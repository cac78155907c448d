// One training under one slider: curves above each other, and what heads did at that moment.
(function () {
  "use strict";
  const { UP, View, blend, css, ground, isDark, make, readableOn, svg, triangles } = Circuits.views;

  const [WIDE, TALL, LEFT, RIGHT, TOP] = [420, 124, 34, 8, 20]; // of one panel, in its own units

  // data: x (its title), times, panels: [{name, lines: [{name, values}]}], tokens, heads, chances: one list
  // per moment (null where there is none), patterns: for each moment and head a Float32Array of n * n.
  class Formation extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.at = 0;
      const row = make("div", "cv-row");
      this.curves = make("div", "cv-panels");
      this.panels = data.panels.map((panel, i) => this.panel(panel, i));
      const beside = make("div", "cv-beside");
      this.pictures = data.heads.map((name) => this.picture(beside, name));
      row.append(this.curves, beside);
      beside.append(make("div", "cv-note", "Tokens: the redder, the likelier the model held it before it came"));
      this.tokens = make("div", "cv-tokens");
      this.tokens.append(...data.tokens.map((text) => make("span", "cv-token", text)));
      beside.append(this.tokens);
      host.append(this.slider("Moment of the training", data.times.length - 1), row, this.say);
      this.draw();
    }

    picture(parent, name) {
      parent.append(make("div", "cv-note", name));
      const canvas = make("canvas", "cv-all");
      canvas.width = canvas.height = 190;
      canvas.setAttribute("role", "img");
      parent.append(canvas);
      return canvas;
    }

    x(time) {
      const [first, last] = [this.data.times[0], this.data.times.at(-1)].map(Math.log);
      return LEFT + ((Math.log(time) - first) / (last - first || 1)) * (WIDE - LEFT - RIGHT);
    }

    panel({ name, lines }, index) {
      const last = index === this.data.panels.length - 1;
      const box = svg(this.curves, "svg", { viewBox: `0 0 ${WIDE} ${TALL + (last ? 30 : 6)}`, "aria-hidden": "true" });
      const all = lines.flatMap((line) => line.values);
      const high = Math.max(...all);
      const low = Math.min(...all) > 0.3 * high ? Math.min(...all) : Math.min(0, ...all); // a loss never nears 0
      const y = (value) => TALL - 4 - ((value - low) / (high - low || 1)) * (TALL - TOP - 8);
      svg(box, "text", { x: 0, y: 11, class: "cv-name" }, name);
      svg(box, "path", { d: `M${LEFT} ${y(Math.max(0, low))}H${WIDE - RIGHT}`, class: "cv-zero" });
      for (const value of [Math.max(0, low), high]) svg(box, "text", { x: LEFT - 4, y: y(value) + 4, "text-anchor": "end" }, +value.toPrecision(2));
      const made = lines.map((line, i) => {
        const points = line.values.map((value, k) => `${this.x(this.data.times[k]).toFixed(1)} ${y(value).toFixed(1)}`);
        svg(box, "path", { d: `M${points.join("L")}`, class: `cv-curve cv-curve-${i}` });
        return { line, dot: svg(box, "circle", { r: 3.5, class: `cv-dot cv-curve-${i}` }), y };
      });
      const cursor = svg(box, "path", { class: "cv-cursor" });
      const value = svg(box, "text", { x: WIDE - RIGHT, y: 11, "text-anchor": "end" });
      if (last) this.axis(box);
      box.addEventListener("pointerdown", (event) => this.nearest(event, box));
      box.addEventListener("pointermove", (event) => event.buttons && this.nearest(event, box));
      return { made, cursor, value };
    }

    axis(box) {
      for (let time = 0.25; time <= this.data.times.at(-1); time *= 2)
        if (time >= this.data.times[0]) svg(box, "text", { x: this.x(time), y: TALL + 10, "text-anchor": "middle" }, time);
      svg(box, "text", { x: (WIDE + LEFT) / 2, y: TALL + 24, "text-anchor": "middle" }, this.data.x);
    }

    nearest(event, panel) {
      const box = panel.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * WIDE;
      const far = this.data.times.map((time) => Math.abs(this.x(time) - place));
      this.at = far.indexOf(Math.min(...far));
      this.input.value = this.at;
      this.draw();
    }

    paint() {
      const { times, x, heads, patterns, chances } = this.data;
      const when = `${+times[this.at].toPrecision(3)} ${x}`;
      const said = [];
      for (const { made, cursor, value } of this.panels) {
        const place = this.x(times[this.at]);
        cursor.setAttribute("d", `M${place} ${TOP - 4}V${TALL}`);
        const now = made.map(({ line, dot, y }) => {
          dot.setAttribute("cx", place);
          dot.setAttribute("cy", y(line.values[this.at]));
          return `${line.name} ${line.values[this.at].toFixed(2)}`;
        });
        value.textContent = "";
        now.forEach((text, i) => svg(value, "tspan", { class: `cv-key-${i}` }, (i ? " · " : "") + text));
        said.push(now.join(", "));
      }
      heads.forEach((name, i) => {
        this.shade(this.pictures[i], patterns[this.at][i]);
        this.pictures[i].setAttribute("aria-label", `Attention of ${name} after ${when}`);
      });
      [...this.tokens.children].forEach((token, i) => {
        const colour = blend(ground(isDark()), UP, chances[this.at][i] ?? 0);
        token.style.background = css(colour);
        token.style.color = readableOn(colour);
      });
      this.input.setAttribute("aria-valuetext", when);
      this.say.textContent = `After ${when}: ${said.join("; ")}.`;
    }

    shade(canvas, pattern) {
      const pen = canvas.getContext("2d");
      const n = this.data.tokens.length;
      const step = canvas.width / n;
      const [paper, ink] = isDark() ? [[18, 18, 18], [255, 255, 255]] : [[255, 255, 255], [0, 0, 0]];
      for (let dst = 0; dst < n; dst++)
        for (let src = 0; src < n; src++) {
          pen.fillStyle = css(blend(paper, ink, src > dst ? 0.08 : pattern[dst * n + src]));
          pen.fillRect(src * step, dst * step, step + 0.5, step + 0.5);
        }
    }
  }

  Circuits.views.register("formation", async (host, data) => {
    const heads = data.heads.length;
    const flat = await triangles(data.patterns, data.tokens.length, data.times.length * heads);
    const patterns = data.times.map((_, k) => flat.slice(k * heads, (k + 1) * heads));
    return new Formation(host, { ...data, patterns });
  });
})();
