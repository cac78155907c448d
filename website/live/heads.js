// The right of the live page: a tile for each head (click: look at it; switch: off), the picture of the
// head that is looked at, and an edge between two heads to cut.
import { HOWS, KINDS } from "./chosen.js";
import { button, checkbox, field, h, select } from "./parts.js";
import { largest, previous, value } from "./seen.js";

const { blend, css, ground, isDark, ofHead, squares } = Circuits.views;
const [TILE, LARGE] = [128, 400]; // pixels of a picture's side, at least: twice what it is shown in
const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

export class Heads {
  constructor(host, page) {
    const { change } = page;
    this.page = page;
    const keydown = (event) => this.move(event);
    const group = { class: "lm-tiles", role: "group", "aria-label": "Heads", keydown };
    this.tiles = h("div", group);
    this.how = select(HOWS, (how) => change({ how }));
    this.on = button("All on", () => change({ off: new Set(), cut: null }));
    const switching = field("A head that is off adds", this.how);
    host.append(
      this.tiles,
      h("div", { class: "lm-controls" }, switching, this.on),
      this.buildEdge(),
    );
  }

  buildEdge() {
    const cut = () => this.page.change({ cut: this.edge() });
    const choose = () => this.cutting.checked && cut();
    const [label, box] = checkbox("Cut one edge:", cut);
    this.cutting = box;
    this.kind = select(KINDS, choose);
    this.kind.value = "K";
    [this.later, this.earlier] = [select({}, choose), select({}, choose)];
    this.edgeRow = h(
      "div",
      { class: "lm-controls lm-edge" },
      label,
      field("the", this.kind, "What is read"),
      field("of", this.later, "The head that reads"),
      field("do not read", this.earlier, "The head that is read"),
    );
    return this.edgeRow;
  }

  edge() {
    if (!this.cutting.checked) return null;
    const [earlier, later] = [this.earlier, this.later].map((list) => Number(list.value));
    return { kind: this.kind.value, earlier, later };
  }

  // A new model: its tiles, and its edges if it has two layers.
  fill() {
    const { heads, model, shape } = this.page.state;
    const { n_layers, n_heads } = shape;
    this.filled = model;
    this.tiles.style.gridTemplateColumns = `repeat(${n_heads}, minmax(0, 1fr))`;
    this.tiles.replaceChildren(...heads.map((name, index) => this.tile(name, index)));
    this.edgeRow.hidden = n_layers !== 2;
    const options = heads.map((name, index) => new Option(name, index));
    this.earlier.replaceChildren(...options.slice(0, n_heads));
    this.later.replaceChildren(...options.slice(n_heads));
  }

  tile(name, index) {
    const { change, peek } = this.page;
    const tabindex = index ? -1 : 0;
    const look = h(
      "button",
      {
        class: "lm-head",
        type: "button",
        "aria-label": `head ${this.page.state.called(index)}`,
        title: `Look at head ${this.page.state.called(index)}`,
        tabindex,
        click: () => change({ head: index }),
        pointerenter: (event) => event.pointerType !== "touch" && peek(index),
        pointerleave: () => peek(null),
      },
      h("canvas"),
    );
    const turn = () => {
      const off = new Set(this.page.state.off);
      if (box.checked) off.delete(index);
      else off.add(index);
      change({ off });
    };
    const said = { "aria-label": `${name} on`, title: `Take head ${name} out` };
    const box = h("input", { type: "checkbox", role: "switch", ...said, tabindex, change: turn });
    const role = h("span", { class: "lm-role" }, Circuits.models[this.filled].team[index] ?? "");
    return h(
      "div",
      { class: "lm-tile" },
      look,
      h("label", { class: "lm-switch" }, box, name),
      role,
    );
  }

  // Arrow keys move among the heads, or among the switches. For the Tab key, one tile has both.
  move(event) {
    const tiles = [...this.tiles.children];
    const from = event.target.closest(".lm-tile");
    const { n_heads } = this.page.state.shape;
    const step = { ...STEPS, ArrowDown: n_heads, ArrowUp: -n_heads }[event.key];
    const to = tiles[tiles.indexOf(from) + step];
    if (!to) return;
    event.preventDefault();
    const controls = (tile) => [...tile.querySelectorAll("button, input")];
    for (const control of controls(from)) control.tabIndex = -1;
    for (const control of controls(to)) control.tabIndex = 0;
    controls(to)[controls(from).indexOf(event.target)].focus();
  }

  paint(view) {
    const { state } = this.page;
    if (this.filled !== state.model) this.fill();
    const look = `${isDark()} ${state.show === "weighted"}`;
    const fresh = view.run !== this.drawn;
    const redo = fresh || this.look !== look;
    Object.assign(this, { drawn: view.run, look });
    [...this.tiles.children].forEach((tile, index) => {
      const off = state.off.has(index);
      tile.classList.toggle("lm-off", off);
      tile.firstChild.setAttribute("aria-pressed", String(state.head === index));
      tile.querySelector("input").checked = !off;
      tile.style.setProperty("--layer", css(ofHead(state.heads[index], isDark())));
      if (redo) draw(tile.querySelector("canvas"), view, index, TILE);
    });
    this.how.value = state.how;
    this.on.disabled = !state.off.size && !state.cut;
    this.cutting.checked = Boolean(state.cut);
    if (state.cut)
      for (const name of ["kind", "earlier", "later"]) this[name].value = state.cut[name];
    else if (fresh && !this.page.secret) this.offer(view);
  }

  // The edge that is offered: from the head that looks one back to the one looked at.
  offer(view) {
    const { shape } = this.page.state;
    if (shape.n_layers !== 2) return;
    this.earlier.value = previous(view.run, shape);
    if (view.head >= shape.n_heads) this.later.value = view.head;
  }
}

// The large picture: rows look at columns.
export class Picture {
  constructor(host, page) {
    this.page = page;
    this.title = h("p", { class: "lm-title" });
    this.canvas = h("canvas", {
      class: "lm-picture",
      role: "img",
      pointermove: (event) => event.pointerType !== "touch" && page.look(this.tokenAt(event)),
      pointerleave: () => page.look(null),
      click: (event) => page.keep(this.tokenAt(event)),
    });
    host.append(this.title, this.canvas);
  }

  tokenAt({ clientX, clientY }) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const n = this.view.run.ids.length;
    const { asSource } = this.page.state;
    const along = asSource ? (clientX - left) / width : (clientY - top) / height;
    return Math.max(0, Math.min(n - 1, Math.floor(along * n)));
  }

  paint(view) {
    this.view = view;
    const { state } = this.page;
    const none = view.head === null;
    const off = state.off.has(view.head) ? ", off" : "";
    this.title.textContent = none
      ? "No head is chosen yet"
      : `Head ${state.called(view.head)}${off}: rows look at columns`;
    this.canvas.setAttribute("aria-label", this.title.textContent);
    if (none) {
      this.canvas.width = this.canvas.height = LARGE; // which empties it
      return;
    }
    draw(this.canvas, view, view.head, LARGE);
    const pen = this.canvas.getContext("2d");
    const side = this.canvas.width;
    const step = side / view.run.ids.length;
    pen.strokeStyle = isDark() ? "#e8ecf1" : "#1c2430";
    pen.lineWidth = 2;
    const from = view.at * step;
    if (view.asSource) pen.strokeRect(from, from, step, side - from - 1);
    else pen.strokeRect(1, from, from + step - 1, step);
  }
}

// A head's pattern on a canvas of `least` pixels to the side or more, a whole number to each cell: the
// browser then makes the canvas smaller, and no line is wider than its neighbour.
function draw(canvas, view, head, least) {
  const n = view.run.ids.length;
  const dark = isDark();
  const full = ofHead(view.heads[head], dark);
  const most = view.show === "weighted" ? largest(view) : 1;
  canvas.width = canvas.height = n * Math.ceil(least / n);
  squares(canvas, n, dark, (i, j) => blend(ground(dark), full, value(view, head, i, j) / most));
}
