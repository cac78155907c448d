// The page on which two small models learn side by side in the reader's tab.
import source from "worker";
import { worker as workerOf } from "../live/models.js";
import { button, checkbox, field, h, select, whole } from "../live/parts.js";
import { Curves, Picture } from "./pictures.js";
import { matches, order, PLAN, probe, SHAPE, together } from "./training.js";

const SAY_EVERY = 4000; // milliseconds between summaries read aloud
const MORE = 300; // steps after the end, each time the reader asks
const SPEEDS = { 1: "1 step", 5: "5 steps", 20: "20 steps" }; // per picture
const SEEN = { "in the first layer": [1, 0], "in no layer": [0, 0], "in both layers": [1, 1] };
const MODELS = ["two layers", "one layer"];
const GUESSES = {
  second: "Before the first layer looks one back",
  first: "Not until the first layer looks one back",
  together: "While the first layer learns to look one back",
  never: "Never",
};
const FOUND = {
  second: "so the second layer came first.",
  first: "so the first layer came first.",
  together: "so they came at the same time, as far as one can see.",
  never:
    "No head of the second layer ever gave half of its attention to what followed an earlier copy.",
};
const host = document.querySelector("[data-train-here]");
const chosen = {
  seed: 0,
  speed: 20,
  seen: Object.keys(SEEN)[0],
  shifted: false,
  marked: true,
  guess: null,
};
const state = { run: 0, going: false, waiting: 0, end: PLAN.steps, said: 0 };
const records = [[], []]; // per model: what `look` found, without patterns
const last = [null, null]; // per model: the last of them, with patterns
const parts = {};
let workers = [];

// --- the parts of the page ------------------------------------------------------------------------

function buildGuess() {
  const choose = ({ target }) => {
    chosen.guess = target.value;
  };
  const guesses = Object.entries(GUESSES).map(([value, text]) => {
    const input = h("input", { type: "radio", name: "train-guess", value, change: choose });
    return h("label", { class: "train-guess" }, input, text);
  });
  const question = "Your guess: when will the second layer find the earlier copy?";
  return h("fieldset", {}, h("legend", {}, question), ...guesses);
}

function buildControls() {
  parts.go = button("Train", () => (state.going ? pause() : go()));
  parts.go.classList.add("train-go");
  const again = button("Start again", () => begin());
  const seed = whole(999, (value) => begin({ seed: value }));
  seed.value = chosen.seed;
  const speed = select(SPEEDS, (value) => {
    chosen.speed = Number(value);
  });
  speed.value = chosen.speed;
  const fields = [field("Per picture", speed), field("Seed", seed)];
  parts.controls = h("div", { class: "train-controls" }, parts.go, again, ...fields);
  return parts.controls;
}

function buildWhatIf() {
  const names = Object.fromEntries(Object.keys(SEEN).map((name) => [name, name]));
  const seen = select(names, (value) => begin({ seen: value }));
  const [shifted] = checkbox("One layer: shifted keys (of the token before)", (on) =>
    begin({ shifted: on }),
  );
  const title = h("legend", {}, "What if … (starts again)");
  const positions = field("Two layers: positions are seen", seen);
  return h("fieldset", {}, title, positions, shifted);
}

function buildFigures() {
  const [curves, pictures] = ["train-row", "train-pictures"].map((of) => h("div", { class: of }));
  const top = Math.ceil(Math.log(SHAPE.n_vocab));
  parts.loss = new Curves(curves, {
    title: "Loss where the letter can be known [nats]",
    series: [
      { name: "two layers", style: "train-two" },
      { name: "one layer", style: "train-control" },
    ],
    top,
    guide: { value: Math.log(SHAPE.n_vocab), name: "guessing" },
  });
  parts.heads = new Curves(curves, {
    title: "Attention of two heads on their outlined squares",
    series: [
      { name: "first layer, one back", style: "train-first" },
      { name: "second layer, matching", style: "train-second" },
      { name: "one layer, matching", style: "train-control" },
    ],
    top: SHAPE.n_heads,
    guide: { value: SHAPE.n_heads, name: "all that both have" },
  });
  const [{ tokens, inside }] = probe();
  const n = SHAPE.n_ctx;
  const letters = tokens.slice(0, n).map((token) => String.fromCharCode(97 + token));
  const text = letters.map((letter, i) => letter + (inside[i] ? "" : " ")).join("");
  const words = text
    .trim()
    .split(" ")
    .map((word) => {
      const frames = [...word].map((letter) => h("b", {}, letter));
      return h("span", { class: "train-word" }, ...frames);
    });
  const before = letters.slice(1).map((_, i) => [i + 1, i]);
  const found = letters.flatMap((_, i) => (inside[i] ? matches(tokens, i).map((j) => [i, j]) : []));
  parts.pictures = [["First layer", "Second layer"], ["One layer"]].map((layers, model) =>
    layers.map((name, layer) => {
      const style = ["train-first", "train-second"][layer];
      const heading = h("p", { class: style }, model === 0 ? name : `${name} (the control)`);
      const host = h("div", { class: "train-layer" }, heading);
      pictures.append(host);
      const [seek, expected] =
        model === 0 && layer === 0 ? ["one back", before] : ["matching", found];
      return Array.from(
        { length: SHAPE.n_heads },
        (_, head) => new Picture(host, `${name}, head ${head}`, layer, n, seek, expected),
      );
    }),
  );
  const [marked] = checkbox(
    "Outline what a note-taker (first layer) and a finder (elsewhere) would look at",
    (on) => {
      chosen.marked = on;
      show();
    },
    true,
  );
  const said = "Each row is a letter that looks, each column one looked at:";
  const context = h("p", { class: "train-context" }, said, ...words);
  return [curves, context, pictures, marked];
}

function build() {
  parts.status = h("p", { class: "train-status" });
  parts.aloud = h("p", { class: "visually-hidden", role: "status" }); // with its numbers, now and then
  parts.verdict = h("p", { class: "train-verdict", role: "status" });
  const asked = [buildGuess(), buildControls(), parts.status, parts.aloud];
  parts.bench = h(
    "div",
    { class: "train-bench" },
    h("div", { class: "train-side" }, ...asked, parts.verdict, buildWhatIf()),
    h("div", { class: "train-figures" }, ...buildFigures()),
  );
  host.classList.add("bench-of-training");
  host.replaceChildren(parts.bench);
  workers = MODELS.map((_, model) => {
    const worker = workerOf(source);
    worker.onmessage = ({ data }) => receive(model, data);
    worker.onerror = ({ message }) => {
      parts.status.textContent = parts.aloud.textContent = `The training broke off: ${message}`;
    };
    return worker;
  });
}

// --- the training ---------------------------------------------------------------------------------

function begin(what = {}) {
  Object.assign(chosen, what);
  state.going = false;
  Object.assign(state, { run: state.run + 1, waiting: MODELS.length, end: PLAN.steps });
  records.forEach((one) => (one.length = 0));
  parts.verdict.textContent = "";
  parts.go.textContent = "Train";
  const settings = [
    { n_layers: 2, seen: SEEN[chosen.seen] },
    { n_layers: 1, shifted: chosen.shifted },
  ];
  settings.forEach((one, k) =>
    workers[k].postMessage({ run: state.run, begin: { seed: chosen.seed, ...one } }),
  );
}

function go() {
  if (last[0] && records[0].length && last[0].step >= state.end) state.end += MORE;
  state.going = true;
  parts.go.textContent = "Pause";
  const fits = parts.bench.offsetHeight <= innerHeight;
  if (fits) parts.bench.scrollIntoView({ block: "nearest" });
  else parts.controls.scrollIntoView({ block: "start" });
  advance();
}

function pause() {
  if (state.going && last[0] && last[1]) {
    progress("Paused. ");
    say();
  }
  state.going = false;
  parts.go.textContent = "Go on";
}

// Both models take the same number of steps, then both are drawn. A hidden tab waits.
function advance() {
  if (!state.going || state.waiting) return;
  const steps = Math.min(chosen.speed, state.end - last[0].step);
  state.waiting = MODELS.length;
  workers.forEach((worker) => worker.postMessage({ run: state.run, steps }));
}

function receive(model, { run, ...found }) {
  if (run !== state.run) return; // of a training that was given up
  last[model] = found;
  const { patterns, ...kept } = found;
  records[model].push(kept);
  if (--state.waiting) return;
  show();
  host.dataset.ready = "";
  host.dataset.step = found.step;
  const done = found.step >= state.end;
  progress(done ? "Done. " : found.step === 0 ? "Ready. " : "");
  if (done) finish();
  if (done || found.step === 0 || performance.now() - state.said > SAY_EVERY) say();
  requestAnimationFrame(advance);
}

// --- what is shown and said -----------------------------------------------------------------------

const previous = (record) => together(record.previous[0]);
const matching = (record) => together(record.matching.at(-1));
const curve = (model, value) => records[model].map((record) => [record.step, value(record)]);

function show() {
  parts.loss.draw(
    [0, 1].map((model) => curve(model, (record) => record.known)),
    state.end,
  );
  parts.heads.draw([curve(0, previous), curve(0, matching), curve(1, matching)], state.end);
  last.forEach(({ patterns, previous, matching }, model) => {
    parts.pictures[model].forEach((heads, layer) =>
      heads.forEach((picture, head) => {
        const paid = { "one back": previous[layer][head], matching: matching[layer][head] };
        picture.draw(patterns[layer * SHAPE.n_heads + head], paid, chosen.marked);
      }),
    );
  });
}

function progress(opening = "") {
  const [two, one] = last;
  parts.status.textContent = `${opening}Step ${two.step} of ${state.end}.`;
  parts.told =
    `${parts.status.textContent} Loss where the next letter can be known: two layers ` +
    `${two.known.toFixed(2)}, one layer ${one.known.toFixed(2)}. One back ${previous(two).toFixed(2)}, ` +
    `matching ${matching(two).toFixed(2)}; in one layer ${matching(one).toFixed(2)}.`;
}

function say() {
  state.said = performance.now();
  parts.aloud.textContent = parts.told;
  for (const figure of [parts.loss, parts.heads]) figure.describe(last[0].step);
}

function finish() {
  state.going = false;
  parts.go.textContent = `Train ${MORE} steps more`;
  const { found, back, match } = order(records[0]);
  const when = (rise) => (rise ? `rose from step ${rise[0]} to ${rise[1]}` : "never rose so far");
  const rises =
    `The first layer’s attention one back ${when(back)}, the second layer’s to what followed an earlier ` +
    `copy ${when(match)} (from a quarter to three quarters of the way), `;
  parts.verdict.textContent = (match ? rises : "") + FOUND[found] + answer(found);
}

// To the guess. That the second layer needs the first is right, even where it does not wait for it.
function answer(found) {
  const { guess } = chosen;
  if (!guess) return "";
  if (guess === found) return " As you guessed.";
  if (guess !== "first" || found !== "together") return ` Your guess was: “${GUESSES[guess]}”.`;
  return " It needs the first layer, as you guessed, but it does not wait: the more one of them helps, the more the other is worth. Let no layer see positions, and watch both.";
}

build();
begin();
const redraw = new MutationObserver(() => last.every(Boolean) && show());
redraw.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
globalThis.Circuits = { train: { state, records } }; // for tests
