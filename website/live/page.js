// The page on which the book's models run in the reader's browser: it holds the state, asks the worker
// and lets every part of the page show what is found.
import source from "worker";
import { Next, Parts } from "./answers.js";
import { FullCircuits } from "./circuits.js";
import { EXAMPLES, Examples } from "./examples.js";
import { Heads, Picture } from "./heads.js";
import { fromFragment, toFragment } from "./links.js";
import { asking, fetched, latest } from "./models.js";
import { button, checkbox, field, h, select } from "./parts.js";
import { strongest } from "./seen.js";
import { LONGEST, other, randomRepeats, State, tokenizer } from "./state.js";
import { Text } from "./text.js";

const { names, views } = Circuits;
const { isDark } = views;
const LISTED = 8; // likely tokens in a list
const STARTING = "The model is starting …";
const KEPT = "live-model"; // where the browser keeps what was chosen last
const PATIENCE = 100; // milliseconds before it is said that an answer is not there yet
const host = document.querySelector("[data-live-model]");
const askWorker = asking(source);
const added = {}; // promises that the worker has a model, by its name
const parts = {};
let page = null;
let shown = null; // what was found last, of which patterns are used again
let peeked = null; // a head pointed at
let wanted = null; // the model chosen last
let loading = null; // the name of a model that is not there yet
let timer = 0;

// --- the parts of the page ----------------------------------------------------------------------

function area(name, into, content = "") {
  const box = h("div", { class: `lm-area lm-${name}` }, content);
  into.append(box);
  return box;
}

function build() {
  parts.starting = h("p", { class: "lm-starting", role: "status" }, STARTING);
  const columns = ["lm-left", "lm-middle", "lm-right"].map((name) => h("div", { class: name }));
  const [left, middle, right] = columns;
  host.replaceChildren(parts.starting, h("div", { class: "lm-bench" }, ...columns));
  area("top", left, buildTop());
  parts.views = [
    (parts.text = new Text(area("text", left), page)),
    (parts.examples = new Examples(area("examples", left), page)),
    new Heads(area("heads", middle), page),
    new Picture(area("pattern", middle), page),
    new Next(area("next", right), page),
    new Parts(area("parts", right), page),
    new FullCircuits(area("circuits", host), page),
  ];
}

function buildTop() {
  parts.model = select(names, choose);
  const [compare, both] = checkbox("compare", (on) => change({ both: on }));
  parts.both = both;
  const copy = button("Copy a link", async () => {
    const done = navigator.clipboard?.writeText(location.href).then(
      () => true,
      () => false,
    );
    copy.textContent = (await done) ? "Copied" : "See the address bar";
    setTimeout(() => {
      copy.textContent = "Copy a link";
    }, 3000);
  });
  const title = "Twenty random tokens, three times over";
  const random = button("Random tokens", () => replace(randomRepeats(20, 3)), { title });
  const model = field("", parts.model, "Model");
  parts.anew = button("Forget", anew, { title: "Forget what this browser keeps of this page" });
  return h("div", { class: "lm-controls" }, model, compare, random, copy, parts.anew);
}

// --- what is asked ------------------------------------------------------------------------------

async function load(name) {
  if (!Object.hasOwn(Circuits.models, name)) {
    loading = name;
    mark();
    await fetched(name).finally(() => {
      loading = null;
      mark();
    });
  }
  await (added[name] ??= askWorker({ kind: "add", name, packed: Circuits.models[name] }));
}

async function ask({ name, ...request }) {
  await load(name);
  return askWorker({ name, ...request });
}

// All that is shown of the present state; what does not change with a position is kept.
async function find(state) {
  const { all, key, model } = state;
  const known = shown?.key === key ? shown.run : null;
  const request = state.request({ listed: LISTED, patterns: !known });
  const { at, ids } = request;
  const asked = state.asked?.at === at ? state.asked.id : null;
  const { next, parts: terms, ...found } = await ask({ ...request, asked });
  const run = known ?? { ...found, ids, cutOff: all.length > LONGEST ? all.length : 0 };
  const whole = { name: other(model), spec: new State().spec, asked: next.target };
  const beside = state.both && (await ask({ ...request, ...whole, patterns: false })).next;
  return { key, model, run, next, beside, parts: terms, at };
}

const refresh = latest(async () => {
  const { state } = page;
  try {
    const found = await find(state);
    if (found.key !== page.state.key) return; // there is newer
    shown = found;
    state.head ??= strongest(found.parts, state.shape);
    paint();
    writeFragment();
    host.dataset.ready = "";
  } catch (error) {
    fail(error);
    host.dataset.wrong = error.message;
  }
});

function view() {
  const { heads, shape, show, asSource, head } = page.state;
  return { ...shown, heads, shape, show, asSource, head: peeked ?? head };
}

// What is seen is old until the answer about the present state is there.
function isOld() {
  const { state } = page;
  return loading !== null || shown?.key !== state.key || state.both !== Boolean(shown.beside);
}

// What is old fades, and a line says what is awaited.
function mark() {
  const old = isOld();
  host.setAttribute("aria-busy", String(old));
  clearTimeout(timer);
  if (old) timer = setTimeout(sayAwaited, PATIENCE);
  else parts.text.tell(view());
}

function sayAwaited() {
  const line = shown ? parts.text.status : parts.starting;
  line.textContent = loading
    ? `Loading the model of ${names[loading]} …`
    : shown
      ? "Computing …"
      : STARTING;
}

function paint() {
  if (isOld()) return;
  mark();
  parts.starting.remove();
  const seen = view();
  host.toggleAttribute("data-dark", isDark());
  parts.model.value = page.state.model;
  parts.both.checked = page.state.both;
  for (const part of parts.views) part.paint(seen);
}

function writeFragment() {
  const said = toFragment(page.state);
  // Not at every hover: browsers allow only so many changes in a minute.
  if (page.state.looked !== null || location.hash === said) return;
  history.replaceState(null, "", said);
  Book.keep(KEPT, said);
}

function anew() {
  Book.tried(() => localStorage.removeItem(KEPT));
  history.replaceState(null, "", location.pathname);
  location.reload();
}

// --- what the reader does -----------------------------------------------------------------------

function change(what) {
  const { state } = page;
  const before = state.all.join();
  Object.assign(state, what);
  if (state.all.join() !== before) Object.assign(state, { asked: null, example: null });
  mark();
  return refresh();
}

function look(token) {
  if (page.state.looked === token) return;
  page.state.looked = token;
  refresh();
}

// Keep a token under the eye, or let go of it.
function keep(token) {
  change({ token: page.state.token === token ? null : token, looked: null });
}

function peek(head) {
  if (peeked === head) return;
  peeked = head;
  paint();
}

// Other tokens, in a way that can be undone.
function replace(ids) {
  page.state.remember();
  page.state.take(ids);
  return change({ token: null, looked: null, asked: null, example: null });
}

async function write() {
  const { state } = page;
  const { all, spec, model, temperature, seed } = state;
  if (all.length >= LONGEST) return;
  const how = { temperature, seed };
  const { id } = await ask({ kind: "write", name: model, spec, ids: all, how });
  if (state.all.join() !== all.join()) return; // the text has changed meanwhile
  await replace([...all.slice(1), id]);
}

function fail(error) {
  clearTimeout(timer);
  parts.text.status.textContent = error.message;
  parts.model.value = page.state.model;
}

// Only the last choice counts, however long each takes to come.
async function choose(name) {
  wanted = name;
  try {
    await load(name);
  } catch (error) {
    fail(error);
    return;
  }
  if (wanted !== name) return;
  peeked = null;
  await change({ model: name, off: new Set(), cut: null, head: null, asked: null });
}

// The state that a link or an example says.
async function follow(state) {
  wanted = state.model;
  await load(state.model);
  if (wanted !== state.model) return;
  state.settle?.();
  page.state = state;
  peeked = null;
  mark();
  await refresh();
}

async function start() {
  page = { state: new State(), change, look, keep, peek, write, ask, follow, fail };
  build();
  const said = location.hash.length > 1 ? location.hash : Book.kept(KEPT);
  if (said) await follow(fromFragment(said));
  else await parts.examples.begin();
  if (host.dataset.wrong) throw new Error(host.dataset.wrong);
  new MutationObserver(paint).observe(document.documentElement, {
    attributes: true,
    attributeFilter: ["data-theme"],
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
}

addEventListener("hashchange", () => {
  parts.examples.forget();
  follow(fromFragment(location.hash)).catch(fail);
});
start().catch((error) => {
  host.textContent = `The model could not start: ${error.message}`;
});
Circuits.live = { ask, tokenizer, EXAMPLES }; // for tests
