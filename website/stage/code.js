// The line of code below the stage, which is its state: the words of stage/reading.py. What may stand
// at a place is said once, for errors and for completing.

import { INTO } from "../live/marking.js";

// What of the book's models can be asked for. A test holds this to the models on disk.
export const MODELS = {
  two_layers: { layers: 2, heads: 6, seeds: 3, after: [75, 200, 325, 375, 475, 935] },
  one_layer: { layers: 1, heads: 6, seeds: 3, after: [] },
  zero_layers: { layers: 0, heads: 1, seeds: 3, after: [] },
};
const VERBS = ["without", "cut", "seed", "after", "read"];
export const READS = Object.values(INTO);
const ESCAPES = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "\\": "\\", '"': '"', "'": "'" };

const FILES = { two_layers: "two-layer", one_layer: "one-layer", zero_layers: "zero-layer" };
// The file that has a state's model.
export const fileOf = ({ model, seed }) => FILES[model] + (seed ? `-seed-${seed}` : "");

export const headsOf = ({ layers, heads }) =>
  Array.from({ length: layers * heads }, (_, k) => `${Math.floor(k / heads)}.${k % heads}`);

// The state that a line of code says. Throws {message, column, words}: what was expected from which
// character on, and what could stand there.
export function parse(line) {
  return new Reader(line).line();
}

// The line of code that says a state; Python writes the same.
export function write({ model, seed, after, off, cuts, text, at }) {
  const where = at === null ? "" : `, at=${JSON.stringify(at)}`;
  return [
    model,
    seed ? `.seed(${seed})` : "",
    after === null ? "" : `.after(${after})`,
    off.length ? `.without(${off.map((head) => JSON.stringify(head)).join(", ")})` : "",
    ...cuts.map(({ from, into, of }) => `.cut("${from}", into="${into}", of="${of}")`),
    `.read(${JSON.stringify(text)}${where})`,
  ].join("");
}

// What may stand at the caret: [{word, from}], each to replace what stands from there to the caret.
export function complete(line, caret) {
  const typed = line.slice(0, caret);
  try {
    parse(typed);
  } catch ({ column: from, words }) {
    const begun = typed.slice(from).replaceAll("'", '"');
    return words.filter((word) => word.startsWith(begun)).map((word) => ({ word, from }));
  }
  return [];
}

const either = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
const quoted = (words) => words.map((word) => `"${word}"`);

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  line() {
    const model = this.word(Object.keys(MODELS));
    const shape = MODELS[model];
    const state = { model, seed: 0, after: null, off: [], cuts: [], text: "", at: null };
    for (;;) {
      const verbs = VERBS.filter(
        (verb) =>
          (verb !== "after" || shape.after.length) &&
          (verb !== "without" || shape.layers) &&
          (verb !== "cut" || shape.layers > 1),
      );
      this.sign(
        ".",
        verbs.map((verb) => `.${verb}(`),
      );
      const verb = this.word(
        verbs,
        verbs.map((one) => `${one}(`),
      );
      this.sign("(");
      this[verb](state, shape);
      this.sign(")");
      if (verb !== "read") continue;
      this.space();
      if (this.at < this.text.length) this.fail("the end, for read ends the line", []);
      const order = headsOf(shape).filter((head) => state.off.includes(head));
      return { ...state, off: order };
    }
  }

  without(state, shape) {
    do state.off.push(this.head(headsOf(shape)));
    while (this.sees(","));
  }

  cut(state, shape) {
    const every = headsOf(shape);
    const last = `${shape.layers - 1}.`;
    const from = this.head(every.filter((head) => !head.startsWith(last)));
    const named = {};
    for (let left = ["into", "of"]; left.length; left = left.filter((name) => !(name in named))) {
      this.sign(
        ",",
        left.map((name) => `, ${name}=`),
        `“, ${either(left)}=”`,
      );
      const name = this.word(
        left,
        left.map((one) => `${one}=`),
      );
      this.sign("=");
      const later = every.filter((head) => head.split(".")[0] > from.split(".")[0]);
      named[name] = name === "of" ? this.head(later) : this.choice(READS, either(quoted(READS)));
    }
    const same = (one) => one.from === from && one.into === named.into && one.of === named.of;
    if (!state.cuts.some(same)) state.cuts.push({ from, into: named.into, of: named.of });
  }

  seed(state, { seeds }) {
    const kept = state.after === null ? Array.from({ length: seeds }, (_, k) => k) : [0];
    state.seed = this.number(kept, state.after === null ? "" : " (of others no moment was kept)");
  }

  after(state, { after }) {
    const kept = state.seed ? [] : after;
    state.after = this.number(kept, state.seed ? "no moment, for of this seed none was kept" : "");
  }

  read(state) {
    state.text = this.string("a line of text in quotes", ['"']);
    if (!this.sees(",")) return;
    this.space();
    if (!/^["'\d]/.test(this.text.slice(this.at))) {
      this.word(["at"], ["at="]);
      this.sign("=");
      this.space();
    }
    const digits = this.text.slice(this.at).match(/^\d+/);
    if (digits) this.at += digits[0].length;
    state.at = digits ? Number(digits[0]) : this.string("a piece in quotes or a place", ['"']);
  }

  head(heads) {
    return this.choice(heads, `a head, "${heads[0]}" to "${heads.at(-1)}"`);
  }

  // One of some strings.
  choice(words, said) {
    this.space();
    const start = this.at;
    const found = this.string(said, quoted(words));
    if (words.includes(found)) return found;
    this.at = start;
    return this.fail(said, quoted(words));
  }

  string(said, words) {
    this.space();
    const rest = this.text.slice(this.at);
    const found = rest.match(/^"(?:[^"\\\n]|\\.)*"|^'(?:[^'\\\n]|\\.)*'/s);
    if (!found) this.fail(/^["']/.test(rest) ? `${said}, closed by its quote` : said, words);
    this.at += found[0].length;
    return found[0]
      .slice(1, -1)
      .replace(/\\(u[\da-fA-F]{4}|x[\da-fA-F]{2}|.)/gs, (whole, sign) =>
        sign.length > 1
          ? String.fromCharCode(Number.parseInt(sign.slice(1), 16))
          : (ESCAPES[sign] ?? whole),
      );
  }

  number(numbers, more) {
    this.space();
    const [digits] = this.text.slice(this.at).match(/^\d*/);
    const words = numbers.map(String);
    if (!words.includes(digits)) this.fail(either(words) + more, words);
    this.at += digits.length;
    return Number(digits);
  }

  // One of some names. `words`: what completes each, if that is more.
  word(names, words = names) {
    this.space();
    const [found] = this.text.slice(this.at).match(/^\w*/);
    if (!names.includes(found)) this.fail(either(names), words);
    this.at += found.length;
    return found;
  }

  sign(sign, words = [sign], said = `“${sign}”`) {
    this.space();
    if (this.text[this.at] !== sign) this.fail(said, words);
    this.at += 1;
  }

  sees(sign) {
    this.space();
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  space() {
    while (/\s/.test(this.text[this.at] ?? "")) this.at += 1;
  }

  fail(said, words) {
    const column = this.at;
    const before = this.text.slice(0, column).trim();
    const short = before.length > 30 ? `…${before.slice(-29)}` : before;
    const rest = this.text.slice(column);
    const [stands] = rest.match(/^(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|-?[\d.]+|\w+|\S)?/s);
    const not = stands.length > 30 ? `${stands.slice(0, 29)}…` : stands;
    const character = Math.min(column + 1, this.text.length || 1);
    const message =
      `${short && `after ${short} `}expected ${said}` +
      `${not && `, not ${not}`} (character ${character})`;
    throw Object.assign(new Error(message), { column, words });
  }
}
