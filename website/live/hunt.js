// The page of circuit hunts: the worker and the views of the live page, on models in which somebody hid a
// circuit. The reader names it, and the worker marks what was named by cutting; the page has no key.
import source from "worker";
import { Chosen, KINDS } from "./chosen.js";
import { Heads, Picture } from "./heads.js";
import { between, named } from "./marking.js";
import { WHOLE } from "./model.js";
import { asking, fetched, latest } from "./models.js";
import { bar, button, checkbox, field, fill, h, select, table } from "./parts.js";
import { Tokens } from "./tokens.js";

const { isDark } = Circuits.views;
const { levels, seeds, share } = Circuits.hunts;
const host = document.querySelector("[data-hunt]");
const ask = asking(source);
const added = {}; // promises that the worker has a model, by its name
const chosen = { ...fromAddress(), line: 0 };
const parts = {};
const page = { state: null, change, look, keep, peek, secret: true }; // no edge is offered
let shown = null; // what was found last
let peeked = null; // a head pointed at
let answer = null; // {heads, edges}, of edges their names; another object after every change
let marked = null; // what the worker said of it

// The hunt that a link names, as level-seed; else the first, and `wrong` says why.
function fromAddress() {
  const named = location.hash.slice(1);
  const [level, seed, ...more] = named.split("-");
  if (Object.hasOwn(levels, level) && seeds.map(String).includes(seed) && !more.length)
    return { level, seed: Number(seed) };
  const first = { level: Object.keys(levels)[0], seed: seeds[0] };
  const all = `levels ${Object.keys(levels).join(", ")} with seeds ${seeds.join(", ")}`;
  const wrong = `The link asks for “${named}”, which is no hunt: there are ${all}. This is ${first.level}-${first.seed}.`;
  return named ? { ...first, wrong } : first;
}

const hunted = () => `hunt-${chosen.level}-${chosen.seed}`;
const lines = () => Circuits.models[page.state.model].lines;
const key = () => JSON.stringify([page.state.model, page.state.spec, chosen.line]);
const possible = () => between(answer.heads, page.state.shape.n_heads);

// --- the parts of the page ----------------------------------------------------------------------

function build() {
  const area = (name, ...content) => h("div", { class: `lm-area lm-${name}` }, ...content);
  const [text, heads, pattern] = ["text", "heads", "pattern"].map((name) => area(name));
  parts.losses = table(["nats, in second copies", "loss", "to scale"]);
  const left = h("div", { class: "lm-left" }, area("top", buildTop()), text, heads);
  const middle = h("div", { class: "lm-middle" }, pattern, area("parts", parts.losses.box));
  const right = h("div", { class: "lm-right" }, area("mine", ...buildAnswer()));
  parts.status = h("p", { class: "lm-starting", role: "status" }, "The hunt is starting …");
  const bench = h("div", { class: "lm-bench" }, left, middle, right);
  host.replaceChildren(parts.status, bench);
  parts.views = [new Tokens(text, page), new Heads(heads, page), new Picture(pattern, page)];
}

function buildTop() {
  const named = Object.entries(levels).map(([level, what]) => [level, `${level}: ${what}`]);
  parts.level = select(Object.fromEntries(named), (level) => start({ level }));
  const numbers = Object.fromEntries(seeds.map((seed) => [seed, seed]));
  parts.seed = select(numbers, (seed) => start({ seed: Number(seed) }));
  const next = () => start({ seed: seeds[(seeds.indexOf(chosen.seed) + 1) % seeds.length] });
  parts.line = select({}, (line) => {
    chosen.line = Number(line);
    change({ token: null });
  });
  return h(
    "div",
    { class: "lm-controls" },
    field("Level", parts.level),
    field("Seed", parts.seed),
    button("Another one", next),
    field("Line", parts.line),
  );
}

function buildAnswer() {
  parts.heads = h("div", { class: "lm-named", role: "group", "aria-label": "Heads that I name" });
  parts.edges = table(["edge, into its", ...Object.values(KINDS)]);
  parts.verdict = h("p", { class: "lm-verdict", role: "status" });
  const every = () => {
    answer = { ...answer, edges: possible().map(named) };
    offer();
    say(null);
  };
  parts.every = button("Name every edge", every);
  const part = `${(100 * share).toFixed(0)}%`;
  const rule = `Alone, your answer may miss ${part} of what the heads gain; without any of its parts, more must be missing.`;
  return [
    h("h2", { class: "lm-title" }, "My answer: these heads"),
    parts.heads,
    parts.edges.box,
    h(
      "div",
      { class: "lm-controls" },
      button("Mark my answer", () => mark().catch(fail)),
      parts.every,
    ),
    parts.verdict,
    h("p", { class: "lm-note" }, rule),
  ];
}

// The boxes of a new model, none of them checked.
function empty() {
  answer = { heads: [], edges: [] };
  const boxes = page.state.heads.map(
    (name, head) => checkbox(name, (on) => turn("heads", head, on))[0],
  );
  parts.heads.replaceChildren(...boxes);
  offer();
  say(null);
}

function turn(what, one, on) {
  const others = answer[what].filter((other) => other !== one);
  answer = { ...answer, [what]: on ? [...others, one] : others };
  if (what === "heads") offer();
  say(null);
}

// An edge can be named where both of its heads are; with a head, its edges go.
function offer() {
  const { heads } = page.state;
  const all = possible();
  answer.edges = all.map(named).filter((edge) => answer.edges.includes(edge));
  const box = (edge) => {
    const name = named(edge);
    const [, input] = checkbox("", (on) => turn("edges", name, on), answer.edges.includes(name));
    const said = `${heads[edge.earlier]} into the ${KINDS[edge.kind]} of ${heads[edge.later]}`;
    input.setAttribute("aria-label", said);
    return input;
  };
  const rows = all
    .filter(({ kind }) => kind === "K")
    .map(({ later, earlier }) => [
      `${heads[earlier]} → ${heads[later]}`,
      ...Object.keys(KINDS).map((kind) => box({ kind, later, earlier })),
    ]);
  fill(parts.edges.body, rows);
  parts.every.disabled = !rows.length;
  parts.edges.box.querySelector("thead").hidden = !rows.length;
  parts.edges.caption.textContent = rows.length
    ? "and these edges"
    : "and edges, once a head of each layer is named";
}

// --- what is asked ------------------------------------------------------------------------------

// A line up to the last token that counts.
function line() {
  const { tokens, targets } = lines();
  const last = targets[chosen.line].findLastIndex((id) => id >= 0);
  return tokens[chosen.line].slice(0, last + 2);
}

async function find({ model: name, spec, heads }) {
  const ids = line();
  const run = await ask({ kind: "look", name, spec, ids, at: 0, listed: 1, patterns: true });
  const specs = [WHOLE, { ...WHOLE, off: [...heads.keys()] }, spec];
  const { nats } = await ask({ kind: "losses", name, specs, lines: lines() });
  const losses = ["the whole model", "no head", "as cut now"].map((who, i) => [who, nats[i]]);
  return { run: { ...run, ids }, losses };
}

const refresh = latest(async () => {
  const about = key();
  const found = await find(page.state);
  if (about !== key()) return; // there is newer
  shown = { ...found, key: about };
  parts.status.textContent = "";
  paint();
  host.dataset.ready = "";
});

const fail = (error) => {
  parts.status.textContent = error.message;
};

function paint() {
  const old = shown?.key !== key();
  host.setAttribute("aria-busy", String(old));
  if (old) return;
  const { state } = page;
  const { heads, shape, show, asSource } = state;
  const at = state.at(shown.run.ids.length);
  const view = { ...shown, heads, shape, show, asSource, at, head: peeked ?? state.head };
  host.toggleAttribute("data-dark", isDark());
  for (const part of parts.views) part.paint(view);
  const mine = marked ? [["what I named, alone", marked.alone]] : [];
  const losses = [...shown.losses, ...mine];
  const most = Math.max(...losses.map(([, nats]) => nats));
  fill(
    parts.losses.body,
    losses.map(([who, nats]) => [who, nats.toFixed(2), bar(nats / most, "plain")]),
  );
}

// --- what the reader does -----------------------------------------------------------------------

async function begin(what) {
  Object.assign(chosen, what, { line: 0 });
  for (const what of ["level", "seed"]) parts[what].value = chosen[what];
  history.replaceState(null, "", `#${chosen.level}-${chosen.seed}`);
  const name = hunted();
  await fetched(name);
  await (added[name] ??= ask({ kind: "add", name, packed: Circuits.models[name] }));
  if (name !== hunted()) return; // another was chosen meanwhile
  page.state = new Chosen(name);
  peeked = null;
  const options = lines().tokens.map((_, i, all) => new Option(`${i + 1} of ${all.length}`, i));
  parts.line.replaceChildren(...options);
  empty();
  await refresh();
}

const start = (what) => begin(what).catch(fail);

function change(what) {
  Object.assign(page.state, what);
  paint();
  return refresh().catch(fail);
}

function look(token) {
  page.state.looked = token;
  paint();
}

// Keep a token under the eye, or let go of it.
function keep(token) {
  change({ token: page.state.token === token ? null : token, looked: null });
}

function peek(head) {
  peeked = head;
  paint();
}

function say(found) {
  marked = found;
  const verdict = found && `${found.right ? "✓ right" : "✗ not yet"}: ${found.because}`;
  parts.verdict.textContent = verdict ?? "";
  paint();
}

async function mark() {
  const about = answer;
  if (!about.heads.length) {
    parts.verdict.textContent =
      "Choose first: tick the heads that you name, then the edges between them.";
    return;
  }
  const { heads, edges } = about;
  const asked = { heads, edges: possible().filter((edge) => edges.includes(named(edge))) };
  parts.verdict.textContent = "Cutting …";
  const { model: name } = page.state;
  const found = await ask({ kind: "mark", name, lines: lines(), answer: asked, share });
  if (about === answer) say(found);
}

build();
start({}).then(() => {
  if (chosen.wrong) parts.verdict.textContent = chosen.wrong;
  new MutationObserver(paint).observe(document.documentElement, {
    attributes: true,
    attributeFilter: ["data-theme"],
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
});
