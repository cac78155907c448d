// Parts that all views share: style, theme, keys, and how they start on a page. A classic script without
// dependencies, so that it also runs from file:// and inside the frame of a notebook; it may stand
// on a page more than once. Every kind of view has its own script.
(function (root) {
  "use strict";
  const Circuits = (root.Circuits ??= {}); // the one global name of the book's scripts
  if (Circuits.views) return;

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
.circuit-view .cv-scale{display:inline-block;width:120px;height:10px;border:1px solid var(--line);vertical-align:middle;margin:0 6px}
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

  const UP = [176, 18, 63]; // above the middle of a scale, and below it
  const DOWN = [0, 122, 135];
  const ground = (dark) => (dark ? [18, 18, 18] : [255, 255, 255]);
  const css = (colour) => `rgb(${colour.map(Math.round).join(",")})`;
  const blend = (from, to, share) => from.map((c, k) => c + Math.min(1, share) * (to[k] - c));

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

  function choice(name, options, onChange, chosen = 0) {
    const box = make("fieldset");
    box.append(make("legend", "", name));
    const group = "cv" + Math.random().toString(36).slice(2);
    options.forEach((text, index) => {
      const label = make("label");
      const input = make("input");
      input.type = "radio";
      input.name = group;
      input.checked = index === chosen;
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
      host.circuitView = this;
      host.setAttribute("data-lm-suppress-shortcuts", "true"); // arrows and Escape are ours, in JupyterLab
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

  // --- on the page --------------------------------------------------------------------------------

  const kinds = {}; // what a host's data-kind stands for: functions of the host and its data

  function mount() {
    document.querySelectorAll(".circuit-view[data-kind]:not([data-mounted])").forEach((host) => {
      const start = kinds[host.dataset.kind];
      if (!start) return; // its script comes later
      host.dataset.mounted = "";
      try {
        start(host, JSON.parse(host.querySelector("script").textContent));
      } catch (error) {
        console.error(error); // one bad view leaves the others alone
      }
    });
  }

  function register(kind, start) {
    kinds[kind] = start;
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mount);
    else mount();
  }

  Circuits.views = {
    DOWN, UP, View, arrows, blend, choice, css, ground, isDark, make, ofHead, readableOn, register, squares, triangles,
  };
})(window);
