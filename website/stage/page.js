// The stage on a page: it holds the state, shows what the model says of it, and decides the marks of the
// step that is read. The line of code is the state. Until somebody touches it, the text leads.
import source from "worker";
import { asking, fetched, latest, once } from "../live/models.js";
import { complete, fileOf, parse, write } from "./code.js";
import { follow } from "./follow.js";
import { Live } from "./live.js";
import { decide, noName } from "./marks.js";
import { bare, inOnePiece } from "./names.js";
import { button, group, h } from "./parts.js";
import { finders, isWhole, noteTaker, token, wholeOf } from "./shown.js";
import { Strip } from "./strip.js";

const Circuits = (globalThis.Circuits ??= {});
Circuits.models ??= {};
const HASH = "#stage=";
const SEEDS = { two_layers: 3, one_layer: 3, zero_layers: 1 }; // those whose weights the book serves
const PATIENCE = 150; // milliseconds before it is said that an answer is not there yet

// --- the engine, which all stages of a page share; nothing of it is there before it is asked ----------

const engine = {
  ask: null,
  added: {},
  async start(name) {
    await once(engine.added, "", async () => {
      if (!Circuits.vocabulary) await fetched("vocabulary");
      engine.ask ??= asking(source);
      await engine.ask({ kind: "vocabulary", vocabulary: Circuits.vocabulary });
    });
    await once(engine.added, name, async () => {
      await fetched(name);
      await engine.ask({ kind: "add", name, packed: Circuits.models[name] });
    });
  },
  async answer(kind, state, more) {
    const { model, seed } = state;
    if (seed >= SEEDS[model])
      throw new Error(`In the page ${model} has seed 0 alone; a notebook has all.`);
    const name = fileOf(state);
    await engine.start(name);
    return engine.ask({ kind, name, state, ...more });
  },
};

// Only some of what is unfolded asks for more numbers.
const ASKS = /^(board|column)/;
const keyOf = (state, opens) => JSON.stringify([write(state), ASKS.test(opens) ? opens : null]);

// --- one stage ----------------------------------------------------------------------------------------

class Stage {
  constructor(figure) {
    this.figure = figure;
    this.state = JSON.parse(figure.dataset.state);
    this.opens = figure.dataset.opens ?? null;
    this.known = new Map();
    this.moments = [];
    this.conditions = [];
    this.learn(figure);
    this.result = this.known.get(keyOf(this.state, this.opens)) ?? null;
    this.shown = this.state;
    this.build();
    this.live = figure.dataset.mode === "live" ? new Live(this) : null;
    this.asked = latest(() => this.find());
    this.compare = latest(() => this.findWhole());
  }

  // What was computed when the book was built: the result of a state, and those of what it unfolds.
  learn(element) {
    const packed = element.querySelector('script[type="application/json"]')?.textContent;
    if (!packed) return;
    const { result, known = [] } = JSON.parse(packed);
    const state = JSON.parse(element.dataset.state);
    if (result) this.known.set(keyOf(state, element.dataset.opens), result);
    for (const one of known) this.known.set(keyOf(one.state), one.result);
    this.moments.push(...known);
  }

  build() {
    const name = "The line of code that is shown. Edit it, and the stage follows";
    this.input = h("input", {
      type: "text",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      "aria-label": name,
      input: () => this.type(),
      focus: () => setTimeout(() => this.offer()), // once the press has set the caret
      click: () => this.offer(),
      keydown: (event) => this.key(event),
    });
    this.offered = group("Words that may stand here", { class: "offered" });
    const title = "Copy as two lines of Python";
    this.copy = button("Copy", () => this.toClipboard(), { class: "plain", title });
    const follows = () => this.letFollow();
    this.back = button("Follow the text", follows, { class: "back", hidden: true });
    this.said = h("p", { class: "said", role: "status", "aria-live": "polite" });
    this.took = h("span", { class: "took" });
    this.moving = h("div", { class: "moving" });
    this.strip = new Strip(this.moving, {
      change: (state) => this.go(state, { mine: true }),
      peek: (head) => this.peek(head),
      state: () => this.state,
    });
    const show = ({ currentTarget: shows }) => {
      shows.ariaExpanded = String(this.figure.toggleAttribute("data-heads"));
    };
    const heads = button("Heads ▾", show, {
      class: "plain show-heads",
      title: "Heads, to switch off and on",
      "aria-expanded": "false",
    });
    const code = h("div", { class: "code" }, this.input, heads, this.copy, this.back, this.offered);
    this.scrubber = h(
      "label",
      { class: "scrubber", hidden: true },
      h("input", { type: "range", min: 0, "aria-label": "Moment of the training" }),
      h("span"),
    );
    this.words = h(
      "div",
      { class: "words" },
      this.scrubber,
      this.strip.beside,
      this.said,
      this.took,
    );
    this.moving.append(code, this.words);
    this.figure.prepend(this.moving);
    if (this.figure.dataset.mode === "slide") this.present();
    code.addEventListener("focusout", ({ relatedTarget }) => {
      if (!this.offered.contains(relatedTarget)) this.offered.replaceChildren();
    });
  }

  // A press leaves the keys to the slides; who comes here by keyboard has them on the stage. Whoever comes
  // back to a slide finds it as it was.
  present() {
    addEventListener("slidechanged", ({ currentSlide }) => {
      if (this.mine && !currentSlide.contains(this.figure)) this.letFollow();
    });
    this.figure.addEventListener("click", ({ detail, target }) => {
      if (detail) target.closest("button")?.blur();
    });
    this.figure.addEventListener("keydown", (event) => {
      if ([" ", "Enter", "Escape"].includes(event.key)) event.stopPropagation();
      if (event.key === "Escape") this.input.blur(); // else no key would turn the slides again
    });
  }

  // --- the state --------------------------------------------------------------------------------------

  // `mine`: it is the reader who asks for this state. `typed`: the box in which, if in one.
  go(state, { mine = false, opens = mine ? this.opens : null, typed = null } = {}) {
    if (this.wrong) this.say("The model reads the line.");
    Object.assign(this, { state, opens, typed, peeked: null, wrong: null });
    if (mine) this.take();
    if (typed !== this.input) this.input.value = write(state);
    this.invalid(null);
    this.figure.removeAttribute("data-refused");
    return this.refresh();
  }

  // What is known is shown at once, whatever else is waited for.
  refresh() {
    return this.known.has(keyOf(this.state, this.opens)) ? this.find() : this.asked();
  }

  // Whose the state is: the reader's, or the text's.
  own(mine) {
    this.mine = mine;
    this.back.hidden = !mine || Boolean(this.live);
    this.figure.toggleAttribute("data-mine", mine);
  }

  take() {
    this.own(true);
    this.addressed(HASH + encodeURIComponent(write(this.state)));
  }

  // The address of a slide is that of the presentation.
  addressed(address) {
    if (this.figure.dataset.mode !== "slide") history.replaceState(null, "", address);
  }

  letFollow() {
    this.own(false);
    this.addressed(location.pathname + location.search);
    const step = this.current();
    if (step) this.read(step);
    else
      this.go(JSON.parse(this.figure.dataset.state), { opens: this.figure.dataset.opens ?? null });
  }

  read(step) {
    if (this.mine) return this.mark();
    this.go(JSON.parse(step.dataset.state), { opens: step.dataset.opens ?? null });
  }

  // The state that the address holds is the reader's; false if it holds none.
  linked() {
    if (!location.hash.startsWith(HASH)) return false;
    const line = Book.tried(() => decodeURIComponent(location.hash.slice(HASH.length)));
    if (line === null) return false;
    this.input.value = line;
    this.type();
    return true;
  }

  type() {
    try {
      this.go(parse(this.input.value), { mine: true, typed: this.input });
      this.offer();
    } catch (error) {
      if (error.column === undefined) throw error;
      this.own(true);
      this.typed = this.input;
      this.refuse(error.message);
      this.offer();
      if (this.result) this.paint(false);
    }
  }

  // Of a box what was typed is to be mended; null: of none.
  invalid(box) {
    this.figure.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
    box?.setAttribute("aria-invalid", "true");
  }

  // What is shown is of the line before; why stays said until something else is asked for.
  refuse(message) {
    this.invalid(this.typed);
    this.figure.dataset.refused = "";
    this.tell(message);
  }

  tell(message) {
    this.wrong = message;
    this.say(message, true);
  }

  key(event) {
    const first = this.offered.querySelector("button");
    if (event.key === "ArrowDown" && first) {
      event.preventDefault();
      first.focus();
    }
    if (event.key === "Escape") this.offered.replaceChildren();
    if (/^(Arrow(Left|Right)|Home|End)$/.test(event.key)) setTimeout(() => this.offer());
  }

  // The words that may stand where the caret is.
  offer() {
    const { value, selectionStart: caret } = this.input;
    const words = document.activeElement === this.input ? complete(value, caret) : [];
    const offer = ({ word, from }) => {
      const insert = () => {
        const rest = value
          .slice(caret)
          .replace(word.startsWith('"') ? /^[\w.]*"/ : /^\w*[(=]?/, "");
        this.input.value = value.slice(0, from) + word + rest;
        this.input.focus();
        this.input.setSelectionRange(from + word.length, from + word.length);
        this.type();
      };
      return button(word, insert);
    };
    this.offered.replaceChildren(...words.map(offer));
  }

  async toClipboard() {
    const text = `from transformer_circuits.stage import ${this.state.model}\n${write(this.state)}`;
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    this.copy.textContent = done ? "Copied" : "Not allowed";
    setTimeout(() => (this.copy.textContent = "Copy"), 2000);
  }

  peek(head) {
    if (this.peeked === head || !this.result) return;
    this.peeked = head;
    this.paint(false);
  }

  // One head whose looks alone are drawn, until it is let go.
  choose(head) {
    this.chosen = head;
    this.paint(false);
  }

  ask(kind, more) {
    return engine.answer(kind, this.shown, more);
  }

  // --- what is found ------------------------------------------------------------------------------------

  async result_(state, opens = null) {
    const key = keyOf(state, opens);
    const found =
      this.known.get(key) ??
      (await engine.answer("run", state, { opens, conditions: this.conditions }));
    this.known.set(key, found);
    return found;
  }

  async find() {
    const { state, opens } = this;
    const asked = () => state === this.state; // an answer that comes late is of no state that is shown
    const old = () => this.figure.toggleAttribute("data-old", this.state !== this.shown);
    const wait = setTimeout(old, PATIENCE);
    const before = this.painted;
    try {
      const result = await this.result_(state, opens);
      if (!asked()) return;
      const shown = result.lost ? { ...state, at: null } : state;
      const whole = this.wholeKnown(shown, result);
      Object.assign(this, { result, state: shown, shown, whole });
      if (result.lost) this.lost(state);
      this.paint(before !== result);
      if (!this.whole && engine.ask) this.compare();
    } catch (error) {
      if (asked()) this.fail(error.message);
    } finally {
      clearTimeout(wait);
      if (this.state === this.shown) this.figure.removeAttribute("data-old");
    }
  }

  // The place looked from is not on the line: whoever typed that has it to mend, in a line that is read.
  lost({ at }) {
    const { result } = this;
    this.invalid(this.typed);
    this.settle();
    const none = typeof at === "number" ? `place ${at}` : `“${at}”`;
    const from = token(result, result.at);
    this.tell(`No ${none} is on this line, so at= is left out: you look from “${from}”.`);
  }

  // Nothing is shown as done that was not: a press is taken back, a line that was typed stays to be mended.
  fail(message) {
    if (this.typed) this.refuse(this.wrong ?? message);
    else this.tell(message);
    this.state = this.shown;
    this.settle();
    if (this.result) this.paint(false);
  }

  // Line and address are of the state, but for what was typed and is to be mended.
  settle() {
    if (this.typed !== this.input) this.input.value = write(this.state);
    if (this.mine && !this.typed) this.take();
  }

  // What to compare with comes later, and no other state waits for it.
  async findWhole() {
    const { shown } = this;
    const whole = await this.result_(wholeOf(shown)).catch(() => null);
    if (shown !== this.shown || this.whole || !whole) return;
    this.whole = whole;
    this.paint(false);
  }

  wholeKnown(state, result) {
    return isWhole(state) ? result : (this.known.get(keyOf(wholeOf(state))) ?? null);
  }

  paint(moves) {
    const { result, shown: state, whole, opens } = this;
    const chosen = this.chosen && Number(this.chosen[0]) < result.L ? this.chosen : null;
    const peeked = this.peeked ?? chosen;
    const all = whole ?? result;
    const team = finders(all);
    const taker = noteTaker(wholeOf(state), all);
    const seeds = opens === "unsure" ? this.seeds(state) : [];
    this.strip.paint({ result, state, whole, team, taker, opens, peeked, seeds }, moves);
    this.scrub();
    this.live?.paint();
    const { cutDifferently } = result;
    const single = result.pieces.length ? null : inOnePiece(result.tokens);
    const notice = cutDifferently
      ? otherwise(result)
      : single && `${single} is one piece here: there is nothing to finish.`;
    const legend = seeds.length
      ? "Dots: three trainings; struck out where they fall on both sides of one half."
      : "";
    const [done, likely, from] = this.strip.says();
    // What the bars show, too, is not seen where there is little room; why a line is refused stays said.
    if (!this.wrong)
      this.say([notice, done, h("span", { class: "seen" }, likely), from, legend], notice);
    this.took.textContent = result.ms ? `The model ran here, in ${Math.round(result.ms)} ms.` : "";
    this.mark();
    this.painted = result;
    this.figure.dataset.ready = "";
  }

  // The same in every seed, as far as it is known.
  seeds(state) {
    const all = [0, 1, 2].map((seed) => this.known.get(keyOf({ ...state, seed })));
    return all.every(Boolean) ? all : [];
  }

  // Moments of the training, where the text unfolds them.
  scrub() {
    const after = ({ state }) => state.after ?? Infinity;
    const same = ({ state }) =>
      keyOf({ ...state, after: null }) === keyOf({ ...this.shown, after: null });
    const all =
      this.opens === "training"
        ? this.moments.filter(same).sort((a, b) => after(a) - after(b))
        : [];
    this.scrubber.hidden = all.length < 2;
    if (this.scrubber.hidden) return;
    const at = all.findIndex(({ state }) => state.after === this.shown.after);
    const [slider, said] = this.scrubber.children;
    Object.assign(slider, {
      max: all.length - 1,
      value: at,
      oninput: () => this.go(all[slider.value].state, { mine: true }),
    });
    said.textContent = all[at].moment;
    slider.setAttribute("aria-valuetext", said.textContent);
  }

  // `notice`: it is to be seen whole, also where there is little room.
  say(words, notice = false) {
    this.words.toggleAttribute("data-notice", Boolean(notice));
    const parts = [words].flat().filter((one) => one && (one.textContent ?? one));
    const said = h("p", {}, ...parts.flatMap((one, k) => (k ? [" ", one] : [one])));
    if (this.said.textContent !== said.textContent) this.said.replaceChildren(...said.childNodes);
  }

  // --- the text -----------------------------------------------------------------------------------------

  // The steps of the page, of which the one that is read sets the state.
  lead(steps) {
    this.steps = steps;
    for (const step of steps) this.learn(step);
    this.conditions = steps.flatMap((step) =>
      [...step.querySelectorAll(".holds")].map(({ dataset }) => JSON.parse(dataset.is)),
    );
    this.current = () => null;
    if (!steps.length) this.back.textContent = "As it was"; // on a slide no text leads
    const linked = this.linked();
    if (!steps.length) return linked || this.go(this.state, { opens: this.opens });
    const bottom = () => Math.max(0, this.figure.getBoundingClientRect().bottom);
    this.current = follow(steps, bottom, (step) => this.read(step));
    // On paper stands the drawing of what was written, and the marks with it.
    matchMedia("print").addEventListener("change", ({ matches }) => this.mark(matches));
  }

  decided(step, condition) {
    const told = this.known.get(keyOf(JSON.parse(step.dataset.state), step.dataset.opens ?? null));
    if (aboutAnother(condition, told, this.result)) return { ok: null, says: whose(this.result) };
    return decide(condition, this.result, this.shown);
  }

  // The marks of the step that is read, decided on what is shown; those of others are as they were written,
  // and not seen beside a stage that a reader changed.
  mark(printed = false) {
    if (!this.result || !this.steps) return;
    const now = printed ? null : this.current();
    for (const step of this.steps)
      for (const sentence of step.querySelectorAll(".holds")) {
        const condition = JSON.parse(sentence.dataset.is);
        const verdict = step === now ? this.decided(step, condition) : null;
        sign(sentence, verdict ?? { ok: true }, step === now);
        sentence.classList.toggle("asleep", Boolean(this.mine) && !printed && step !== now);
      }
  }
}

// Whether a sentence is about a piece of a name that is not on the line, or does not stand where it stood.
function aboutAnother({ kind, of }, told, shown) {
  const k =
    kind === "likely" && told ? told.pieces.findIndex(({ label }) => bare(label) === of) : -1;
  if (k < 0) return false;
  const [before, now] = [told, shown].map(({ pieces, tokens }) =>
    pieces[k] ? `${bare(tokens[pieces[k].place])} ${bare(pieces[k].label)}` : "",
  );
  return before !== now;
}

function otherwise({ tokens, pieces }) {
  const again = tokens
    .slice(-Math.max(2, pieces.length + 1))
    .join("|")
    .replaceAll("␣", " ")
    .trim();
  return `The name at the end came before, but is cut into other pieces now (… ${again}): only a piece that came before can be found.`;
}

const SIGNS = new Map([
  [true, ["yes", "✓", "holds"]],
  [false, ["no", "✗", "does not hold"]],
  [null, ["none", "–", "does not apply here"]],
]);

// What is on the line in place of the name that a sentence is about.
const whose = (result) => (result.pieces.length ? "another name is on the line" : noName(result));

function sign(sentence, { ok, says }, now) {
  const [name, mark, words] = SIGNS.get(ok);
  sentence.classList.remove("yes", "no", "none");
  sentence.classList.add(name);
  sentence.classList.toggle("now", now);
  let made = sentence.querySelector(".sign");
  if (!made) sentence.append((made = h("span", { class: "sign" })));
  const shown = ok !== true && says ? `${mark}\u00a0${says}` : mark;
  if (made.textContent !== shown) made.textContent = shown;
  made.title = says ? `${words}: ${says}` : words;
}

// --- all stages of the page -----------------------------------------------------------------------------

const stages = [...document.querySelectorAll("[data-stage-strip]")].map(
  (figure) => new Stage(figure),
);
stages.forEach((stage, k) =>
  stage.lead(k ? [] : [...document.querySelectorAll(".step[data-state]")]),
);
const idle = () => {
  if (navigator.connection?.saveData || !stages.length) return;
  const begin = () =>
    engine
      .start(fileOf(stages[0].state))
      .catch(() => null)
      .then(() => stages[0].refresh());
  (globalThis.requestIdleCallback ?? setTimeout)(begin);
};
if (document.readyState === "complete") idle();
else addEventListener("load", idle);
addEventListener("hashchange", () => stages[0]?.linked());
Circuits.stages = stages; // for tests
