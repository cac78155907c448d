// The left of the live page: the text, its tokens, and the next token to write.
import { KINDS, SHOWS } from "./chosen.js";
import { button, checkbox, field, h, select, whole } from "./parts.js";
import { byPassage } from "./seen.js";
import { cutOtherwise, LONGEST, tokenAt } from "./state.js";
import { Tokens } from "./tokens.js";

export class Text {
  // `page`: {state, change, look, keep, write}, see page.js.
  constructor(host, page) {
    const { change } = page;
    this.page = page;
    this.box = h("textarea", {
      rows: 2,
      "aria-label": "Text for the model",
      input: () => this.type(),
      keyup: () => this.go(),
      click: () => this.go(),
    });
    this.status = h("p", { class: "lm-status", role: "status" });
    this.cut = h("p", { class: "lm-note lm-cut", role: "status" });
    this.show = select(SHOWS, (show) => change({ show }));
    const [turned, box] = checkbox("who looks at it", (asSource) => change({ asSource }));
    this.turned = box;
    const colours = h("div", { class: "lm-controls" }, field("Colours", this.show), turned);
    host.append(this.box, this.buildWriting(), this.status, this.cut, colours);
    this.tokens = new Tokens(host, page);
  }

  type() {
    const { value: text, selectionEnd } = this.box;
    const token = tokenAt(text, selectionEnd);
    this.page.change({ text, ids: null, token, looked: null, past: [] });
  }

  // The caret has gone to another token, and the answers go with it.
  go() {
    const { state, change } = this.page;
    const token = tokenAt(this.box.value, this.box.selectionEnd);
    if (this.box.value === state.text && state.ids === null && token !== state.token)
      change({ token, looked: null });
  }

  buildWriting() {
    const { change, write } = this.page;
    this.write = button("Write the next token", write);
    this.undo = button("Undo", () => {
      this.page.state.undo();
      change({ looked: null });
    });
    const ways = { 0: "likeliest", 0.5: "drawn, temperature 0.5", 1: "drawn, temperature 1" };
    this.temperature = select(ways, (value) => change({ temperature: Number(value) }));
    this.seed = whole(9999, (seed) => change({ seed }));
    this.seedField = field("Seed", this.seed);
    const way = field("", this.temperature, "Which token is written");
    return h("div", { class: "lm-controls" }, this.write, way, this.seedField, this.undo);
  }

  summary(view) {
    const { ids, cutOff, loss } = view.run;
    const { state } = this.page;
    const mean = loss.slice(1).reduce((a, b) => a + b, 0) / (ids.length - 1);
    const off = [...state.off].map((index) => state.heads[index]).join(", ");
    const { cut } = state;
    return [
      `${ids.length} ${ids.length === 1 ? "token" : "tokens"}` +
        (cutOff ? `, the first ${LONGEST} of ${cutOff} tokens` : ""),
      ids.length > 1 && `${mean.toFixed(2)} nats per token${byPassage(view.run)}`,
      off && `off: ${off}${state.how === "zero" ? "" : ` (${state.how})`}`,
      cut &&
        `cut: ${state.heads[cut.earlier]} to the ${KINDS[cut.kind]} of ${state.heads[cut.later]}`,
    ]
      .filter(Boolean)
      .join("; ");
  }

  // A name that the reader has made up may be cut in another way the second time.
  warn() {
    const { ids, text } = this.page.state;
    const found = ids ? null : cutOtherwise(text);
    this.cut.textContent = found
      ? `The model reads tokens, and “${found.word}” is now cut into ${found.now.join("|")}, “${found.earlier}” before it into ${found.then.join("|")}. ` +
        (found.until
          ? `Stop at “${found.until}”, up to where both are cut alike, to see whether it finds the rest.`
          : "It begins with another token, so the beginning of the first does not lead on here.")
      : "";
  }

  tell(view) {
    const status = this.summary(view);
    if (this.status.textContent !== status) this.status.textContent = status;
  }

  paint(view) {
    const { state } = this.page;
    if (this.box.value !== state.text) this.box.value = state.text;
    this.write.disabled = view.run.ids.length >= LONGEST;
    this.undo.disabled = !state.past.length;
    this.temperature.value = String(state.temperature);
    if (!this.temperature.value)
      this.temperature.add(
        new Option(`drawn, temperature ${state.temperature}`, state.temperature, false, true),
      );
    this.seed.value = state.seed;
    this.seedField.hidden = !state.temperature;
    this.show.value = state.show;
    if (this.warned !== state.text + state.ids) this.warn();
    this.warned = state.text + state.ids;
    this.turned.checked = state.asSource;
    this.turned.parentElement.hidden = ["logits", "loss"].includes(state.show);
    this.tokens.paint(view);
  }
}
