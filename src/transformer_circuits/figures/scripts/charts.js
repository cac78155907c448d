// Brings hover charts to life: replaces each still picture by Vega's drawing of the same chart.
(function (root) {
  "use strict";
  // Address of Vega outside the book; without a network the still picture stays.
  const ELSEWHERE = "https://cdn.jsdelivr.net/npm/vega@6.4.0/build/vega.min.js";
  const INTEGRITY = "sha384-VKdcJr3ZaBIJMbVcopTAI/JEuUkSY6qnwVu9iLuw0DnQ9gQ1JjsfZJhXFQAgNi43";
  const TEXT = 14, LEGIBLE = 9, LARGE = 15; // the size of words in a figure, the least, and the most, in pixels, as in html.py
  const PHONE = 640; // where what wraps does so [pixels]
  const WIDEST = 660; // about as wide as text; what stretches becomes no wider [pixels]
  const SQUARE = 400; // nor a square, in its own units
  const STYLE = `
.hover-chart .hc-live{max-width:100%;overflow-x:auto;padding-block:4px}
.hover-chart .hc-live:has([type=radio],[type=range]){display:flex;flex-direction:column}
.hover-chart .hc-live .vega-bindings:has([type=radio],[type=range]){order:-1}
.hover-chart .hc-live svg{max-width:100%;height:auto}
.hover-chart .vega-bindings{display:flex;flex-wrap:wrap;column-gap:10px;font:13px/1.6 var(--type-words,system-ui,sans-serif);padding:4px}
.hover-chart .vega-bindings label{margin-right:14px}
.hover-chart .vega-bindings label:has([type=radio]){position:relative;display:inline-block;margin:2px 6px 2px 0;padding:2px 10px;border:1px solid #8888;border-radius:5px}
.hover-chart .vega-bindings label:has(:checked[type=radio]){border-color:currentColor;box-shadow:inset 0 0 0 1px currentColor;background:#8882}
.hover-chart .vega-bindings label:has([type=radio]:focus-visible){outline:3px solid;outline-offset:2px}
.hover-chart .vega-bindings [type=radio]{position:absolute;inset:0;margin:0;opacity:0;cursor:pointer}
.hover-chart .vega-bindings [type=checkbox]{accent-color:currentColor}
@media(pointer:coarse){.hover-chart .vega-bindings label{display:inline-block;padding-block:8px}}
.hover-chart .vega-bind-name{margin-right:6px}
.hover-chart .vega-bind:has([type=range]){flex:1 1 100%}
.hover-chart .vega-bind label:has([type=range]){display:flex;align-items:center;gap:6px}
.hover-chart .vega-bind [type=range]{flex:1;min-width:0}
@media(max-width:640px){.hover-chart .vega-bind label:has([type=range]){flex-wrap:wrap}.hover-chart .vega-bind label:has([type=range]) .vega-bind-name{flex-basis:100%}.hover-chart .vega-bind [type=range]{height:44px}}
.hc-tip{position:fixed;z-index:2000;pointer-events:none;background:#222;color:#fff;font:12px/1.4 var(--type-words,system-ui,sans-serif);
  padding:4px 8px;border-radius:4px;max-width:20em;white-space:pre-line}`;

  const Circuits = (root.Circuits ??= {});

  function vega() {
    Circuits.vega ??= new Promise((resolve, reject) => {
      if (root.vega) return resolve(root.vega);
      const script = document.createElement("script");
      script.src = ELSEWHERE;
      script.integrity = INTEGRITY;
      script.crossOrigin = "anonymous";
      const { define } = root; // where RequireJS is, Vega would register there and not as a global
      root.define = undefined;
      const done = (then) => () => ((root.define = define), then());
      script.onload = done(() => resolve(root.vega));
      script.onerror = done(() => reject(new Error(`${ELSEWHERE} could not be loaded`)));
      document.head.append(script);
    });
    return Circuits.vega;
  }

  let tip = null;
  function tooltip(handler, event, item, value) {
    if (event.type === "pointerout" && event.pointerType === "touch") return; // it stays
    tip?.remove();
    tip = null;
    if (value === null || value === undefined || value === "") return;
    tip = document.createElement("div");
    tip.className = "hc-tip";
    tip.textContent = Object.entries(value).map(([name, v]) => `${name}: ${v}`).join("\n");
    document.body.append(tip);
    const right = event.clientX + 12 + tip.offsetWidth > innerWidth;
    tip.style.left = `${right ? event.clientX - 12 - tip.offsetWidth : event.clientX + 12}px`;
    tip.style.top = `${event.clientY + 12}px`;
  }

  addEventListener("pointerdown", (event) => event.target.closest(".hc-live") || tip?.remove());

  async function draw(host) {
    const { View, parse } = await vega();
    const still = host.querySelector(".circuit-plot");
    const live = document.createElement("div");
    live.className = "hc-live circuit-plot"; // the colours of the page
    host.append(live);
    const spec = JSON.parse(host.querySelector("script").textContent);
    const columns = spec.usermeta?.wraps;
    if (columns && host.clientWidth < PHONE) {
      for (const group of [spec, ...spec.marks]) if (group.layout) group.layout.columns = columns;
      spec.config.legend = { ...spec.config.legend, layout: { top: { direction: "vertical", margin: 4 } } }; // one below the other
      // Each column has one axis at its foot: facets take as many as this sequence is long.
      for (const { transform = [] } of spec.data) for (const each of transform) if (each.type === "sequence") each.stop = columns;
    }
    const view = new View(parse(spec), { renderer: "svg", container: live, hover: true, tooltip });
    await view.runAsync();
    // Vega shows a tooltip when the pointer moves, which a finger does not. Its SVG elements hold
    // their data, the tooltip included.
    live.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") tooltip(null, event, null, event.target.__data__?.tooltip);
    });
    const drawn = live.querySelector("svg");
    const sizes = [...drawn.querySelectorAll("text")].map((text) => parseFloat(getComputedStyle(text).fontSize));
    const smallest = Math.min(...sizes), own = drawn.viewBox.baseVal.width;
    const room = (Math.min(host.clientWidth, WIDEST) * smallest) / TEXT;
    if (spec.usermeta?.stretches) {
      const { square } = spec.usermeta;
      const wide = Math.min(view.width() + Math.max(0, room - own), square ? SQUARE : WIDEST);
      if (square) view.height(wide);
      if (wide !== view.width()) await view.width(wide).runAsync();
    }
    const width = drawn.viewBox.baseVal.width / smallest;
    const usual = `${TEXT * width}px`;
    drawn.style.width = spec.usermeta?.stretches ? usual : `max(${usual}, min(100%, ${LARGE * width}px))`;
    drawn.style.minWidth = `${LEGIBLE * width}px`;
    live.querySelector(".vega-bindings").style.maxWidth = drawn.style.width;
    still.hidden = true;
    host.dataset.drawn = "";
  }

  if (!document.getElementById("hover-chart-style")) {
    const style = document.createElement("style");
    style.id = "hover-chart-style";
    style.textContent = STYLE;
    document.head.append(style);
  }
  document.querySelectorAll(".hover-chart:not([data-mounted])").forEach((host) => {
    host.dataset.mounted = "";
    draw(host).catch((error) => {
      console.error(`“${host.querySelector(".circuit-plot").ariaLabel}” stays a picture:`, error);
      host.querySelector(".hc-live")?.remove();
    });
  });
})(window);
