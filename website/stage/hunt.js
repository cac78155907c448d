// The stage with names taken away: somebody hid a circuit in a small model, and the reader names it. The
// worker marks what is named by cutting all else; the page holds no key.
import source from "worker";
import { between, INTO, named } from "../live/marking.js";
import { asking, fetched, latest, once } from "../live/models.js";
import { bar, button, choice, group, h, listed, svg, toggled } from "./parts.js";
import { noteTaker, sentences } from "./shown.js";
import { Strip } from "./strip.js";

const { hunts, models } = globalThis.Circuits;
const { levels, seeds, share } = hunts;
const H = 6; // heads in a layer
const PRESS = { off: "switches it off", looks: "shows its looks" };
const called = (head) => `${Math.floor(head / H)}.${head % H}`;

class Hunt {
  constructor(figure) {
    this.figure = figure;
    this.ask = asking(source);
    this.added = {};
    this.solved = {};
    this.press = matchMedia("(hover: none)").matches ? "looks" : "off"; // a finger cannot point
    this.build();
    this.refresh = latest(() => this.find());
    this.start(this.linked());
  }

  build() {
    this.moving = h("div", { class: "moving" });
    this.top = h("div", { class: "choices" });
    this.moving.append(this.top);
    this.strip = new Strip(this.moving, {
      change: (state) => this.change(state),
      peek: (head) => this.peek(head),
      choose: (head) => this.choose(head),
      state: () => this.state,
    });
    this.said = h("p", { class: "said", role: "status", "aria-live": "polite" });
    this.verdict = h("p", { class: "verdict-of-hunt", role: "status", "aria-live": "polite" });
    this.moving.append(h("div", { class: "words" }, h("div", {}, this.verdict, this.said)));
    this.figure.prepend(this.moving);
    const panel = (title, ...content) =>
      h("section", { class: "panel", "aria-label": title }, h("h2", {}, title), ...content);
    this.costs = h("div", { class: "costs" });
    this.mine = h("div", { class: "mine" });
    this.past = h("ol", { class: "past" });
    const way = (text, goes) => button(text, () => this.try(goes), { disabled: true });
    const ways = h(
      "p",
      { class: "ways-out" },
      way("Mark my answer", () => this.mark()),
      way("A hint", () => this.hint()),
      way("Show an answer", () => this.show()),
    );
    this.ways = ways.children;
    this.figure.after(
      h(
        "div",
        { class: "stage-panels" },
        panel("My answer", this.mine, ways),
        panel("What it costs", this.costs),
        panel("Marked so far", this.past),
      ),
    );
  }

  // --- which hunt -------------------------------------------------------------------------------------

  linked() {
    const [level, seed, ...more] = location.hash.slice(1).split("-");
    const known = levels[level] && seeds.includes(Number(seed)) && !more.length;
    const first = { level: Object.keys(levels)[0], seed: seeds[0] };
    if (!known && location.hash.length > 1)
      this.wrong = `There is no hunt “${location.hash.slice(1)}”: this is ${first.level}-${first.seed}.`;
    return known ? { level, seed: Number(seed) } : first;
  }

  // Until the model is there, all is about the one before.
  async start({ level, seed }) {
    const name = `hunt-${level}-${seed}`;
    this.wanted = name;
    const add = async () => {
      await fetched(name);
      await this.ask({ kind: "add", name, packed: models[name] });
    };
    const failed = await once(this.added, name, add).catch((error) => error);
    if (name !== this.wanted) return;
    if (failed) return this.say(failed.message);
    Object.assign(this, {
      level,
      seed,
      name,
      lines: models[name].lines,
      line: 0,
      answer: { heads: [], edges: [] },
      alone: null,
      won: null,
      hints: 0,
      peeked: null,
      chosen: null,
      result: null,
    });
    history.replaceState(null, "", `#${level}-${seed}`);
    this.past.replaceChildren();
    for (const way of this.ways) way.disabled = false;
    this.say(
      this.wrong ??
        "Which heads make this circuit? See where each looks, switch it off, and see what that costs.",
    );
    this.wrong = null;
    this.change({ off: [], cuts: [], at: null });
  }

  // Only what has changed is made anew: a button must not go from under a finger.
  fillTop() {
    const key = [this.name, this.line, this.press].join();
    if (this.filled === key) return;
    this.filled = key;
    const level = Object.entries(levels).map(([one, title]) => {
      const start = () => this.start({ level: one, seed: this.seed });
      return choice(one, one === this.level, start, { title });
    });
    const other = seeds[(seeds.indexOf(this.seed) + 1) % seeds.length];
    const next = (this.line + 1) % this.lines.tokens.length;
    const turn = () => {
      this.line = next;
      this.change({ ...this.state, at: null });
    };
    const focused = [...this.top.querySelectorAll("button")].indexOf(document.activeElement);
    const another = () => this.start({ level: this.level, seed: other });
    const said = (text) => h("span", {}, text);
    const presses = Object.entries(PRESS).map(([press, does]) => {
      const turns = () => {
        Object.assign(this, { press, chosen: null });
        this.fillTop();
        this.paint(false);
      };
      return choice(does, press === this.press, turns);
    });
    const line = `Line ${this.line + 1} of ${this.lines.tokens.length}`;
    this.top.replaceChildren(
      group("Level", { class: "choice" }, said("Level"), ...level),
      h(
        "div",
        { class: "choice" },
        said(levels[this.level]),
        button("Another such model", another),
      ),
      h("div", { class: "choice" }, said(line), button("Next line", turn)),
      group("Pressing a head", { class: "choice" }, said("Pressing a head"), ...presses),
    );
    this.top.querySelectorAll("button")[focused]?.focus();
  }

  // --- what is shown ------------------------------------------------------------------------------------

  change(state) {
    this.state = state;
    return this.refresh();
  }

  peek(head) {
    if (this.peeked === head || !this.result) return;
    this.peeked = head;
    this.paint(false);
  }

  // One head whose looks alone are drawn, until it is let go.
  choose(head) {
    this.chosen = this.chosen === head ? null : head;
    this.peeked = null;
    this.paint(false);
  }

  async find() {
    const { state, name, line, answer } = this;
    const about = { name, tokens: this.lines.tokens[line], targets: this.lines.targets[line] };
    const [result, nats] = await Promise.all([
      this.ask({ kind: "hunted", ...about, state }),
      this.ask({
        kind: "costs",
        name,
        lines: this.lines,
        states: [
          { off: [], cuts: [] },
          { off: Array.from({ length: 2 * H }, (_, i) => called(i)), cuts: [] },
          state,
        ],
      }),
    ]);
    if (state !== this.state || name !== this.name) return;
    const moves = this.result?.at !== result.at || answer !== this.answer;
    Object.assign(this, { result, nats, shown: state });
    this.fillTop();
    this.paint(moves);
    this.figure.dataset.ready = "";
  }

  paint(moves) {
    const { result, shown: state, won } = this;
    if (!result) return; // of this hunt nothing has come yet
    const peeked = this.peeked ?? this.chosen;
    const taker = won ? noteTaker(state, result, won.heads) : null;
    const team = won ? won.heads.filter((head) => head >= H).map(called) : [];
    const chosen = this.press === "looks" ? this.chosen : undefined;
    const nameless = !won;
    this.strip.paint({ result, state, whole: null, team, taker, peeked, chosen, nameless }, moves);
    this.said.textContent = sentences(state, result, this.strip.shown).at(-1);
    this.paintCosts();
    this.paintMine();
  }

  paintCosts() {
    const [whole, nobody, now] = this.nats;
    const rows = [
      ["the whole model", whole],
      ["no head at all", nobody],
      ["as it is above", now],
    ];
    if (this.alone !== null) rows.push(["what I named, alone", this.alone]);
    const most = Math.max(...rows.map(([, nats]) => nats));
    const bars = rows.map(([name, nats]) =>
      h("div", { class: "row" }, ...bar(name, nats / most, nats.toFixed(2))),
    );
    const lost = (now - whole) / (nobody - whole);
    const said =
      lost > 0.005
        ? `What is off or cut costs ${Math.round(100 * lost)} % of what the heads gain.`
        : "Nothing is lost as it is above.";
    this.costs.replaceChildren(
      h("p", {}, "Loss in second copies, over all lines [nats]"),
      ...bars,
      h("p", {}, said),
    );
  }

  // The answer as a drawing to press: heads of both layers, and between those that are named the three
  // ways in which the later can read the earlier.
  paintMine() {
    if (this.drawn === this.answer) return;
    this.drawn = this.answer;
    const { heads, edges } = this.answer;
    const focused = [...this.mine.querySelectorAll("button")].indexOf(document.activeElement);
    const head = (index) =>
      choice(called(index), heads.includes(index), () => this.turn("heads", index), {
        class: index < H ? "first" : "second",
        "aria-label": `I name head ${called(index)}`,
      });
    const row = (from) =>
      h("div", { class: "named" }, ...Array.from({ length: H }, (_, i) => head(from + i)));
    const possible = between(heads, H);
    const pairs = possible.filter(({ kind }) => kind === "K");
    const edge = (kind, { later, earlier }) => {
      const name = named({ kind, later, earlier });
      return choice(INTO[kind], edges.includes(name), () => this.turn("edges", name), {
        class: INTO[kind],
        "aria-label": `${called(later)} reads ${called(earlier)} in its ${INTO[kind]}`,
      });
    };
    const reads = pairs.map((pair) =>
      h(
        "div",
        { class: "pair" },
        `${called(pair.later)} reads ${called(pair.earlier)} in its`,
        ...Object.keys(INTO).map((kind) => edge(kind, pair)),
      ),
    );
    const lines = svg("svg", {
      class: "drawn-answer",
      viewBox: "0 0 600 60",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    for (const { kind, later, earlier } of possible.filter((one) => edges.includes(named(one)))) {
      const [x, y] = [earlier, later].map(
        (one) => 50 + 100 * (one % H) + { Q: -9, K: 0, V: 9 }[kind],
      );
      lines.append(
        svg("path", {
          d: `M${x},60C${x},30 ${y},30 ${y},0`,
          class: INTO[kind],
          "vector-effect": "non-scaling-stroke",
        }),
      );
    }
    const asked = heads.length
      ? pairs.length
        ? ""
        : "Name a head of each layer, and edges between them can be named."
      : "Press the heads that you name.";
    this.mine.replaceChildren(row(H), lines, row(0), h("p", {}, asked), ...reads);
    this.mine.querySelectorAll("button")[focused]?.focus();
  }

  turn(what, one) {
    const answer = { ...this.answer, [what]: toggled(this.answer[what], one) };
    const possible = between(answer.heads, H).map(named);
    this.set({ ...answer, edges: answer.edges.filter((edge) => possible.includes(edge)) });
  }

  set(answer) {
    if (this.won) this.say(""); // that was another answer
    Object.assign(this, { answer, alone: null, won: null });
    this.paint(false);
  }

  say(words, right = null) {
    this.verdict.textContent = words;
    this.verdict.dataset.right = right;
  }

  // --- marking --------------------------------------------------------------------------------------------

  // Why something cannot be done is said, unless the hunt is another one by then.
  async try(way) {
    const { name } = this;
    await way().catch(({ message }) => name === this.name && this.say(message));
  }

  async mark() {
    const { answer, name, lines } = this;
    if (!answer.heads.length) return this.say("Name a head first.");
    const edges = between(answer.heads, H).filter((edge) => answer.edges.includes(named(edge)));
    this.say("Cutting all that you did not name …");
    const found = await this.ask({
      kind: "mark",
      name,
      lines,
      answer: { heads: answer.heads, edges },
      share,
    });
    if (name !== this.name) return;
    if (answer !== this.answer) return this.say("The answer is another one now: mark it again.");
    this.alone = found.alone;
    const words = edges.map(
      ({ kind, later, earlier }) => `${called(earlier)} → ${INTO[kind]} of ${called(later)}`,
    );
    const said = [
      answer.heads
        .toSorted((a, b) => a - b)
        .map(called)
        .join(", "),
      ...words,
    ].join("; ");
    const told = `${found.right ? "✓" : "✗"} ${said}: ${found.because}`;
    this.past.append(h("li", { class: found.right ? "right" : "" }, told));
    this.say(`${found.right ? "✓ Right" : "✗ Not yet"}: ${found.because}.`, found.right);
    if (!found.right) return this.paint(false);
    Object.assign(this, { won: answer, chosen: null });
    await this.change({ off: [], cuts: [], at: null });
  }

  // An answer, found as a reader could find one: by leaving out whatever is not missed.
  async answerOf(words) {
    const { name, lines } = this;
    this.say(words);
    const solve = () => this.ask({ kind: "solve", name, lines, share });
    const found = await once(this.solved, name, solve);
    return name === this.name ? found : null;
  }

  async hint() {
    const found = await this.answerOf("Looking …");
    if (!found) return;
    const { heads, edges } = found;
    const [early, late] = [heads.filter((head) => head < H), heads.filter((head) => head >= H)];
    const hints = [
      `${early.length} of the first layer, ${late.length} of the second, and ${edges.length} ${edges.length === 1 ? "edge" : "edges"} will do.`,
      `One of the first layer is ${called(early[0])}.`,
      `Of the second: ${listed(late.map(called))}.`,
      `The edges lead into ${listed([...new Set(edges.map(({ kind }) => INTO[kind]))])}.`,
    ];
    this.say(hints[this.hints++] ?? "There is no other hint. An answer can be shown.");
  }

  async show() {
    const found = await this.answerOf("Leaving out whatever is not missed …");
    if (!found) return;
    this.set({ heads: found.heads, edges: found.edges.map(named) });
    this.say("This answer would do. Mark it, and cut a part of it, to see why.");
  }
}

globalThis.Circuits.hunted = [...document.querySelectorAll("[data-hunt-strip]")].map(
  (figure) => new Hunt(figure),
);
