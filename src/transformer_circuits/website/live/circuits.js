// What the chosen head does with one token, read off the weights: its two full circuits.
import { latest } from "./models.js";
import { bar, fill, table } from "./parts.js";
import { quoted } from "./seen.js";
import { begin, labels, single } from "./state.js";

const { make } = Circuits.views;
const LISTED = 8;
const EXAMPLE = " king";

export class FullCircuits {
  constructor(host, page) {
    this.page = page;
    this.title = make("h2", "lm-title");
    this.note = make("p", "lm-note");
    const form = make("form", "lm-controls");
    this.input = make("input");
    this.input.size = 10;
    const label = make("label", "", "Source token: ");
    label.append(this.input);
    this.said = make("span", "lm-note");
    this.said.setAttribute("role", "status");
    form.append(label, make("button", "lm-button", "Show"), this.said);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      page.change({ source: this.input.value });
    });
    const row = make("div", "lm-two");
    this.lists = [
      ["destination", "attention", "bar"],
      ["output", "logits", "bar"],
    ].map((columns) => {
      const [box, body, caption] = table("", columns);
      row.append(box);
      return { body, caption };
    });
    host.append(this.title, this.note, form, row);
    this.show = latest((view) => this.ask(view));
  }

  // Asks again only if the head, the model or the token has changed.
  paint(view) {
    const { state } = this.page;
    const source = state.source || EXAMPLE;
    if (document.activeElement !== this.input) this.input.value = source;
    const key = JSON.stringify([state.model, view.head, source]);
    if (key === this.key) return;
    this.key = key;
    const [token, problem] = single(source);
    this.said.textContent = problem;
    this.title.textContent = `Head ${view.heads[view.head]} and one token, read off the weights`;
    const second = view.head >= view.shape.n_heads;
    this.note.textContent =
      "No text is needed for this. If the source comes earlier: which present tokens look at it, and what does it make likelier? " +
      "Begin, source and destination are the whole context, and positions are left out." +
      (second
        ? " Of a head in the second layer this is only what it reads of tokens, not what it reads of other heads."
        : "");
    if (token !== null) this.show({ name: state.model, head: view.head, token });
  }

  async ask(request) {
    const { attention, logits } = await this.page.ask({ kind: "circuits", begin, ...request });
    const source = quoted(request.token);
    this.fill(this.lists[0], `They look at ${source} (QK)`, attention);
    this.fill(this.lists[1], `All attention on ${source} adds (OV)`, logits);
  }

  fill({ body, caption }, title, values) {
    caption.textContent = title;
    const order = Array.from(values.keys())
      .sort((a, b) => values[b] - values[a])
      .slice(0, LISTED);
    const most = Math.max(1, values[order[0]]);
    fill(
      body,
      order.map((id) => [
        make("span", "lm-mono", labels[id]),
        values[id].toFixed(2),
        bar(Math.max(0, values[id]) / most),
      ]),
    );
  }
}
