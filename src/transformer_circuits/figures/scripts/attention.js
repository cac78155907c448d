// The attention explorer: heads as thumbnails, tokens as text. Hovering shows one alone, a click keeps it.
(function () {
  "use strict";
  const { View, arrows, choice, css, ground, isDark, make, ofHead, readableOn, register, squares, triangles } = Circuits.views;

  const TILE = 112; // pixels of a head's small picture, and the most that it takes with what is around it

  // data: label, tokens, heads (labels), columns, patterns: one Float32Array of n * n per head, rows are
  // destinations; norms: one list of n per head, or nothing; head and token: the indices of what is kept
  // from the start, or null.
  class Attention extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.lockedHead = data.head;
      this.lockedToken = data.token;
      this.lookedHead = this.lookedToken = null;
      this.asSource = this.weighted = false;
      this.most = this.largest();
      this.build();
      this.draw();
    }

    build() {
      const row = make("div", "cv-row");
      const left = make("div");
      const right = make("div");
      this.title = make("div", "cv-note cv-title");
      this.all = make("canvas", "cv-all");
      this.all.width = this.all.height = 320;
      this.all.setAttribute("role", "img");
      left.append(this.title, this.all);
      this.heads = make("div", "cv-heads");
      this.heads.setAttribute("role", "group");
      this.heads.setAttribute("aria-label", "Heads");
      arrows(this.heads, () => this.layout().columns);
      this.fillHeads();
      new ResizeObserver(() => this.fit()).observe(this.host);
      right.append(make("div", "cv-note", "Heads: point at one to see it alone, click to keep it"), this.heads);
      row.append(left, right);
      this.tokens = this.tokenButtons(this.data.tokens);
      [...this.tokens.children].forEach((button, i) => this.hook(button, "Token", i));
      const controls = make("div");
      const weighing = choice("Show", ["attention", "value-weighted"], (i) => this.set("weighted", i === 1));
      weighing.hidden = !this.data.norms;
      controls.append(
        choice("Chosen token", ["looks at", "is looked at by"], (i) => this.set("asSource", i === 1)),
        weighing
      );
      this.unlock = make("button", "cv-unlock", "Unlock (Esc)");
      this.unlock.type = "button";
      this.unlock.addEventListener("click", () => this.free());
      controls.append(this.unlock);
      this.host.append(
        row,
        make("div", "cv-note", "Tokens: point at one, click to keep it; arrow keys move"),
        this.tokens,
        controls,
        this.say
      );
      this.host.addEventListener("keydown", (event) => event.key === "Escape" && this.free());
      this.all.addEventListener("pointermove", (event) => {
        if (event.pointerType !== "touch") this.set("lookedToken", this.tokenAt(event));
      });
      this.all.addEventListener("pointerleave", () => this.set("lookedToken", null));
      this.all.addEventListener("click", (event) => this.keep("Token", this.tokenAt(event)));
    }

    set(name, value) {
      if (this[name] === value) return;
      this[name] = value;
      this.draw();
    }

    free() {
      this.lockedHead = this.lockedToken = null;
      this.lookedHead = this.lookedToken = null;
      this.draw();
    }

    // Keep a head or a token, or let it go if it is kept.
    keep(kind, index) {
      const locked = "locked" + kind;
      this["looked" + kind] = null;
      this.set(locked, this[locked] === index ? null : index);
    }

    tokenAt(event) {
      const box = this.all.getBoundingClientRect();
      const n = this.data.tokens.length;
      const at = (from, length, value) => Math.max(0, Math.min(n - 1, Math.floor(((value - from) / length) * n)));
      const dst = at(box.top, box.height, event.clientY);
      const src = at(box.left, box.width, event.clientX);
      return this.asSource ? src : dst;
    }

    // Rows in which heads are as large as the room beside the large picture lets them be, or below it
    // on a phone. Every layer takes whole rows; a head has room to be touched.
    layout() {
      const inner = this.host.clientWidth - 30, beside = inner - this.all.width - 18;
      const [wide, high] = beside > 200 ? [beside, this.all.width] : [inner, 240];
      const n_layers = this.data.heads.length / this.data.columns;
      let best = { columns: 1, side: 0 };
      for (let rows = 1; rows <= this.data.columns; rows++) {
        if (this.data.columns % rows) continue;
        const columns = this.data.columns / rows;
        const side = Math.floor(Math.min(TILE, wide / columns, Math.max(46, high / (n_layers * rows)))) - 10;
        if (side > best.side) best = { columns, side };
      }
      return best;
    }

    fit() {
      const { columns, side } = this.layout();
      this.heads.style.gridTemplateColumns = `repeat(${columns}, max-content)`;
      this.heads.style.setProperty("--side", `${side}px`);
    }

    fillHeads() {
      this.fit();
      this.data.heads.forEach((name, index) => {
        const button = make("button", "cv-head");
        button.type = "button";
        button.tabIndex = index ? -1 : 0;
        const canvas = make("canvas");
        canvas.width = canvas.height = TILE;
        button.append(canvas, make("span", "", name));
        button.setAttribute("aria-label", "head " + name);
        this.heads.append(button);
        this.hook(button, "Head", index);
      });
    }

    hook(button, kind, index) {
      this.onLook(button, (on) => this.set("looked" + kind, on ? index : null));
      button.addEventListener("click", () => this.keep(kind, index));
    }

    largest() {
      const { norms, patterns, tokens } = this.data;
      if (!norms) return 1;
      let most = 1e-9;
      patterns.forEach((pattern, h) => {
        for (let i = 0; i < pattern.length; i++) most = Math.max(most, pattern[i] * norms[h][i % tokens.length]);
      });
      return most;
    }

    // Value shown for a head at a destination and a source: attention, or attention times ‖v‖.
    value(head, dst, src) {
      const { norms, patterns, tokens } = this.data;
      return patterns[head][dst * tokens.length + src] * (this.weighted ? norms[head][src] : 1);
    }

    // The colours of the heads' layers, each as strong as the head's value; scaled down where they sum to more than 1.
    colour(heads, valueOf) {
      let sum = 0;
      for (const h of heads) sum += valueOf(h);
      const share = 1 / Math.max(this.weighted ? this.most : 1, sum);
      const out = this.ground.slice();
      for (const h of heads) {
        const part = valueOf(h) * share;
        for (let k = 0; k < 3; k++) out[k] += part * (this.hues[h][k] - this.ground[k]);
      }
      return out;
    }

    // A picture of some heads; where a pixel stands for several cells it shows the largest.
    image(canvas, heads) {
      const n = this.data.tokens.length;
      const step = Math.ceil(n / canvas.width);
      return squares(canvas, Math.ceil(n / step), isDark(), (i, j) =>
        this.colour(heads, (h) => this.pooled(h, i * step, j * step, step)));
    }

    pooled(head, dst, src, step) {
      const n = this.data.tokens.length;
      let most = 0;
      for (let i = dst; i < Math.min(n, dst + step); i++)
        for (let j = src; j < Math.min(n, src + step); j++) most = Math.max(most, this.value(head, i, j));
      return most;
    }

    paint() {
      const dark = isDark();
      const all = this.data.heads.map((_, h) => h);
      const head = this.lookedHead ?? this.lockedHead;
      const token = this.lookedToken ?? this.lockedToken;
      this.unlock.hidden = this.lockedHead === null && this.lockedToken === null;
      const state = `${dark} ${this.weighted}`;
      if (this.drawn !== state) {
        this.pictures = new Map();
        this.ground = ground(dark);
        this.hues = all.map((h) => ofHead(this.data.heads[h], dark));
        [...this.heads.children].forEach((button, h) => {
          this.image(button.firstChild, [h]);
          button.style.setProperty("border-color", css(this.hues[h]), "important");
        });
        this.drawn = state;
      }
      [...this.heads.children].forEach((button, h) => {
        button.classList.toggle("cv-dim", head !== null && head !== h);
        button.setAttribute("aria-pressed", String(this.lockedHead === h));
      });
      const shown = head === null ? all : [head];
      this.paintAll(shown, head, token, dark);
      this.paintTokens(shown, token);
      this.say.textContent = token === null ? "" : this.sentence(shown, token);
    }

    paintAll(shown, head, token, dark) {
      if (this.pictures.has(head)) {
        const pen = this.all.getContext("2d");
        pen.imageSmoothingEnabled = false;
        pen.drawImage(this.pictures.get(head), 0, 0, this.all.width, this.all.height);
      } else this.pictures.set(head, this.image(this.all, shown));
      const what = this.weighted ? "Value-weighted attention" : "Attention";
      const whose = head === null ? "all heads (grey: many of them)" : "head " + this.data.heads[head];
      this.title.textContent = `${what}, ${whose}: each row looks at its columns`;
      this.all.setAttribute("aria-label", this.title.textContent);
      if (token === null) return;
      const pen = this.all.getContext("2d");
      const step = this.all.width / this.data.tokens.length;
      pen.strokeStyle = dark ? "#e8ecf1" : "#1c2430";
      pen.lineWidth = 1.5;
      if (this.asSource) pen.strokeRect(token * step, token * step, step, this.all.height - token * step);
      else pen.strokeRect(0, token * step, (token + 1) * step, step);
    }

    paintTokens(shown, token) {
      const valueAt = (i) => {
        if (token === null) return (h) => (shown.length > 1 ? 0 : this.strongest(h, i));
        const [dst, src] = this.asSource ? [i, token] : [token, i];
        return (h) => (src <= dst ? this.value(h, dst, src) : 0);
      };
      [...this.tokens.children].forEach((button, i) => {
        const colour = this.colour(shown, valueAt(i));
        button.style.background = css(colour);
        button.style.color = readableOn(colour);
        button.classList.toggle("cv-focus", i === token);
        button.setAttribute("aria-pressed", String(this.lockedToken === i));
      });
    }

    // The most attention that a later token pays to a source.
    strongest(head, src) {
      const known = (this.pictures.strongest ??= new Map());
      const key = head * this.data.tokens.length + src;
      if (!known.has(key)) {
        let most = 0;
        for (let dst = src + 1; dst < this.data.tokens.length; dst++) most = Math.max(most, this.value(head, dst, src));
        known.set(key, most);
      }
      return known.get(key);
    }

    sentence(shown, token) {
      const { tokens, heads } = this.data;
      const found = [];
      for (let other = 0; other < tokens.length; other++) {
        const [dst, src] = this.asSource ? [other, token] : [token, other];
        if (src > dst) continue;
        for (const h of shown) found.push([this.value(h, dst, src), other, h]);
      }
      found.sort((a, b) => b[0] - a[0]);
      const name = (i) => `“${tokens[i]}” (${i})`;
      const most = found.slice(0, 3).map(([value, other, h]) => {
        return `${name(other)} ${value.toFixed(2)}` + (shown.length > 1 ? ` in head ${heads[h]}` : "");
      });
      const [by, at] = this.weighted
        ? ["is moved most to", "moves most from"]
        : ["is looked at most by", "looks most at"];
      const unit = this.weighted ? " (attention × length of value)" : "";
      return `${name(token)} ${this.asSource ? by : at} ${most.join(", ")}${unit}`;
    }
  }

  register("attention", async (host, data) => {
    const patterns = await triangles(data.patterns, data.tokens.length, data.heads.length);
    return new Attention(host, { ...data, patterns });
  });
})();
