// A tour of examples that each make one point: a question, guesses, and an answer that is computed when
// the reader has guessed. Until then what would give it away is covered.
import { KINDS } from "./chosen.js";
import { button, field, h, number, select } from "./parts.js";
import { passages, percent, previous, quoted, strongest } from "./seen.js";
import { labels, randomRepeats, State } from "./state.js";

const { names } = Circuits;
const NAME =
  "The captain asked Nebuchadnezzar to wait. Soon Nebuchadnezzar came, and Nebuchadnezzar sat down.";
// No token comes twice in any. One alone says little: of some the loss hardly moves. So all are
// measured, as they were first written: sentences of the kind that the model has read most.
const ONCE = [
  "If no argument is given, it defaults to None and nothing will be written.",
  "Returns a list with the names of all files that were found below this directory.",
  "This function raises an error when its first parameter has not been set.",
  "You can install the package from source or use one of our binary releases.",
  "By default, only warnings are shown; pass another level to see more details.",
  "The following example shows how you might create your own class in Python.",
  "Note that these options must be specified before any other command is run.",
  "Each line contains exactly two numbers, separated by spaces that stand for x and y.",
];
const INVENTED = "My dog Brumblewick ran away this morning. Has anybody here seen Brumblewick";
const NONE =
  "All that you see is about the token in the frame. Point at another one; or write a name of your own, twice, and stop in the middle of it. Each step of the tour makes one point: it asks, and answers once you have guessed.";
const PIECE = "ad";
const NOISE = 0.05; // nats per token; what moves a loss by less is not told from nothing
const DESTINATIONS = ["the work,", "the work of"];

// The places of the piece of the name in the text.
const places = (ids) => ids.flatMap((id, i) => (labels[id] === PIECE ? [i] : []));

// What the page would show of a state, found without showing it.
async function look(page, state, what = {}) {
  const request = { ...state.request({ asked: null, listed: 1, patterns: true }), ...what };
  const found = await page.ask(request);
  const { next } = found;
  return { ...found, ids: request.ids, p: next.p[next.ids.indexOf(next.target)] };
}

async function ofName(page) {
  const state = new State();
  state.text = NAME;
  state.token = places(state.all)[1] ?? null;
  const found = await look(page, state);
  state.head = strongest(found.parts, state.shape);
  const target = quoted(found.next.target);
  return { state, found, previous: previous(found, state.shape), target };
}

const of = (state, what) =>
  Object.assign(new State(), { text: state.text, token: state.token, head: state.head }, what);

// How likely the name goes on: as it is, with the head off, and off with patterns frozen.
async function threeWays(page) {
  const { state, found, previous, target } = await ofName(page);
  const without = (how) => of(state, { off: new Set([previous]), how });
  const [off, frozen] = await Promise.all(
    ["zero", "frozen"].map((how) => look(page, without(how))),
  );
  return { state, without, previous, target, on: found.p, off: off.p, frozen: frozen.p };
}

// `open` gives the state and the question; `answer` which guess was right, why, and the state then.
export const EXAMPLES = {
  again: {
    title: "A name comes again",
    covered: true,
    async open(page) {
      const { state, target } = await ofName(page);
      return [
        state,
        `In the second “Nebuchadnezzar”, the piece “${PIECE}” is chosen. How likely is the right next piece ${target} here, compared with the first time?`,
      ];
    },
    guesses: ["Less likely", "Up to twice as likely", "More than twice as likely"],
    async answer(page) {
      const { state, found, target } = await ofName(page);
      const first = await look(page, of(state), { at: places(found.ids)[0] });
      const right = found.p > 2 * first.p ? 2 : found.p > first.p ? 1 : 0;
      return [
        right,
        `${target} has ${percent(first.p)} the first time and ${percent(found.p)} the second. Follow the arcs: where does head ${state.heads[state.head]} look, and which token stands there?`,
        state,
      ];
    },
  },
  finders: {
    title: "Who finds it?",
    async open(page) {
      const { state } = await ofName(page);
      return [
        state,
        `How many of the ${state.shape.n_heads} heads of the second layer give more than half of their attention here to what followed an earlier “${PIECE}”? Point at their tiles, and follow the arcs.`,
      ];
    },
    guesses: ["None", "One", "Two or more"],
    async answer(page) {
      const { state, found } = await ofName(page);
      const [first, here] = places(found.ids);
      const n = found.ids.length;
      const finds = (head) => found.patterns[head][here * n + first + 1] > 0.5;
      const names = state.heads.filter((_, i) => i >= state.shape.n_heads && finds(i));
      return [
        Math.min(names.length, 2),
        `${names.length ? `It is ${names.join(", ")}` : "It is none"}. Heads that do this with any tokens are the finders. But how do they know which place followed “${PIECE}”?`,
        state,
      ];
    },
  },
  note: {
    title: "Where the note lies",
    async open(page) {
      const { state, found, previous } = await ofName(page);
      const after = places(found.ids)[0] + 1;
      return [
        of(state, { token: after, head: null }),
        `The place after the first “${PIECE}” is chosen. Heads of the second layer can tell what stood before it, so a head of the first must have written that there. Where does head ${state.heads[previous]} look from here?`,
      ];
    },
    guesses: ["At this token", "At the token before", "At the begin token"],
    async answer(page) {
      const { state, found, previous } = await ofName(page);
      const after = places(found.ids)[0] + 1;
      const shares = [after, after - 1, 0].map(
        (to) => found.patterns[previous][after * found.ids.length + to],
      );
      return [
        shares.indexOf(Math.max(...shares)),
        `It gives ${percent(shares[1])} of its attention to the token before, wherever it stands: look at the stripe in its picture. It leaves a note at every place, of what came just before.`,
        of(state, { token: after, head: previous }),
      ];
    },
  },
  off: {
    title: "Take the circuit apart",
    async open(page) {
      const { state, previous } = await ofName(page);
      return [
        state,
        `Of the first layer, head ${state.heads[previous]} looks one token back most. Switch it off: how likely is the right next piece then?`,
      ];
    },
    guesses: ["More than half as likely as before", "Less than half as likely"],
    async answer(page) {
      const { without, target, on, off } = await threeWays(page);
      return [
        off > on / 2 ? 0 : 1,
        `${target} goes from ${percent(on)} to ${percent(off)}. Look at the arcs: where do heads of the second layer look now?`,
        without("zero"),
      ];
    },
  },
  frozen: {
    title: "Freeze the patterns",
    async open(page) {
      const { without, state, previous } = await threeWays(page);
      return [
        without("zero"),
        `Head ${state.heads[previous]} is off. Now let all later heads look where they would have looked with it. Does the name come back?`,
      ];
    },
    guesses: ["Yes, at least half of what was lost", "No, less than half"],
    async answer(page) {
      const { without, target, on, off, frozen } = await threeWays(page);
      return [
        frozen - off >= (on - off) / 2 ? 0 : 1,
        `${target}: ${percent(on)} with all heads, ${percent(off)} without this one, ${percent(frozen)} with patterns frozen. What comes back had gone through the patterns of later heads; what stays away had gone through what they move.`,
        without("frozen"),
      ];
    },
  },
  edge: {
    title: "Cut one edge",
    async open(page) {
      const { state, previous } = await ofName(page);
      return [
        state,
        `Head ${state.heads[state.head]} can read head ${state.heads[previous]} in three ways. Which one does the name need most?`,
      ];
    },
    guesses: Object.values(KINDS),
    async answer(page) {
      const { state, found, previous, target } = await ofName(page);
      const cuts = Object.keys(KINDS).map((kind) => ({
        kind,
        earlier: previous,
        later: state.head,
      }));
      const left = (await Promise.all(cuts.map((cut) => look(page, of(state, { cut }))))).map(
        ({ p }) => p,
      );
      const right = left.indexOf(Math.min(...left));
      const list = Object.values(KINDS)
        .map((name, i) => `${name} ${percent(left[i])}`)
        .join(", ");
      return [
        right,
        `${target} has ${percent(found.p)} with all edges. Without the edge to the ${list}. One edge is cut now; all other heads still read the first.`,
        of(state, { cut: cuts[right] }),
      ];
    },
  },
  control: {
    title: "Nothing comes twice",
    async open() {
      const state = new State();
      [state.text] = ONCE;
      return [
        state,
        `A control. In this sentence no token comes twice, and there are ${ONCE.length - 1} more like it. Switch off the head that looked one back most in the example of the name. By how much does their loss rise?`,
      ];
    },
    guesses: ["More than with the name", "Less, but it rises", "Not at all"],
    async answer(page) {
      const { state, previous } = await ofName(page);
      const specs = [[], [previous]].map((list) => of(state, { off: new Set(list) }).spec);
      const losses = async (texts) => {
        const tokens = texts.map((text) => of(state, { text }).all);
        const lines = { tokens, targets: tokens.map((ids) => ids.slice(1)) };
        return (await page.ask({ kind: "losses", name: state.model, specs, lines })).nats;
      };
      const [once, name] = [await losses(ONCE), await losses([NAME])];
      const [here, there] = [once, name].map(([on, off]) => off - on);
      const rises = here > NOISE;
      const goes = (of) => of.map((loss) => number(loss)).join(" to ");
      const then = Object.assign(new State(), { text: ONCE[0], off: new Set([previous]) });
      return [
        here > there ? 0 : rises ? 1 : 2,
        `Without the head the loss of these ${ONCE.length} sentences goes from ${goes(once)} nats per token, that of the text with the name from ${goes(name)}. If the head served only repeats, the first would stay where it is.${rises ? " It does more: to know the token before helps with the next one, search or no search." : ""}`,
        then,
      ];
    },
  },
  random: {
    title: "Tokens that mean nothing",
    covered: true,
    async open() {
      const state = new State();
      state.take(randomRepeats(20, 3));
      return [
        state,
        "Twenty random tokens come three times. How far does the loss fall from the first passage to the third, with one layer and with two?",
      ];
    },
    guesses: ["With one layer at least as far", "At least half as far", "Less than half as far"],
    async answer(page, now) {
      const known = passages({ ids: now.all, loss: now.all });
      const state = known ? now : (await this.open())[0];
      const models = Object.keys(names);
      const [two, one] = await Promise.all(
        models.map(async (name) =>
          passages(await look(page, state, { name, spec: new State().spec })),
        ),
      );
      const [far, near] = [two, one].map((means) => means[0] - means[2]);
      const list = (means) => means.map((value) => value.toFixed(2)).join(", ");
      const then = Object.assign(new State(), {
        text: state.text,
        ids: state.ids,
        both: true,
        show: "loss",
      });
      const right = near >= far ? 0 : near >= far / 2 ? 1 : 2;
      return [
        right,
        `Nats per token, by passage. Two layers: ${list(two)}. One layer: ${list(one)}. These are one draw of tokens: press the button for others.`,
        then,
      ];
    },
  },
  invented: {
    title: "A name that nobody has",
    covered: true,
    async open() {
      const state = Object.assign(new State(), { text: INVENTED });
      state.token = state.all.length - 2;
      return [
        state,
        "This name stands in no text that the model has read. The chosen token is its last piece but one, the second time. You see the piece that follows; the model, at the chosen token, has not read it yet. How likely does it find the right one?",
      ];
    },
    guesses: ["Less than a tenth", "A tenth to a half", "More than half"],
    async answer(page) {
      const [state] = await this.open();
      const { next, p } = await look(page, state);
      return [
        p < 0.1 ? 0 : p < 0.5 ? 1 : 2,
        `${quoted(next.target)} has ${percent(p)}. Whatever the model knows of this name, it has read a few words ago. Write one of your own, twice, and see.`,
        state,
      ];
    },
  },
  bug: {
    title: "One head, two destinations",
    async open(page) {
      const { state, found, source } = await this.find(page, DESTINATIONS[0]);
      return [
        state,
        `One layer. Head ${state.heads[state.head]} looks from the last token to ${quoted(found.ids[source])} and changes the logit of ${quoted(found.next.target)}. Let the text end with “of” in place of the comma. For the same attention, does the head add as much to ${quoted(found.next.target)}?`,
      ];
    },
    guesses: ["More", "Less", "Exactly as much"],
    // The head that does most to the likeliest token from one source, and that source.
    async find(page, text, asked = null, chosen = null) {
      const state = Object.assign(new State(), { model: "one-layer", text });
      const found = await look(page, state, { asked });
      const at = found.ids.length - 1;
      let best = chosen;
      for (const [head, sources] of found.parts.sources.entries()) {
        for (let j = 1; j < at && !chosen; j++) {
          if (!best || Math.abs(sources[j]) > Math.abs(best.part))
            best = { head, source: j, part: sources[j] };
        }
      }
      const { head, source } = best;
      state.head = head;
      const share = found.patterns[head][at * found.ids.length + source];
      return { ...best, state, found, share, each: found.parts.sources[head][source] / share };
    },
    async answer(page) {
      const one = await this.find(page, DESTINATIONS[0]);
      const two = await this.find(page, DESTINATIONS[1], one.found.next.target, one);
      const name = quoted(one.found.next.target);
      const ratio = two.each / one.each;
      const right = Math.abs(ratio - 1) < 1e-3 ? 2 : ratio > 1 ? 0 : 1;
      Object.assign(two.state, {
        asked: { at: two.found.ids.length - 1, id: one.found.next.target },
      });
      return [
        right,
        `Attention ${one.share.toFixed(2)} after the comma and ${two.share.toFixed(2)} after “of”; logits of ${name} per unit of attention ${one.each.toFixed(2)} and ${two.each.toFixed(2)}. A head of one layer chooses where to look, and then says the same whatever it stands on. Where that makes no sense, it is a skip-trigram bug.`,
        two.state,
      ];
    },
  },
};
export class Examples {
  constructor(host, page) {
    this.page = page;
    this.host = host;
    const titles = Object.fromEntries(
      Object.entries(EXAMPLES).map(([name, { title }], i) => [name, `${i + 1}. ${title}`]),
    );
    this.pick = select({ "": "choose …", ...titles }, (name) => name && this.open(name));
    this.onwards = button("Next step", () => this.open(this.after()));
    this.question = h("p", { class: "lm-question" });
    this.guesses = h("div", { class: "lm-guesses", role: "group", "aria-label": "Your guess" });
    this.answer = h("p", { class: "lm-answer", role: "status" });
    const chosen = h("div", { class: "lm-controls" }, field("Tour", this.pick), this.onwards);
    host.append(chosen, this.question, this.guesses, this.answer);
  }

  begin() {
    return this.open(Object.keys(EXAMPLES)[0]);
  }

  // The step that follows the one that is open; after the last, the first.
  after() {
    const all = Object.keys(EXAMPLES);
    return all[(all.indexOf(this.page.state.example) + 1) % all.length];
  }

  // What is asked is known before the page shows the state that it is about.
  async open(name) {
    this.show({});
    try {
      const [state, question] = await EXAMPLES[name].open(this.page);
      Object.assign(this, { known: { name, question }, key: null });
      await this.page.follow(Object.assign(state, { example: name }));
    } catch (error) {
      this.page.fail(error);
    }
  }

  async guess(index) {
    const { known, page } = this;
    const { state } = page;
    this.answer.textContent = "Computing …";
    try {
      const [right, text, then] = await EXAMPLES[known.name].answer(page, state);
      if (page.state !== state || state.example !== known.name) return; // the reader has gone on
      Object.assign(known, { guess: index, right, text });
      this.key = null;
      await page.follow(Object.assign(then, { example: known.name, guess: index }));
    } catch (error) {
      this.answer.textContent = "";
      page.fail(error);
    }
  }

  paint() {
    const { example: name, guess } = this.page.state;
    const key = `${name} ${guess}`;
    const { covered } = EXAMPLES[name] ?? {};
    const bench = this.host.closest(".lm-bench");
    bench.classList.toggle("lm-covered", Boolean(covered) && guess === null);
    this.host.classList.toggle("lm-open", Boolean(name));
    if (key === this.key) return;
    this.key = key;
    this.pick.value = name ?? "";
    if (name) this.fill(name, guess, key);
    else this.show({ question: NONE });
  }

  // The question of the state, and its answer once there is a guess. A link says neither.
  async fill(name, guess, key) {
    if (this.known?.name !== name) this.show((this.known = { name }));
    const { known } = this;
    known.question ??= (await EXAMPLES[name].open(this.page))[1];
    if (this.key !== key) return;
    this.show(known, guess);
    if (guess === null) return;
    if (known.guess !== guess) {
      const [right, text] = await EXAMPLES[name].answer(this.page, this.page.state);
      Object.assign(known, { guess, right, text });
    }
    const { right, text } = known;
    const said = right === guess ? "You guessed it." : `It is “${EXAMPLES[name].guesses[right]}”.`;
    if (this.key === key) this.answer.replaceChildren(h("b", {}, said), ` ${text}`);
  }

  // Another link: what was known is of another text.
  forget() {
    Object.assign(this, { known: null, key: null });
  }

  show({ name, question }, guess) {
    this.answer.textContent = "";
    this.question.textContent = question ?? "Computing …";
    const focused = [...this.guesses.children].indexOf(document.activeElement);
    const made = (EXAMPLES[name]?.guesses ?? []).map((text, index) =>
      button(text, () => this.guess(index)),
    );
    made.forEach((one, index) => one.setAttribute("aria-pressed", String(index === guess)));
    this.guesses.replaceChildren(...made);
    made[focused]?.focus();
  }
}
