// What the reader has chosen on the live page, and the link that says it.
(function (root) {
  "use strict";
  const { live, names: NAMES, vocabulary } = root.Circuits;
  const { begin, labels, tokenizer: rules } = vocabulary;
  const tokenizer = new HFTokenizers.Tokenizer(rules, {});
  const LONGEST = 200; // tokens: more would be slow to draw
  const KINDS = { Q: "queries", K: "keys", V: "values" };
  const HOWS = { zero: "nothing", mean: "its mean over this text", frozen: "nothing; later patterns stay" };
  const SHOWS = { attention: "attention", weighted: "attention × length of value", logits: "logits through the head", loss: "loss of each token" };
  const UNDOABLE = ["text", "ids", "token", "asked"];

  let last = {}; // the text cut into tokens last: asked for at every step, and slow where it is long

  function encode(text) {
    if (last.text !== text) last = { text, ids: tokenizer.encode(text).ids };
    return last.ids;
  }

  // Which of a text's tokens stands at a place in it, counted with the begin token: the one that is
  // being typed there. At the end of the text null, as for the last token.
  function tokenAt(text, place) {
    return place < text.length ? tokenizer.encode(text.slice(0, place)).ids.length : null;
  }

  class State {
    constructor() {
      Object.assign(this, {
        model: Object.keys(NAMES)[0],
        text: "", ids: null, // the text, or token ids without the begin token where no text has them
        off: new Set(), how: "zero", cut: null,
        head: null, token: null, looked: null, // `looked`: the token pointed at, before the one kept
        asked: null, // {at, id}: the token asked about
        both: false, show: "attention", asSource: false,
        temperature: 0, seed: 1, source: "",
        example: null, guess: null, // the question that is open, and the reader's guess
        past: [],
      }); // prettier-ignore
    }

    get shape() {
      return root.Circuits.models[this.model].config;
    }

    get heads() {
      const { n_layers, n_heads } = this.shape;
      return Array.from({ length: n_layers * n_heads }, (_, i) => `${Math.floor(i / n_heads)}.${i % n_heads}`);
    }

    get all() {
      return [begin, ...(this.ids ?? encode(this.text))];
    }

    // What is done to the run, as model.js takes it.
    get spec() {
      return { off: [...this.off].sort((a, b) => a - b), how: this.how, cut: this.cut };
    }

    // What a run depends on.
    get key() {
      return JSON.stringify([this.model, this.spec, this.all.slice(0, LONGEST)]);
    }

    // Where the answers are about: the token looked at or kept, else the last.
    at(n) {
      return Math.min(this.looked ?? this.token ?? Infinity, n - 1);
    }

    // Take these tokens: as text, if the tokenizer cuts the text into them again.
    take(ids) {
      const text = tokenizer.decode(ids);
      const same = tokenizer.encode(text).ids.join() === ids.join();
      Object.assign(this, { text, ids: same ? null : ids });
    }

    remember() {
      this.past.push(Object.fromEntries(UNDOABLE.map((name) => [name, this[name]])));
    }

    undo() {
      Object.assign(this, this.past.pop());
    }

    toFragment() {
      const said = new URLSearchParams({ model: this.model });
      const { all, heads } = this;
      // Of a text that is cut, only what counts: a link must not grow without end.
      if (this.ids || all.length > LONGEST) said.set("ids", all.slice(1, LONGEST).join(","));
      else said.set("text", this.text);
      if (this.off.size) said.set("off", [...this.off].map((index) => heads[index]).join(","));
      if (this.how !== "zero") said.set("how", this.how);
      if (this.cut) said.set("cut", `${this.cut.kind},${heads[this.cut.earlier]},${heads[this.cut.later]}`);
      if (this.token !== null) said.set("at", this.token);
      if (this.head !== null) said.set("head", heads[this.head]);
      if (this.asked) said.set("ask", `${this.asked.at},${this.asked.id}`);
      for (const name of ["both", "asSource"]) if (this[name]) said.set(name, "1");
      if (this.show !== "attention") said.set("show", this.show);
      if (this.temperature) said.set("temperature", this.temperature);
      if (this.seed !== 1) said.set("seed", this.seed);
      if (this.source) said.set("source", this.source.slice(0, 40));
      if (this.example) said.set("example", this.example);
      if (this.example && this.guess !== null) said.set("guess", this.guess);
      return "#" + said;
    }
  }

  // What a link says about the model that is in it; anything that makes no sense is left out.
  function fromFragment(fragment) {
    const said = new URLSearchParams(fragment.slice(1));
    const state = new State();
    const one = (name, known, otherwise) => (Object.hasOwn(known, said.get(name)) ? said.get(name) : otherwise);
    const number = (name, least, most, otherwise) => {
      const value = Number(said.get(name) || NaN);
      return value >= least && value <= most ? value : otherwise;
    };
    const whole = (value, most) => Number.isInteger(value) && value >= 0 && value <= most;
    state.model = one("model", NAMES, state.model);
    if (said.has("text")) state.text = said.get("text");
    const ids = (said.get("ids") ?? "").split(",").map(Number);
    const known = ids.filter((id) => whole(id, labels.length - 1) && id !== begin).slice(0, LONGEST);
    if (said.has("ids") && known.length) state.take(known);
    state.how = one("how", HOWS, said.has("frozen") ? "frozen" : "zero"); // older links say `frozen`
    state.show = one("show", SHOWS, state.show);
    state.both = said.has("both");
    state.asSource = said.has("asSource");
    state.temperature = number("temperature", 0.1, 3, 0);
    state.seed = Math.round(number("seed", 0, 9999, 1));
    state.source = (said.get("source") ?? "").slice(0, 40);
    const at = Number(said.get("at") || NaN);
    state.token = whole(at, LONGEST - 1) ? at : null;
    state.example = one("example", live.EXAMPLES, null);
    const guess = Number(said.get("guess") || NaN);
    state.guess = state.example && guess in live.EXAMPLES[state.example].guesses ? guess : null;
    const [place, id] = (said.get("ask") ?? "").split(",").map((text) => Number(text || NaN));
    if (whole(place, LONGEST - 1) && whole(id, labels.length - 1)) state.asked = { at: place, id };
    // Heads can be looked up only when the model is there.
    state.settle = () => {
      const { heads } = state;
      const { n_layers, n_heads } = state.shape;
      const find = (text) => heads.indexOf(text);
      state.off = new Set((said.get("off") ?? "").split(",").map(find).filter((index) => index >= 0));
      state.head = find(said.get("head")) < 0 ? null : find(said.get("head"));
      const [kind, earlier, later] = (said.get("cut") ?? "").split(",");
      const cut = { kind, earlier: find(earlier), later: find(later) };
      const joins = cut.earlier >= 0 && cut.earlier < n_heads && cut.later >= n_heads;
      state.cut = n_layers === 2 && Object.hasOwn(KINDS, kind) && joins ? cut : null;
    };
    return state;
  }

  const randomRepeats = (length, times) => {
    const passage = Array.from({ length }, () => 1 + Math.floor(Math.random() * (labels.length - 1)));
    return Array.from({ length: times }, () => passage).flat();
  };

  Object.assign(live, { HOWS, KINDS, LONGEST, SHOWS, State, begin, fromFragment, labels, randomRepeats, tokenAt, tokenizer });
})(globalThis);
