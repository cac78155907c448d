// The stage with a caret in it: any text, other models, and below it three panels: what comes next and who
// wrote it, where heads look, and what a head's circuits say of a token alone.
import { bar, bare, button, choice, group, h, listed, percent, roving, signed } from "./parts.js";
import { row, split } from "./shown.js";

const MODELS = { two_layers: "two layers", one_layer: "one layer", zero_layers: "no layer" };
const SEEDS = [0, 1, 2];
const ROWS = 7; // of those who wrote a token, by size; the others are one row

export class Live {
  // `stage`: see page.js; of it go(state, {mine}), choose(head), ask(kind, more).
  constructor(stage) {
    this.stage = stage;
    this.token = null; // which next token is asked about
    this.said = null; // of which token the circuits are shown, if not of the one looked from
    this.models = this.choices("Model", MODELS, (model) => ({
      model,
      seed: model === "zero_layers" ? 0 : this.state.seed,
      off: [],
      cuts: [],
    }));
    this.seeds = this.choices("Seed", SEEDS, (seed) => ({ seed: Number(seed) }));
    this.typed = h("textarea", {
      class: "typed",
      rows: 1,
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": "Any text, for the model to read",
      input: () => this.write(),
      keyup: () => this.caret(),
      click: () => this.caret(),
    });
    const top = h("div", { class: "choices" }, this.models, this.seeds, this.typed);
    stage.moving.prepend(top);
    const panel = (title, name) => {
      const box = h("section", { class: `panel ${name}`, "aria-label": title }, h("h2", {}, title));
      this[name] = h("div");
      box.append(this[name]);
      return box;
    };
    this.panels = h(
      "div",
      { class: "stage-panels" },
      panel("What comes next, and who wrote it", "next"),
      panel("Where heads look", "where"),
      panel("What a circuit says", "circuit"),
    );
    stage.figure.after(this.panels);
  }

  get state() {
    return this.stage.state;
  }

  change(what) {
    return this.stage.go({ ...this.state, ...what }, { mine: true });
  }

  choices(name, options, change) {
    const of = Array.isArray(options)
      ? options.map((one) => [String(one), String(one)])
      : Object.entries(options);
    const made = ([value, text]) =>
      button(text, () => this.change(change(value)), { "data-value": value });
    return group(name, { class: "choice" }, h("span", {}, name), ...of.map(made));
  }

  // --- typing -------------------------------------------------------------------------------------------

  write() {
    this.token = this.said = null;
    const text = this.typed.value.replaceAll("\n", " ");
    this.stage.go({ ...this.state, text, at: null }, { mine: true, typed: this.typed });
  }

  // The caret has gone to another token, and the stage goes with it.
  caret() {
    const { result, state } = this.stage;
    if (!result || this.typed.value !== state.text) return;
    const { value, selectionEnd } = this.typed;
    let [at, length] = [0, 0];
    while (length < selectionEnd && at < result.tokens.length - 1)
      length += result.tokens[++at].length;
    const asked = selectionEnd < value.length ? at : null;
    if (asked !== state.at && (asked !== null || typeof state.at === "number"))
      this.change({ at: asked });
  }

  // --- what is shown --------------------------------------------------------------------------------------

  async paint() {
    const { state, result } = this.stage;
    const mended = this.stage.wrong && this.stage.typed === this.typed; // a text that was refused
    if (!mended && this.typed.value !== state.text) this.typed.value = state.text;
    for (const [group, value] of [
      [this.models, state.model],
      [this.seeds, state.seed],
    ])
      for (const one of group.querySelectorAll("button"))
        one.setAttribute("aria-pressed", String(one.dataset.value === String(value)));
    this.seeds.hidden = state.model === "zero_layers";
    if (this.painted === result && this.chosen === this.stage.chosen) return;
    Object.assign(this, { painted: result, chosen: this.stage.chosen });
    this.paintNext();
    this.paintWhere();
    await this.paintCircuit();
  }

  async paintNext() {
    const { result } = this.stage;
    const { next, tokens, at } = result;
    const came = tokens[at + 1];
    const among = (label) => next.find((one) => one.label === label)?.label;
    this.token = among(this.token) ?? among(came) ?? next[0].label;
    const one = ({ label, p }) => {
      const ask = () => {
        this.token = label;
        this.paintNext();
      };
      const made = choice("", label === this.token, ask, { class: "row" });
      made.append(...bar(label, p, percent(p)), h("small", {}, label === came ? "came" : ""));
      return made;
    };
    const list = group("Likely next tokens", { class: "rows" }, ...next.map(one));
    const said = this.token;
    const writers = await this.stage.ask("writers", { label: said });
    if (result !== this.stage.result) return;
    const sorted = writers.toSorted((a, b) => Math.abs(b.logit) - Math.abs(a.logit));
    const rest = sorted.slice(ROWS);
    const all = [
      ...sorted.slice(0, ROWS),
      ...(rest.length ? [{ name: `${rest.length} others`, logit: total(rest) }] : []),
    ];
    this.next.replaceChildren(
      h("p", {}, "After ", h("b", {}, bare(tokens[at])), ` (place ${at}):`),
      list,
      h(
        "p",
        {},
        "Who wrote ",
        h("b", {}, bare(said)),
        `: together ${signed(total(writers))} logits`,
      ),
      ...bars(all.map(({ name, logit }) => [name === "token" ? "the token" : name, logit])),
    );
    roving(list)();
  }

  paintWhere() {
    const { result, chosen } = this.stage;
    const { L, H, tokens, at } = result;
    const names = Array.from({ length: L * H }, (_, i) => `${Math.floor(i / H)}.${i % H}`);
    const tile = (name) => {
      const canvas = h("canvas", { width: tokens.length, height: tokens.length });
      picture(canvas, result, name);
      const choose = () => this.stage.choose(chosen === name ? null : name);
      const made = choice(canvas, chosen === name, choose, { "aria-label": `head ${name}` });
      made.append(name);
      return made;
    };
    const label = "Heads: press one to see its looks alone";
    const tiles = group(label, { class: "tiles", style: `--across: ${H}` }, ...names.map(tile));
    const looked = chosen && L > split(chosen)[0] ? Array.from(row(result, chosen, at)) : null;
    const most = looked
      ?.map((share, i) => [share, i])
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3);
    const said = most
      ? `From “${bare(tokens[at])}”, ${chosen} looks at ${most.map(([share, i]) => `“${bare(tokens[i])}” (${percent(share)})`).join(", ")}.`
      : L
        ? "Rows look at columns. Press a head to see its looks alone, above."
        : "Without a layer there is no head: what comes next depends on the last token alone.";
    this.where.replaceChildren(tiles, h("p", {}, said));
    roving(tiles, () => H)();
  }

  async paintCircuit() {
    const { result } = this.stage;
    if (!result.L) return this.circuit.replaceChildren(h("p", {}, "No head, no circuit."));
    const chosen = this.stage.chosen ?? this.stage.strip.shown[0] ?? "0.0";
    const head = split(chosen)[0] < result.L ? chosen : "0.0";
    const label = this.said ?? result.tokens[this.stage.strip.foremost()];
    const answer = await this.stage.ask("circuit", { head, label });
    if (result !== this.stage.result) return;
    const box = h("input", { type: "text", size: 9, value: label, "aria-label": "Another token" });
    const form = h(
      "form",
      {
        submit: (event) => {
          event.preventDefault();
          this.said = box.value;
          this.paintCircuit();
        },
      },
      "When ",
      h("b", {}, head),
      " looks at ",
      box,
      h("button", {}, "Ask"),
    );
    const column = (title, all) => h("div", {}, h("h3", {}, title), ...bars(all));
    const found = answer
      ? [
          h(
            "div",
            { class: "columns" },
            column("it raises", answer.raises),
            column("it lowers", answer.lowers),
          ),
          h(
            "p",
            {},
            "Without positions, ",
            h("b", {}, answer.label),
            " is looked at most by ",
            listed(answer.lookers.map(([name, share]) => `${name} (${percent(share)})`)),
            ".",
          ),
        ]
      : [h("p", { role: "status" }, `“${label}” is not one token: type one piece of a word.`)];
    this.circuit.replaceChildren(form, ...found);
  }
}

const total = (writers) => writers.reduce((sum, { logit }) => sum + logit, 0);

// Rows of a name and a number of logits, each with its bar.
function bars(all) {
  const most = Math.max(...all.map(([, value]) => Math.abs(value)));
  return all.map(([name, value]) =>
    h(
      "div",
      { class: `row ${value < 0 ? "less" : "more"}` },
      ...bar(name, Math.abs(value) / most, signed(value)),
    ),
  );
}

// Where a head looks: rows are places that look, columns what they look at, in the colour of its layer.
function picture(canvas, { patterns, tokens }, name) {
  const [layer, head] = split(name);
  const style = getComputedStyle(document.documentElement);
  const colour = style.getPropertyValue(layer ? "--second" : "--first").trim();
  const [r, g, b] = [1, 3, 5].map((k) => Number.parseInt(colour.slice(k, k + 2), 16));
  const n = tokens.length;
  const image = new ImageData(n, n);
  patterns[layer][head].forEach((shares, i) => {
    Array.from(shares)
      .slice(0, i + 1)
      .forEach((share, j) => {
        image.data.set([r, g, b, Math.round(255 * share)], 4 * (i * n + j));
      });
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
}
