// The attention explorer: heads as thumbnails, tokens as text. Hovering shows one alone, a click keeps it.
// A classic script without dependencies, so that it also runs from file:// and inside the frame of a
// notebook; it may stand on a page more than once.
(function (root) {
  "use strict";
  const Circuits = (root.Circuits ??= {}); // the one global name of the book's scripts
  if (Circuits.attention) return Circuits.attention();

  const STYLE = `
.circuit-view{--bg:#fff;--fg:#1c2430;--soft:#5c6470;--line:#5c6470;--mark:#1c2430;color:var(--fg);background:var(--bg);
  font:14px/1.5 var(--type-words,system-ui,sans-serif);padding:10px;border-radius:6px;max-width:100%}
.circuit-view[data-dark]{--bg:#121212;--fg:#e8ecf1;--soft:#aab2bd;--line:#aab2bd;--mark:#e8ecf1}
.circuit-view *{box-sizing:border-box}
.circuit-view .cv-row{display:flex;gap:16px;flex-wrap:wrap;align-items:flex-start;margin-bottom:8px}
.circuit-view .cv-row>div{min-width:0;max-width:100%}
.circuit-view .cv-note{color:var(--soft);font-size:12px;margin:2px 0 4px}
.circuit-view .cv-title{width:27em;max-width:100%;min-height:3em}
.circuit-view button{font:inherit;color:inherit;background:none;border:1px solid transparent;padding:0;cursor:pointer;border-radius:3px}
.circuit-view :focus-visible{outline:2px solid var(--mark);outline-offset:1px}
.circuit-view .cv-heads{display:grid;gap:6px;overflow-x:auto;padding:4px}
.circuit-view .cv-head{position:relative;line-height:0;border:2px solid var(--line)!important;width:max-content}
.circuit-view .cv-head span{position:absolute;right:0;top:0;font:10px/1.3 var(--type-words,system-ui);padding:0 3px;background:var(--bg);border-bottom-left-radius:3px}
.circuit-view .cv-head canvas{width:var(--side);height:var(--side)}
.circuit-view .cv-head[aria-pressed=true]{box-shadow:0 0 0 3px var(--mark)}
.circuit-view .cv-dim canvas{opacity:.7}
.circuit-view .cv-tokens{font-family:var(--type-tokens,ui-monospace,monospace);line-height:1.9;overflow-wrap:anywhere;max-height:22em;overflow-y:auto;padding:3px}
.circuit-view .cv-token{white-space:pre;padding:1px 2px;margin-right:1px;border:1px solid transparent}
.circuit-view .cv-token.cv-focus{border-color:var(--fg)}
.circuit-view .cv-token[aria-pressed=true]{border:2px solid var(--mark)}
.circuit-view canvas.cv-all{border:1px solid var(--line);image-rendering:pixelated;max-width:100%;touch-action:manipulation}
.circuit-view .cv-say{min-height:3em;font-size:13px}
.circuit-view fieldset{display:inline-block;border:0;margin:0 18px 0 0;padding:0;font-size:13px}
.circuit-view fieldset label{margin-right:12px;font-size:13px}
.circuit-view legend{float:left;width:auto;margin:0 8px 0 0;color:var(--soft);font-size:13px}
.circuit-view button.cv-unlock{border-color:var(--line);padding:1px 8px;margin-left:8px;font-size:13px}
.circuit-view [hidden]{display:none!important}`;

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function isDark() {
    const html = document.documentElement;
    const body = document.body;
    const named = html.dataset.theme || html.getAttribute("theme") || body.dataset.theme;
    if (named === "dark" || body.dataset.jpThemeLight === "false") return true;
    if (named === "light" || body.dataset.jpThemeLight === "true") return false;
    if (/vscode-(dark|light)/.test(body.className)) return /vscode-dark/.test(body.className);
    return matchMedia("(prefers-color-scheme: dark)").matches;
  }

  // One observer for the whole page: none keeps a view alive that was taken out of it. At once, for a page that
  // is printed is light only for a moment.
  function redrawAll() {
    document.querySelectorAll(".circuit-view").forEach((host) => host.circuitView?.drawNow());
  }
  const attributeFilter = ["data-theme", "theme", "data-jp-theme-light", "class"];
  const observer = new MutationObserver(redrawAll);
  observer.observe(document.documentElement, { attributes: true, attributeFilter });
  observer.observe(document.body, { attributes: true, attributeFilter });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);

  const UP = [176, 18, 63];
  const ground = (dark) => (dark ? [18, 18, 18] : [255, 255, 255]);
  const css = (colour) => `rgb(${colour.map(Math.round).join(",")})`;

  // The colour of a head's layer; of a head without one, that of what is more than nothing.
  const LAYERS = [[[0, 104, 168], [184, 67, 0]], [[99, 184, 242], [255, 154, 92]]];
  const ofHead = (name, dark) => LAYERS[Number(dark)][/^(?:head )?([01])\./.exec(name)?.[1]] ?? UP;

  // Black or white, whichever has more contrast on a colour (WCAG relative luminance).
  function readableOn(colour) {
    const linear = colour.map((c) => (c / 255 <= 0.03928 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? "#000" : "#fff";
  }

  // Squares of `side` rows and columns on a canvas, which rows look at columns up to their own with:
  // `colour(row, column)`. Gives the small picture with one pixel for each.
  function squares(canvas, side, dark, colour) {
    const small = make("canvas");
    small.width = small.height = side;
    const pen = small.getContext("2d");
    const pixels = pen.createImageData(side, side);
    const future = ground(dark).map((c) => (c < 128 ? c + 16 : c - 15));
    for (let i = 0; i < side; i++)
      for (let j = 0; j < side; j++) pixels.data.set([...(j > i ? future : colour(i, j)), 255], (i * side + j) * 4);
    pen.putImageData(pixels, 0, 0);
    const target = canvas.getContext("2d");
    target.imageSmoothingEnabled = false;
    target.drawImage(small, 0, 0, canvas.width, canvas.height);
    return small;
  }

  function choice(name, options, onChange) {
    const box = make("fieldset");
    box.append(make("legend", "", name));
    const group = "cv" + Math.random().toString(36).slice(2);
    options.forEach((text, index) => {
      const label = make("label");
      const input = make("input");
      input.type = "radio";
      input.name = group;
      input.checked = index === 0;
      input.addEventListener("change", () => onChange(index));
      label.append(input, " ", make("span", "", text));
      box.append(label);
    });
    return box;
  }

  // In lines that the browser broke: how far from a button to the one above or below it.
  function upOrDown(all, at, sign) {
    const from = all[at];
    const beyond = all.filter((one) => sign * (one.offsetTop - from.offsetTop) > from.offsetHeight / 2);
    const line = sign * Math.min(...beyond.map((one) => sign * one.offsetTop));
    const aside = (one) => Math.abs(one.offsetLeft + one.offsetWidth / 2 - from.offsetLeft - from.offsetWidth / 2);
    const there = beyond.filter((one) => one.offsetTop === line).sort((a, b) => aside(a) - aside(b));
    return all.indexOf(there[0]) - at;
  }

  // Arrow keys move within a group of buttons that is one stop of the Tab key; without columns, up
  // and down go by line.
  function arrows(group, columns) {
    group.addEventListener("keydown", (event) => {
      const all = [...group.children];
      const at = all.indexOf(event.target);
      if (at < 0) return;
      const [up, down] = columns ? [-columns(), columns()] : [-1, 1].map((sign) => upOrDown(all, at, sign));
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: down, ArrowUp: up, Home: -at, End: all.length - 1 - at };
      const to = all[at + steps[event.key]];
      if (!to) return;
      event.preventDefault();
      event.target.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    });
  }

  async function inflate(base64) {
    const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  // Attention patterns as Python packs them: of each, the rows up to the diagonal, a byte an entry.
  async function triangles(packed, n, count) {
    const bytes = await inflate(packed);
    let at = 0;
    return Array.from({ length: count }, () => {
      const pattern = new Float32Array(n * n);
      for (let dst = 0; dst < n; dst++) for (let src = 0; src <= dst; src++) pattern[dst * n + src] = bytes[at++] / 255;
      return pattern;
    });
  }

  const TILE = 112; // pixels of a head's small picture, and the most that it takes with what is around it

  // data: label, tokens, heads (labels), columns, patterns: one Float32Array of n * n per head, rows are
  // destinations; norms: one list of n per head, or nothing; head and token: the indices of what is kept
  // from the start, or null.
  class Attention {
    constructor(host, data) {
      if (!document.getElementById("circuit-view-style")) {
        const style = make("style", "", STYLE);
        style.id = "circuit-view-style";
        document.head.append(style);
      }
      this.host = host;
      host.textContent = "";
      host.classList.add("circuit-view");
      host.setAttribute("role", "group");
      host.setAttribute("aria-label", data.label);
      this.say = make("div", "cv-say");
      this.say.setAttribute("aria-live", "polite");
      host.circuitView = this;
      host.setAttribute("data-lm-suppress-shortcuts", "true"); // arrows and Escape are ours, in JupyterLab
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

    draw() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.drawNow();
      });
    }

    drawNow() {
      this.host.toggleAttribute("data-dark", isDark());
      this.paint();
    }

    tokenButtons(tokens) {
      const group = make("div", "cv-tokens");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "Tokens");
      arrows(group);
      tokens.forEach((text, index) => {
        const button = make("button", "cv-token", text);
        button.type = "button";
        button.tabIndex = index ? -1 : 0;
        button.setAttribute("aria-label", `token ${index}: ${text}`);
        button.setAttribute("aria-pressed", "false");
        group.append(button);
      });
      return group;
    }

    // Looking at an element: by pointer, or by keyboard.
    onLook(element, look) {
      const start = () => look(true);
      const end = () => look(false);
      // A finger cannot hover: its tap keeps.
      element.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && start());
      element.addEventListener("pointerleave", end);
      element.addEventListener("focus", () => element.matches(":focus-visible") && start());
      element.addEventListener("blur", end);
    }
  }

  async function start(host) {
    const data = JSON.parse(host.querySelector("script").textContent);
    const patterns = await triangles(data.patterns, data.tokens.length, data.heads.length);
    return new Attention(host, { ...data, patterns });
  }

  function mount() {
    document.querySelectorAll(".circuit-view:not([data-mounted])").forEach((host) => {
      host.dataset.mounted = "";
      start(host).catch((error) => console.error(error)); // one bad view leaves the others alone
    });
  }

  Circuits.attention = mount;
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mount);
  else mount();
})(window);
