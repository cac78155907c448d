// The tokens that a model reads, with arcs to where the chosen head looks, and a sentence that says it.
import { h } from "./parts.js";
import { attention, sentence, values } from "./seen.js";

const { labels } = Circuits.vocabulary;
const { arrows, blend, css, DOWN, ground, isDark, ofHead, readableOn, UP } = Circuits.views;
const SVG = "http://www.w3.org/2000/svg";
const ARCS = 8; // at most
const FAINT = 0.04; // attention below which no arc is drawn

export class Tokens {
  // `page`: {state, change, look, keep}, see page.js.
  constructor(host, page) {
    this.page = page;
    const keydown = (event) => event.key === "Escape" && page.change({ token: null });
    this.tokens = h("div", { class: "lm-tokens", role: "group", "aria-label": "Tokens", keydown });
    const inLine = ({ offsetTop }) => offsetTop === document.activeElement.offsetTop;
    arrows(this.tokens, () => [...this.tokens.children].filter(inLine).length);
    this.arcs = document.createElementNS(SVG, "svg");
    this.arcs.setAttribute("aria-hidden", "true");
    const inner = h("div", { class: "lm-arcs" }, this.tokens, this.arcs);
    this.scrolled = h("div", { class: "lm-paper" }, inner);
    this.say = h("p", { class: "lm-say", "aria-live": "polite" });
    host.append(this.scrolled, this.say);
    new ResizeObserver(() => this.view && this.drawArcs()).observe(this.tokens);
  }

  fill(ids) {
    const { keep, look } = this.page;
    this.filled = ids.join();
    const token = (id, i) =>
      h(
        "button",
        {
          class: "lm-token",
          type: "button",
          tabindex: i ? -1 : 0,
          "aria-label": `token ${i}: ${labels[id]}`,
          pointerenter: (event) => event.pointerType !== "touch" && look(i),
          pointerleave: () => look(null),
          focus: ({ target }) => target.matches(":focus-visible") && look(i),
          blur: () => look(null),
          click: () => keep(i),
        },
        labels[id],
      );
    this.tokens.replaceChildren(...ids.map(token));
  }

  paint(view) {
    this.view = view;
    if (this.filled !== view.run.ids.join()) this.fill(view.run.ids);
    this.colour(view);
    if (this.page.state.looked === null && this.stood !== view.at) this.reach(view.at);
    this.drawArcs();
    this.say.textContent = sentence(view);
  }

  // Let the chosen token be in sight, without moving the page.
  reach(at) {
    this.stood = at;
    const { offsetTop, offsetHeight } = this.tokens.children[at];
    const { scrollTop, clientHeight } = this.scrolled;
    if (offsetTop < scrollTop || offsetTop + offsetHeight > scrollTop + clientHeight) {
      this.scrolled.scrollTop = offsetTop - clientHeight / 2;
    }
  }

  // Each token as strong as its value: attention in the colour of the head's layer, logits in red
  // where they are raised and blue where they are lowered.
  colour(view) {
    const dark = isDark();
    const paper = ground(dark);
    const { state } = this.page;
    const shown = values(view);
    const most =
      state.show === "attention" ? 1 : Math.max(0, ...shown.map((v) => Math.abs(v ?? 0))) || 1;
    const full =
      state.show === "logits" || state.show === "loss" ? null : ofHead(view.heads[view.head], dark);
    [...this.tokens.children].forEach((token, i) => {
      const value = shown[i] ?? 0;
      const to = full ?? blend(value < 0 ? DOWN : UP, [255, 255, 255], dark ? 0.15 : 0);
      const colour = blend(paper, to, Math.abs(value) / most);
      token.style.background = Math.abs(value) / most < 0.01 ? "" : css(colour);
      token.style.color = Math.abs(value) / most < 0.01 ? "" : readableOn(colour);
      token.classList.toggle("lm-at", i === view.at);
      token.setAttribute("aria-pressed", String(state.token === i));
    });
  }

  // Arcs from the token to what the head looks at, as wide as the attention is large.
  drawArcs() {
    const { view } = this;
    const tokens = this.tokens.children;
    if (!tokens[view.at]) return;
    const box = this.tokens.getBoundingClientRect();
    this.arcs.setAttribute("width", this.tokens.clientWidth);
    this.arcs.setAttribute("height", this.tokens.scrollHeight);
    const place = (i) => {
      const { left, top, bottom, width } = tokens[i].getBoundingClientRect();
      return { x: left + width / 2 - box.left, top: top - box.top, bottom: bottom - box.top };
    };
    const shares = attention(view).map((share, i) => [share, i]);
    const most = shares
      .filter(([share]) => share >= FAINT)
      .sort((a, b) => b[0] - a[0])
      .slice(0, ARCS);
    const from = place(view.at);
    this.arcs.replaceChildren(
      ...most.map(([share, i]) => {
        const to = place(i);
        const line = document.createElementNS(SVG, "path");
        line.setAttribute("d", this.arc(from, to));
        line.setAttribute("stroke-width", (1 + 5 * share).toFixed(1));
        line.setAttribute("data-to", i);
        return line;
      }),
    );
    this.arcs.style.stroke = css(ofHead(view.heads[view.head], isDark()));
  }

  // Above the line for tokens of one line; else from one line to the other.
  arc(from, to) {
    const p = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;
    if (Math.abs(from.top - to.top) < 4) {
      const reach = Math.max(Math.abs(from.x - to.x), 12);
      const y = from.top - Math.min(16, 5 + reach / 10);
      const [left, right] = from.x === to.x ? [from.x - 6, to.x + 6] : [from.x, to.x];
      return `M${p(left, from.top)} C${p(left, y)} ${p(right, y)} ${p(right, to.top)}`;
    }
    const [start, end] = from.top > to.top ? [from.top, to.bottom] : [from.bottom, to.top];
    const middle = (start + end) / 2;
    return `M${p(from.x, start)} C${p(from.x, middle)} ${p(to.x, middle)} ${p(to.x, end)}`;
  }
}
