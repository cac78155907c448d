// Views of tokens and attention. A classic script without dependencies, so that it also runs from
// file:// and inside the frame of a notebook; it may stand on a page more than once.
(function (root) {
  "use strict";
  if (root.CircuitViews) {
    root.CircuitViews.mount();
    return;
  }

  const STYLE = `
.circuit-view{--bg:#fff;--fg:#222;--soft:#555;--line:#767676;--mark:#0b57d0;color:var(--fg);background:var(--bg);
  font:14px/1.5 system-ui,sans-serif;padding:10px;border-radius:6px;max-width:100%}
.circuit-view[data-dark]{--bg:#14181e;--fg:#e8e8e8;--soft:#b0b4ba;--line:#8b949e;--mark:#8ab4f8}
.circuit-view *{box-sizing:border-box}
.circuit-view .cv-row{display:flex;gap:16px;flex-wrap:wrap;align-items:flex-start;margin-bottom:8px}
.circuit-view .cv-row>div{min-width:0;max-width:100%}
.circuit-view .cv-note{color:var(--soft);font-size:12px;margin:2px 0 4px}
.circuit-view button{font:inherit;color:inherit;background:none;border:1px solid transparent;padding:0;cursor:pointer;border-radius:3px}
.circuit-view :focus-visible{outline:2px solid var(--mark);outline-offset:1px}
.circuit-view .cv-heads{display:grid;gap:6px;overflow-x:auto;padding:4px}
.circuit-view .cv-head{position:relative;line-height:0;border:2px solid var(--line)!important;width:max-content}
.circuit-view .cv-head span{position:absolute;right:0;top:0;font:10px/1.3 system-ui;padding:0 3px;background:var(--bg);border-bottom-left-radius:3px}
.circuit-view .cv-head[aria-pressed=true]{box-shadow:0 0 0 3px var(--mark)}
.circuit-view .cv-dim canvas{opacity:.3}
.circuit-view .cv-tokens{font-family:ui-monospace,monospace;line-height:1.9;overflow-wrap:anywhere;max-height:22em;overflow-y:auto;padding:3px}
.circuit-view .cv-token{white-space:pre;padding:1px 2px;margin-right:1px;border:1px solid transparent}
.circuit-view .cv-token.cv-focus{border-color:var(--fg)}
.circuit-view .cv-token[aria-pressed=true]{border:2px solid var(--mark)}
.circuit-view canvas.cv-all{border:1px solid var(--line);image-rendering:pixelated;max-width:100%;touch-action:manipulation}
.circuit-view .cv-say{min-height:3em;font-size:13px}
.circuit-view .cv-filter+.cv-say{min-height:0}
.circuit-view fieldset{display:inline-block;border:0;margin:0 18px 0 0;padding:0;font-size:13px}
.circuit-view fieldset label,.circuit-view .cv-filter label{margin-right:12px;font-size:13px}
.circuit-view legend{float:left;width:auto;margin:0 8px 0 0;color:var(--soft);font-size:13px}
.circuit-view button.cv-unlock{border-color:var(--line);padding:1px 8px;margin-left:8px;font-size:13px}
.circuit-view select,.circuit-view input[type=search]{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--line);border-radius:3px;padding:1px 4px}
.circuit-view .cv-scale{display:inline-block;width:120px;height:10px;border:1px solid var(--line);vertical-align:middle;margin:0 6px}
.circuit-view [hidden]{display:none!important}`;

  // --- small things -------------------------------------------------------------------------------

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

  function whenThemeChanges(redraw) {
    const attributeFilter = ["data-theme", "theme", "data-jp-theme-light"];
    const observer = new MutationObserver(redraw);
    observer.observe(document.documentElement, { attributes: true, attributeFilter });
    observer.observe(document.body, { attributes: true, attributeFilter });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  const ground = (dark) => (dark ? [20, 24, 30] : [255, 255, 255]);
  const css = (colour) => `rgb(${colour.map(Math.round).join(",")})`;
  const blend = (from, to, share) => from.map((c, k) => c + Math.min(1, share) * (to[k] - c));

  function hue(index, count, dark) {
    const light = dark ? 0.62 : 0.45;
    return [0, 8, 4].map((offset) => {
      const k = (offset + (index * 12) / count) % 12;
      return 255 * (light - 0.75 * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
    });
  }

  // Black or white, whichever has more contrast on a colour (WCAG relative luminance).
  function readableOn(colour) {
    const linear = colour.map((c) => (c / 255 <= 0.03928 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? "#000" : "#fff";
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
      label.append(input, " " + text);
      box.append(label);
    });
    return box;
  }

  // Arrow keys move within a group of buttons that is one stop of the Tab key.
  function arrows(group, columns) {
    group.addEventListener("keydown", (event) => {
      const all = [...group.children];
      const at = all.indexOf(event.target);
      const wide = columns();
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: wide, ArrowUp: -wide, Home: -at, End: all.length - 1 - at };
      const to = all[at + steps[event.key]];
      if (at < 0 || !to) return;
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

  class View {
    constructor(host, label) {
      if (!document.getElementById("circuit-view-style")) {
        const style = make("style", "", STYLE);
        style.id = "circuit-view-style";
        document.head.append(style);
      }
      this.host = host;
      host.textContent = "";
      host.classList.add("circuit-view");
      host.setAttribute("role", "group");
      host.setAttribute("aria-label", label);
      this.say = make("div", "cv-say");
      this.say.setAttribute("aria-live", "polite");
      whenThemeChanges(() => this.draw());
    }

    draw() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.host.toggleAttribute("data-dark", isDark());
        this.paint();
      });
    }

    tokenButtons(tokens) {
      const group = make("div", "cv-tokens");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "Tokens");
      arrows(group, () => 1);
      this.fillTokens(group, tokens);
      return group;
    }

    fillTokens(group, tokens) {
      group.textContent = "";
      tokens.forEach((text, index) => {
        const button = make("button", "cv-token", text);
        button.type = "button";
        button.tabIndex = index ? -1 : 0;
        button.setAttribute("aria-label", `token ${index}: ${text}`);
        button.setAttribute("aria-pressed", "false");
        group.append(button);
      });
    }

    // Looking at an element: by pointer, or by keyboard.
    onLook(element, look) {
      const start = () => look(true);
      const end = () => look(false);
      element.addEventListener("mouseenter", start);
      element.addEventListener("mouseleave", end);
      element.addEventListener("focus", () => element.matches(":focus-visible") && start());
      element.addEventListener("blur", end);
    }
  }

  // --- attention ----------------------------------------------------------------------------------

  // data: tokens, heads (labels), columns, patterns: one Float32Array of n * n per head, rows are
  // destinations; norms (optional): one Float32Array of n per head.
  class Attention extends View {
    constructor(host, data, options = {}) {
      super(host, options.label || "Attention");
      this.options = options;
      this.lockedHead = this.lockedToken = this.lookedHead = this.lookedToken = null;
      this.asSource = this.weighted = false;
      this.build();
      this.update(data);
    }

    build() {
      const row = make("div", "cv-row");
      const left = make("div");
      const right = make("div");
      this.title = make("div", "cv-note");
      this.all = make("canvas", "cv-all");
      this.all.width = this.all.height = 260;
      this.all.setAttribute("role", "img");
      left.append(this.title, this.all);
      this.heads = make("div", "cv-heads");
      this.heads.setAttribute("role", "group");
      this.heads.setAttribute("aria-label", "Heads");
      arrows(this.heads, () => this.data.columns);
      right.append(make("div", "cv-note", "Heads: point at one to see it alone, click to keep it"), this.heads);
      row.append(left, right);
      this.tokens = this.tokenButtons([]);
      const controls = make("div");
      this.weighing = choice("Show", ["attention", "value-weighted"], (i) => this.set("weighted", i === 1));
      controls.append(
        choice("Chosen token", ["looks at", "is looked at by"], (i) => this.set("asSource", i === 1)),
        this.weighing
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
      this.all.addEventListener("mousemove", (event) => this.pointAtCell(event));
      this.all.addEventListener("mouseleave", () => this.set("lookedToken", null));
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

    pointAtCell(event) {
      const box = this.all.getBoundingClientRect();
      const n = this.data.tokens.length;
      const at = (from, length, value) => Math.max(0, Math.min(n - 1, Math.floor(((value - from) / length) * n)));
      const dst = at(box.top, box.height, event.clientY);
      const src = at(box.left, box.width, event.clientX);
      this.set("lookedToken", this.asSource ? src : dst);
    }

    update(data) {
      const redo = !this.data || this.data.heads.join() !== data.heads.join();
      this.data = data;
      this.weighing.hidden = !data.norms;
      this.most = this.largest();
      this.drawn = null;
      if (this.lockedToken >= data.tokens.length) this.lockedToken = null;
      this.lookedToken = null;
      if (redo) this.fillHeads();
      this.fillTokens(this.tokens, data.tokens);
      [...this.tokens.children].forEach((button, i) => this.hook(button, "Token", i));
      this.draw();
    }

    fillHeads() {
      this.heads.textContent = "";
      this.heads.style.gridTemplateColumns = `repeat(${this.data.columns}, max-content)`;
      this.data.heads.forEach((name, index) => {
        const button = make("button", "cv-head");
        button.type = "button";
        button.tabIndex = index ? -1 : 0;
        const canvas = make("canvas");
        canvas.width = canvas.height = 36;
        button.append(canvas, make("span", "", name));
        button.setAttribute("aria-label", "head " + name);
        this.heads.append(button);
        this.hook(button, "Head", index);
      });
    }

    hook(button, kind, index) {
      this.onLook(button, (on) => this.set("looked" + kind, on ? index : null));
      const locked = "locked" + kind;
      button.addEventListener("click", () => this.set(locked, this[locked] === index ? null : index));
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

    // What is shown of a head at a destination and a source, and the same as a share of the darkest.
    value(head, dst, src) {
      const { norms, patterns, tokens } = this.data;
      return patterns[head][dst * tokens.length + src] * (this.weighted ? norms[head][src] : 1);
    }

    // The heads' hues, each as strong as the head's value; more than 1 together is shared out.
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
      const side = Math.ceil(n / step);
      const small = make("canvas");
      small.width = small.height = side;
      const pen = small.getContext("2d");
      const pixels = pen.createImageData(side, side);
      const future = this.ground.map((c) => (c < 128 ? c + 16 : c - 15));
      for (let i = 0; i < side; i++) {
        for (let j = 0; j < side; j++) {
          const colour = j > i ? future : this.colour(heads, (h) => this.pooled(h, i * step, j * step, step));
          const at = (i * side + j) * 4;
          for (let k = 0; k < 3; k++) pixels.data[at + k] = colour[k];
          pixels.data[at + 3] = 255;
        }
      }
      pen.putImageData(pixels, 0, 0);
      const target = canvas.getContext("2d");
      target.imageSmoothingEnabled = false;
      target.drawImage(small, 0, 0, canvas.width, canvas.height);
      return small;
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
        this.hues = all.map((h) => hue(h, all.length, dark));
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
      if (this.options.onFocus) this.options.onFocus(token, head);
    }

    paintAll(shown, head, token, dark) {
      if (!this.data.tokens.length) return;
      if (this.pictures.has(head)) {
        const pen = this.all.getContext("2d");
        pen.imageSmoothingEnabled = false;
        pen.drawImage(this.pictures.get(head), 0, 0, this.all.width, this.all.height);
      } else this.pictures.set(head, this.image(this.all, shown));
      const what = this.weighted ? "Value-weighted attention" : "Attention";
      const whose = head === null ? "all heads" : "head " + this.data.heads[head];
      this.title.textContent = `${what}, ${whose}: each row looks at its columns`;
      this.all.setAttribute("aria-label", this.title.textContent);
      if (token === null) return;
      const pen = this.all.getContext("2d");
      const step = this.all.width / this.data.tokens.length;
      pen.strokeStyle = dark ? "#8ab4f8" : "#0b57d0";
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
      return `${name(token)} ${this.asSource ? "is looked at most by" : "looks most at"} ${most.join(", ")}`;
    }
  }

  async function attention(host, data) {
    const n = data.tokens.length;
    const bytes = await inflate(data.patterns);
    let at = 0;
    const patterns = data.heads.map(() => {
      const pattern = new Float32Array(n * n);
      for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) pattern[i * n + j] = bytes[at++] / 255;
      return pattern;
    });
    return new Attention(host, { ...data, patterns }, { label: data.label });
  }

  // --- values on tokens ---------------------------------------------------------------------------

  const BLUE = [33, 102, 172];
  const RED = [178, 24, 43];

  // data: tokens, values: {name: one number per token}, unit, label.
  class Tokens extends View {
    constructor(host, data) {
      super(host, data.label);
      this.controls = make("div");
      this.scale = make("span", "cv-note");
      this.tokens = this.tokenButtons([]);
      host.append(this.controls, this.tokens, this.say);
      this.update(data);
    }

    update(data) {
      const names = Object.keys(data.values);
      if (names.join() !== this.names?.join()) {
        this.names = names;
        this.row = names[0];
        const pick = (i) => ((this.row = names[i]), this.draw());
        this.controls.replaceChildren(...(names.length > 1 ? [choice("Show", names, pick)] : []), this.scale);
      }
      if (data.tokens.join("\n") !== this.data?.tokens.join("\n")) {
        this.looked = null;
        this.fillTokens(this.tokens, data.tokens);
        [...this.tokens.children].forEach((button, i) => {
          button.removeAttribute("aria-pressed");
          this.onLook(button, (on) => ((this.looked = on ? i : null), this.draw()));
          button.addEventListener("click", () => ((this.looked = i), this.draw()));
        });
      }
      this.data = data;
      this.draw();
    }

    paint() {
      const dark = isDark();
      const values = this.data.values[this.row];
      const known = values.filter((v) => v !== null);
      const signed = Math.min(...known) < 0;
      const most = Math.max(...known.map(Math.abs)) || 1;
      const full = (v) => blend(v < 0 ? BLUE : RED, [255, 255, 255], dark ? 0.15 : 0);
      const colour = (v) => blend(ground(dark), full(v), Math.abs(v) / most);
      const ends = [signed ? -most : 0, most];
      const ramp = [ends[0], signed ? 0 : most / 2, most].map((v) => css(colour(v))).join(",");
      const bar = make("span", "cv-scale");
      bar.style.background = `linear-gradient(to right, ${ramp})`;
      this.scale.replaceChildren(ends[0].toFixed(signed ? 2 : 0), bar, `${most.toFixed(2)} ${this.data.unit}`);
      [...this.tokens.children].forEach((button, i) => {
        const c = values[i] === null ? ground(dark) : colour(values[i]);
        button.style.background = css(c);
        button.style.color = readableOn(c);
        button.setAttribute("aria-label", this.sentence(i));
        button.classList.toggle("cv-focus", i === this.looked);
      });
      this.say.textContent = this.looked === null ? "" : this.sentence(this.looked);
    }

    sentence(i) {
      const said = this.names.map((name) => {
        const value = this.data.values[name][i];
        return `${name} ${value === null ? "not defined" : value.toFixed(2) + " " + this.data.unit}`;
      });
      return `“${this.data.tokens[i]}” (${i}): ${said.join(", ")}`;
    }
  }

  // --- a table that can be filtered ---------------------------------------------------------------

  // data: heads (their names), of: the head of each row, words: what each row is searched for.
  class Trigrams extends View {
    constructor(host, data) {
      const table = host.firstElementChild;
      super(host, data.label);
      this.data = data;
      this.rows = [...table.querySelector("tbody").rows];
      this.head = make("select");
      this.head.append(new Option("every head", ""), ...data.heads.map((name) => new Option(name)));
      this.word = make("input");
      this.word.type = "search";
      this.word.size = 12;
      const controls = make("div", "cv-filter");
      const named = { "Head ": this.head, "Token contains ": this.word };
      for (const [text, input] of Object.entries(named)) {
        const label = make("label", "", text);
        label.append(input);
        controls.append(label);
        input.addEventListener("input", () => this.draw());
      }
      this.host.append(controls, this.say, table);
      this.draw();
    }

    paint() {
      const wanted = this.word.value.trim().toLowerCase().replaceAll(" ", "␣");
      this.rows.forEach((row, i) => {
        const { of, words } = this.data;
        row.hidden = (this.head.value && of[i] !== this.head.value) || !words[i].includes(wanted);
      });
      this.say.textContent = `${this.rows.filter((row) => !row.hidden).length} of ${this.rows.length} rows`;
    }
  }

  // --- on the page --------------------------------------------------------------------------------

  const KINDS = {
    attention,
    tokens: (host, data) => new Tokens(host, data),
    trigrams: (host, data) => new Trigrams(host, data),
  };

  function mount() {
    document.querySelectorAll(".circuit-view[data-kind]:not([data-mounted])").forEach((host) => {
      host.dataset.mounted = "";
      KINDS[host.dataset.kind](host, JSON.parse(host.querySelector("script").textContent));
    });
  }

  root.CircuitViews = { Attention, Tokens, make, mount };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mount);
  else mount();
})(window);
