// Moments of a training: one slider moves a cursor through all curves, and the picture of a head.
(function () {
  "use strict";
  const { View, blend, css, ground, isDark, make, readableOn, register, triangles } = Circuits.views;

  const HIGH = 74; // of a chart without its title [pixels]
  const TITLE = 20;
  const LEFT = 34; // room for the numbers of the axis
  const RIGHT = 10;
  const STEP = 600; // of the play button [milliseconds]
  const PICTURE = 240;

  function draw(tag, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  const short = (value) => (Math.abs(value) < 0.01 ? Number(value.toPrecision(2)) : value.toFixed(2));
  const rgb = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));

  // data: times, x (their name), charts: [{title, curves: [{name, values}], faint: [values]}],
  // colours: {name: [light, dark]}, head, tokens, patterns: a Float32Array for each moment,
  // probabilities: for each moment one number per token but the first.
  class Moments extends View {
    constructor(host, data) {
      const table = host.firstElementChild;
      super(host, data.label);
      this.data = data;
      this.at = Math.floor(data.times.length / 2);
      this.chosen = data.tokens.length - 2;
      const row = make("div", "cv-row");
      row.append(this.left(), this.right());
      const numbers = make("details");
      numbers.append(make("summary", "cv-note", "All numbers as a table"), table);
      host.append(this.controls(), row, this.say, numbers);
      new ResizeObserver(() => this.draw()).observe(host);
      this.draw();
    }

    controls() {
      const box = make("div", "cv-slide");
      const label = make("label", "", "Moment ");
      this.slider = make("input");
      this.slider.type = "range";
      this.slider.max = this.data.times.length - 1;
      this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
      label.append(this.slider);
      this.now = make("output");
      this.button = make("button", "cv-unlock", "Play");
      this.button.type = "button";
      this.button.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
      this.button.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
      box.append(label, this.now, this.button);
      return box;
    }

    left() {
      const box = make("div", "cv-charts");
      this.svg = draw("svg", { role: "img", "aria-label": "Curves along the training, one above the other" });
      const drag = (event) => event.buttons && this.go(this.nearest(event));
      this.svg.addEventListener("pointerdown", drag);
      this.svg.addEventListener("pointermove", drag);
      box.append(this.svg);
      return box;
    }

    right() {
      const box = make("div", "cv-beside");
      this.picture = make("canvas", "cv-all");
      this.picture.width = this.picture.height = PICTURE;
      this.picture.setAttribute("role", "img");
      this.picture.addEventListener("click", (event) => {
        const { top, height } = this.picture.getBoundingClientRect();
        const n = this.data.tokens.length;
        this.choose(Math.min(n - 1, Math.floor(((event.clientY - top) / height) * n)));
      });
      const { head, tokens } = this.data;
      this.tokens = this.tokenButtons(tokens);
      [...this.tokens.children].forEach((button, i) => button.addEventListener("click", () => this.choose(i)));
      box.append(
        make("div", "cv-note", `Attention of head ${head}: each row looks at its columns`),
        this.picture,
        make("div", "cv-note", "Tokens, shaded by the probability that each had before it came; choose one to look from"),
        this.tokens
      );
      return box;
    }

    go(moment, playing = false) {
      if (!playing) this.stop();
      this.at = moment;
      this.draw();
    }

    choose(token) {
      this.chosen = token;
      this.draw();
    }

    play() {
      const last = this.data.times.length - 1;
      this.button.textContent = "Stop";
      this.say.setAttribute("aria-live", "off"); // nobody wants every moment read aloud
      if (this.at === last) this.go(0, true);
      this.timer = setInterval(() => {
        if (this.at === last || !this.host.isConnected) this.stop();
        else this.go(this.at + 1, true);
      }, STEP);
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.button.textContent = "Play";
      this.say.setAttribute("aria-live", "polite");
    }

    x(time) {
      const { times } = this.data;
      const along = Math.log(time / times[0]) / Math.log(times[times.length - 1] / times[0]);
      return LEFT + along * (this.wide - LEFT - RIGHT);
    }

    nearest(event) {
      const x = event.clientX - this.svg.getBoundingClientRect().left;
      const far = this.data.times.map((time) => Math.abs(this.x(time) - x));
      return far.indexOf(Math.min(...far));
    }

    paint() {
      const { charts, times } = this.data;
      this.dark = isDark();
      this.wide = Math.max(260, this.svg.parentElement.clientWidth);
      const high = charts.length * (TITLE + HIGH);
      this.svg.replaceChildren();
      this.svg.setAttribute("width", this.wide);
      this.svg.setAttribute("height", high + 38);
      charts.forEach((chart, k) => this.chart(chart, k * (TITLE + HIGH) + TITLE));
      this.axis(high);
      const here = this.x(times[this.at]);
      this.line({ x1: here, x2: here, y1: TITLE, y2: high, stroke: "var(--mark)", "stroke-width": 1.5 });
      charts.forEach((chart, k) => this.values(chart, k * (TITLE + HIGH) + TITLE, here));
      this.slider.value = this.at;
      this.now.textContent = `${times[this.at]} ${this.data.x}`;
      this.slider.setAttribute("aria-valuetext", this.now.textContent);
      this.paintPicture();
      this.paintTokens();
      this.say.textContent = this.sentence();
    }

    line(attributes) {
      this.svg.append(draw("line", { stroke: "var(--line)", ...attributes }));
    }

    text(x, y, words, attributes = {}) {
      this.svg.append(draw("text", { x, y, "font-size": 12, fill: "var(--soft)", ...attributes }, words));
    }

    // Where a value lies in a chart whose upper edge is at `top`. [pixels]
    y(chart, top, value) {
      const [low, most] = this.range(chart);
      return top + 4 + (1 - (value - low) / (most - low || 1)) * (HIGH - 8);
    }

    range({ curves, faint }) {
      const all = [...curves.map((curve) => curve.values), ...faint].flat();
      return [Math.min(0, ...all), Math.max(0, ...all)];
    }

    chart(chart, top) {
      const end = this.wide - RIGHT;
      this.text(0, top - 6, chart.title, { fill: "var(--fg)" });
      const [low, most] = this.range(chart);
      for (const value of low < 0 ? [low, 0, most] : [0, most]) {
        const y = this.y(chart, top, value);
        this.line({ x1: LEFT, x2: end, y1: y, y2: y, "stroke-width": 0.5 });
        this.text(LEFT - 5, y + 4, short(value), { "text-anchor": "end", "font-size": 11 });
      }
      for (const values of chart.faint) this.curve(chart, top, values, "var(--soft)", 0.6);
      for (const { name, values } of chart.curves) this.curve(chart, top, values, this.colour(name), 2);
    }

    colour(name) {
      return this.data.colours[name][Number(this.dark)];
    }

    curve(chart, top, values, stroke, width) {
      const points = values.map((v, k) => `${this.x(this.data.times[k])},${this.y(chart, top, v)}`).join(" ");
      this.svg.append(draw("polyline", { points, stroke, "stroke-width": width, fill: "none" }));
    }

    axis(high) {
      const { times, x } = this.data;
      for (let power = Math.floor(Math.log10(times[0])); 10 ** power <= times[times.length - 1]; power++) {
        for (const digit of [1, 2, 5]) {
          const tick = Number((digit * 10 ** power).toPrecision(1));
          if (tick < times[0] || tick > times[times.length - 1]) continue;
          this.line({ x1: this.x(tick), x2: this.x(tick), y1: high, y2: high + 4 });
          this.text(this.x(tick), high + 16, tick, { "text-anchor": "middle", "font-size": 11 });
        }
      }
      this.text(LEFT, high + 33, x);
    }

    // A dot on each curve and its value beside it; words that would meet are moved apart.
    values(chart, top, here) {
      const right = here < this.wide * 0.6;
      const rows = chart.curves.map(({ name, values }) => ({ name, value: values[this.at] }));
      rows.sort((a, b) => b.value - a.value);
      let above = top;
      const lines = rows.map((row, k) => {
        const y = this.y(chart, top, row.value);
        const least = above + 10;
        const most = top + HIGH - 2 - 13 * (rows.length - 1 - k);
        above = Math.min(most, Math.max(least, y + 4)) + 3;
        return { ...row, y, words: above - 3 };
      });
      for (const { name, value, y, words } of lines) {
        this.svg.append(draw("circle", { cx: here, cy: y, r: 3.5, fill: this.colour(name) }));
        this.text(here + (right ? 8 : -8), words, `${name} ${short(value)}`, {
          "text-anchor": right ? "start" : "end", fill: this.colour(name), "font-weight": 600,
          stroke: "var(--bg)", "stroke-width": 4, "paint-order": "stroke",
        });
      }
    }

    paintPicture() {
      const n = this.data.tokens.length;
      const pen = this.picture.getContext("2d");
      const cell = PICTURE / n;
      const page = ground(this.dark);
      const full = rgb(this.dark ? "#ffffff" : "#000000");
      const pattern = this.data.patterns[this.at];
      const edge = (k) => Math.round(k * cell);
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          pen.fillStyle = css(j > i ? blend(page, full, 0.06) : blend(page, full, pattern[i * n + j]));
          pen.fillRect(edge(j), edge(i), edge(j + 1) - edge(j), edge(i + 1) - edge(i));
        }
      }
      pen.strokeStyle = getComputedStyle(this.host).getPropertyValue("--mark");
      pen.lineWidth = 1.5;
      pen.strokeRect(1, this.chosen * cell, (this.chosen + 1) * cell - 1, cell);
      this.picture.setAttribute("aria-label", this.look());
    }

    paintTokens() {
      const full = rgb(this.dark ? "#ffffff" : "#000000");
      const chances = this.data.probabilities[this.at];
      [...this.tokens.children].forEach((button, i) => {
        const colour = blend(ground(this.dark), full, i ? chances[i - 1] : 0);
        button.style.background = css(colour);
        button.style.color = readableOn(colour);
        button.setAttribute("aria-pressed", String(i === this.chosen));
      });
    }

    look() {
      const { head, patterns, tokens } = this.data;
      const n = tokens.length;
      const row = [...patterns[this.at].slice(this.chosen * n, this.chosen * n + this.chosen + 1)];
      const source = row.indexOf(Math.max(...row));
      const name = (i) => `“${tokens[i]}” (${i})`;
      return `From ${name(this.chosen)}, head ${head} looks most at ${name(source)}: ${row[source].toFixed(2)}.`;
    }

    sentence() {
      const { charts, probabilities, tokens } = this.data;
      const next = tokens[this.chosen + 1];
      const chance = probabilities[this.at][this.chosen];
      const values = charts.flatMap(({ curves }) => curves.map(({ name, values }) => `${name} ${short(values[this.at])}`));
      const comes = next === undefined ? "" : ` What really comes next, “${next}”, has probability ${short(chance)}.`;
      return `At ${this.now.textContent}: ${values.join(", ")}. ${this.look()}${comes}`;
    }
  }

  register("moments", async (host, data) => {
    const patterns = await triangles(data.patterns, data.times.length, data.tokens.length);
    return new Moments(host, { ...data, patterns });
  });
})();
