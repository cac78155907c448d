// The training in the tab: its text, Adam, and what is measured along the way.
import { Model, square } from "../live/model.js";
import { fillNormal, random } from "../live/random.js";
import { backward, losses } from "./backward.js";

export const SHAPE = {
  n_heads: 2,
  d_model: 32,
  d_head: 16,
  n_vocab: 16,
  n_ctx: 24,
  position_base: 100,
};
export const PLAN = {
  steps: 600,
  contexts: 8,
  rate: 0.01,
  warmup: 30,
  words: 3,
  shortest: 2,
  longest: 4,
};

// Contexts with words of their own: `words` of them, of random letters that are all different,
// in random order again and again. Words differ in length, so that looking a fixed way back
// finds nothing, nor does it help to know how long ago a letter came.
// Each context is {tokens, inside}: n_ctx + 1 tokens, and for each but the last 1 where the word goes on.
export function contexts(next, n_contexts) {
  const { words, shortest, longest } = PLAN;
  const { n_vocab, n_ctx } = SHAPE;
  const below = (n) => Math.floor(next() * n);
  return Array.from({ length: n_contexts }, () => {
    const left = Array.from({ length: n_vocab }, (_, token) => token);
    const letter = () => left.splice(below(left.length), 1)[0];
    const known = Array.from({ length: words }, () =>
      Array.from({ length: shortest + below(longest - shortest + 1) }, letter),
    );
    const [tokens, inside] = [[], []];
    while (tokens.length <= n_ctx) {
      const word = known[below(words)];
      tokens.push(...word);
      inside.push(...word.map((_, k) => Number(k < word.length - 1)));
    }
    return { tokens: tokens.slice(0, n_ctx + 1), inside: inside.slice(0, n_ctx) };
  });
}

// Contexts on which all models are measured, whatever their seed.
export const probe = () => contexts(random(-1), 12);

// The places after i's earlier copies, up to i itself.
export function matches(tokens, i) {
  const found = [];
  for (let j = 1; j <= i; j++) if (tokens[j - 1] === tokens[i]) found.push(j);
  return found;
}

class Adam {
  constructor(weights) {
    Object.assign(this, { weights, step: 0 });
    [this.gradients, this.means, this.squares] = [zeros(weights), zeros(weights), zeros(weights)];
  }

  update(b1 = 0.9, b2 = 0.99) {
    this.step++;
    const rate = PLAN.rate * Math.min(1, this.step / PLAN.warmup);
    const scale = (rate * Math.sqrt(1 - b2 ** this.step)) / (1 - b1 ** this.step);
    for (const name in this.weights) {
      const [w, g, m, s] = [this.weights, this.gradients, this.means, this.squares].map(
        (all) => all[name],
      );
      for (let i = 0; i < w.length; i++) {
        m[i] += (1 - b1) * (g[i] - m[i]);
        s[i] += (1 - b2) * (g[i] * g[i] - s[i]);
        w[i] -= (scale * m[i]) / (Math.sqrt(s[i]) + 1e-9);
      }
    }
  }
}

// Arrays of the same sizes.
export function zeros(weights) {
  const sized = ([name, weight]) => [name, new weight.constructor(weight.length)];
  return Object.fromEntries(Object.entries(weights).map(sized));
}

// Training of one model. The same seed gives every model the same text.
export class Training {
  constructor({ seed, n_layers, seen, shifted }) {
    this.model = new Model({ ...SHAPE, n_layers }, { Numbers: Float64Array, seen, shifted });
    // W_U begins as 0, so that all tokens get the same logit. Other than in transformer.py, W_O does
    // not: what the heads write can be read at once, which saves the reader some waiting.
    const next = random(seed);
    for (const [name, weight] of Object.entries(this.model.weights)) {
      if (name !== "W_U") fillNormal(weight, name === "W_E" ? 1 : SHAPE.d_model ** -0.5, next);
    }
    this.adam = new Adam(this.model.weights);
    this.text = random(seed + 1e6);
    this.probe = probe();
    this.runs = [];
  }

  // Runs of the model on contexts: it predicts the token after each but the last.
  read(all) {
    return all.map(({ tokens }, k) => {
      this.runs[k] ??= this.model.start();
      this.runs[k].ids = []; // the weights have changed
      return this.model.extend(this.runs[k], tokens.slice(0, -1));
    });
  }

  run(steps) {
    const scale = 1 / (PLAN.contexts * SHAPE.n_ctx);
    for (let step = 0; step < steps; step++) {
      for (const gradient of Object.values(this.adam.gradients)) gradient.fill(0);
      const given = contexts(this.text, PLAN.contexts);
      this.read(given).forEach((run, k) => {
        backward(this.model, run, given[k].tokens.slice(1), this.adam.gradients, scale);
      });
      this.adam.update();
    }
  }

  // Measurements on text that the model never learns from. `known`: the loss in nats at places whose
  // next letter can be known, since the word goes on and the present letter came before. Per layer and
  // head, from 0 to 1: `previous`, attention to the letter before; `matching`, at the known places, to
  // what followed the present letter before. `patterns`: of each head on the first context.
  look() {
    const { n_layers, n_heads } = this.model.config;
    const runs = this.read(this.probe);
    const places = this.probe.flatMap(({ tokens, inside }, context) => {
      const loss = losses(this.model, runs[context], tokens.slice(1));
      return loss.map((value, i) => {
        const found = matches(tokens, i);
        return { context, i, found, loss: value, known: inside[i] && found.length > 0 };
      });
    });
    const known = places.filter((place) => place.known);
    const later = places.filter((place) => place.i);
    const mean = (chosen, value) =>
      chosen.reduce((sum, place) => sum + value(place), 0) / chosen.length;
    // Per layer and head, the mean attention from some places to those that `to` names.
    const attention = (from, to) =>
      Array.from({ length: n_layers }, (_, layer) =>
        Array.from({ length: n_heads }, (_, head) =>
          mean(from, (place) => {
            const row = runs[place.context].patterns[layer * n_heads + head][place.i];
            return together(to(place).map((j) => row[j]));
          }),
        ),
      );
    return {
      step: this.adam.step,
      known: mean(known, ({ loss }) => loss),
      previous: attention(later, ({ i }) => [i - 1]),
      matching: attention(known, ({ found }) => found),
      patterns: runs[0].patterns.map(square),
    };
  }
}

// Sum of what a layer's heads pay: two heads may share a job.
export const together = (heads) => heads.reduce((sum, share) => sum + share, 0);

// Rise of a value: the steps at which it had come a quarter and three quarters of the way from
// its first to its largest. `points`: [[step, value]].
function rise(points) {
  const [[, first]] = points;
  const way = Math.max(...points.map(([, value]) => value)) - first;
  return [0.25, 0.75].map((share) => points.find(([, value]) => value >= first + share * way)[0]);
}

// Order in which two layers learned their jobs. `records`: what `look` found along the way. A layer
// has learned it when one head gives it half of its attention. While both rise, neither is first.
export function order(records) {
  const risen = (of) => {
    const learned = records.some((record) => Math.max(...of(record)) >= 0.5);
    return learned ? rise(records.map((record) => [record.step, together(of(record))])) : null;
  };
  const back = risen((record) => record.previous[0]);
  const match = risen((record) => record.matching[1]);
  const found = !match
    ? "never"
    : !back || match[1] < back[0]
      ? "second"
      : back[1] < match[0]
        ? "first"
        : "together";
  return { found, back, match };
}
