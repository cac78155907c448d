// What the chosen head does with one token, read off the weights: its two full circuits.
import { latest } from "./models.js";
import { asking, bar, fill, h, table } from "./parts.js";
import { foremost, quoted } from "./seen.js";
import { begin, labels, single, tokenizer } from "./state.js";

const { css, isDark, ofHead } = Circuits.views;
const LISTED = 8;
const NOTE =
  "No text is needed for this. If the source comes earlier: which present tokens look at it, and what " +
  "does it make likelier? Begin, source and destination are the whole context, and positions are left out.";
const SECOND =
  " Of a head in the second layer this is only what it reads of tokens, not what it reads of other heads.";

export class FullCircuits {
  constructor(host, page) {
    this.page = page;
    this.title = h("h2", { class: "lm-title" });
    this.note = h("p", { class: "lm-note" });
    this.lists = ["destination", "output"].map((first, i) =>
      table([first, ["attention", "logits"][i], "bar"]),
    );
    this.asking = asking("Source token:", "Show", (source) => page.change({ source }));
    this.tables = h("div", { class: "lm-two" }, ...this.lists.map(({ box }) => box));
    host.append(this.title, this.note, this.asking.form, this.tables);
    this.show = latest((request) => this.ask(request));
  }

  // Asks again only if the head, the model or the token has changed. Until the reader names a token it is
  // the one that does most at the chosen place; one that is only pointed at changes nothing here.
  paint(view) {
    const { state } = this.page;
    const { input, said } = this.asking;
    const layer = css(ofHead(view.heads[view.head], isDark()));
    this.lists[0].box.style.setProperty("--layer", layer);
    if (state.looked !== null) return;
    const [token, problem] = state.source ? single(state.source) : [foremost(view), ""];
    const source = state.source || (token === null ? "" : tokenizer.decode([token]));
    if (document.activeElement !== input) input.value = source;
    const key = JSON.stringify([state.model, view.head, source]);
    if (key === this.key) return;
    this.key = key;
    said.textContent = problem;
    this.title.textContent = `Head ${view.heads[view.head]} and one token, read off the weights`;
    this.note.textContent = NOTE + (view.head >= view.shape.n_heads ? SECOND : "");
    this.tables.hidden = token === null;
    if (token !== null) this.show({ name: state.model, head: view.head, token });
  }

  async ask(request) {
    const found = await this.page.ask({ kind: "circuits", begin, ...request });
    const source = quoted(request.token);
    this.fill(this.lists[0], `They look at ${source} (QK)`, found.attention, "attention");
    this.fill(this.lists[1], `All attention on ${source} adds (OV)`, found.logits, "more");
  }

  fill({ body, caption }, title, values, kind) {
    caption.textContent = title;
    const order = Array.from(values.keys()).sort((a, b) => values[b] - values[a]);
    const most = Math.max(1, values[order[0]]);
    const rows = order.slice(0, LISTED).map((id) => {
      const token = h("span", { class: "lm-mono" }, labels[id]);
      return [token, values[id].toFixed(2), bar(Math.max(0, values[id]) / most, kind)];
    });
    fill(body, rows);
  }
}
