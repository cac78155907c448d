// The worker in which the models run, so that typing never waits for them. Messages {id, kind, …} are
// each answered by {id, found} or {id, error}.
import { loss, mark } from "./marking.js";
import { isWhole, Model, square, WHOLE } from "./model.js";
import { attribution, circuits, logProbability, next, norms, write } from "./questions.js";

const MOST_RUNS = 5; // kept, each some megabytes: of both models, whole and changed
const models = {};
const runs = new Map(); // by model and what is done to it, the latest used last

function run(name, spec, ids) {
  const whole = isWhole(spec) ? undefined : run(name, WHOLE, ids);
  const key = JSON.stringify([name, isWhole(spec) ? WHOLE : spec]);
  const known = runs.get(key) ?? models[name].start(spec);
  runs.delete(key);
  runs.set(key, known);
  if (runs.size > MOST_RUNS) runs.delete(runs.keys().next().value);
  return models[name].extend(known, ids, whole);
}

const requests = {
  add({ name, packed }) {
    models[name] ??= Model.unpack(packed);
    return {};
  },

  // About a text: losses, and with `patterns` where heads look; about a position, its next tokens and
  // who says so.
  look({ name, spec, ids, at, asked, listed, patterns }) {
    const start = performance.now();
    const model = models[name];
    const found = run(name, spec, ids);
    const whole = isWhole(spec) ? found : run(name, WHOLE, ids);
    const loss = ids.map((id, i) => (i ? -logProbability(model, found, i - 1, id) : null));
    const out = { at, loss, next: next(model, found, whole, at, asked, listed) };
    out.parts = attribution(model, found, at, out.next.target);
    if (patterns) {
      Object.assign(out, { patterns: found.patterns.map(square), norms: norms(model, found) });
    }
    return { ...out, spent: performance.now() - start };
  },

  write({ name, spec, ids, how }) {
    return { id: write(models[name], run(name, spec, ids), how) };
  },

  circuits({ name, head, token, begin }) {
    return circuits(models[name], head, token, begin);
  },

  // About a hunt: its losses with this or that done to the model, and whether an answer is right.
  losses({ name, specs, lines }) {
    return { nats: specs.map((spec) => loss(models[name], lines, spec)) };
  },

  mark({ name, lines, answer, share }) {
    return mark(models[name], lines, answer, share);
  },

  // For tests: all logits [position, n_vocab]; and to begin again without what is known.
  logits({ name, spec, ids }) {
    const { n_vocab } = models[name].config;
    return { logits: run(name, spec, ids).logits.slice(0, ids.length * n_vocab) };
  },

  forget() {
    runs.clear();
    return {};
  },
};

self.onmessage = ({ data: { id, kind, ...request } }) => {
  try {
    self.postMessage({ id, found: requests[kind](request) });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
};
