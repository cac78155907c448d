// What is asked about a run: how likely a next token is, which parts of the model raise one, and what a
// head's circuits say about a token alone.
import { addTimesTransposed, dot, pullBack, push } from "./products.js";

export const logProbability = (model, run, at, id) =>
  run.logits[at * model.config.n_vocab + id] - run.logSum[at];

// The ids of the largest values, largest first.
export function largest(values, n) {
  return Array.from(values.keys())
    .sort((a, b) => values[b] - values[a])
    .slice(0, n);
}

// Direct logit attribution: what the embedding, and each head, add at a position to a token's logit less
// the mean of all logits. `direct` and `totals` together are that logit.
export function attribution(model, run, at, token) {
  const { n_layers, n_heads, d_model, d_head, n_vocab } = model.config;
  const { width } = model;
  const { W_U } = model.weights;
  model.meanOutput ??= pullBack(new Float32Array(n_vocab).fill(1 / n_vocab), W_U, {
    rows: n_vocab,
    columns: d_model,
    wide: d_model,
  });
  const direction = model.meanOutput.map((mean, k) => W_U[token * d_model + k] - mean);
  const totals = [];
  for (let index = 0; index < n_layers * n_heads; index++) {
    const layer = Math.floor(index / n_heads);
    const left = (index % n_heads) * d_head;
    const read = pullBack(direction, model.weight(layer, "O"), {
      left,
      rows: d_model,
      columns: d_head,
      wide: width,
    });
    totals.push(dot(run.z[layer], at * width + left, read, 0, d_head));
  }
  return { direct: dot(model.embedding(run.ids[at]), 0, direction, 0, d_model), totals };
}

// The OV circuit of a head, W_U W_OV W_E, for one token as the source: what each token's logit gains, less
// the mean over all, when all attention is on it.
export function raised(model, index, token) {
  const { n_heads, d_model, d_head, n_vocab } = model.config;
  const layer = Math.floor(index / n_heads);
  const top = (index % n_heads) * d_head;
  const reads = { top, rows: d_head, columns: d_model, wide: d_model };
  const value = push(model.embedding(token), model.weight(layer, "V"), reads);
  const written = push(value, model.weight(layer, "O"), {
    left: top,
    rows: d_model,
    columns: d_head,
    wide: model.width,
  });
  const logits = push(written, model.weights.W_U, {
    rows: n_vocab,
    columns: d_model,
    wide: d_model,
  });
  const mean = logits.reduce((a, b) => a + b, 0) / n_vocab;
  return logits.map((value) => value - mean);
}

// The full circuits of a head for one token as the source: `logits` as in `raised`; `attention` that each
// destination pays to it in the shortest context that has both (begin, source, destination),
// without positions. As in analysis/one_layer/skip_trigrams.py.
export function circuits(model, index, token, begin) {
  const { n_heads, d_model, d_head, n_vocab } = model.config;
  const layer = Math.floor(index / n_heads);
  const top = (index % n_heads) * d_head;
  const { W_E } = model.weights;
  const reads = { top, rows: d_head, columns: d_model, wide: d_model };
  const vocabulary = { rows: n_vocab, columns: d_model, wide: d_model };
  const asKey = (id) => {
    const key = push(model.embedding(id), model.weight(layer, "K"), reads);
    return push(pullBack(key, model.weight(layer, "Q"), reads), W_E, vocabulary);
  };
  const score = asKey(token);
  const rest = asKey(begin);
  const self = ((model.selves ??= {})[index] ??= selfScores(model, layer, top));
  const scale = 1 / Math.sqrt(d_head);
  const attention = score.map((value, d) => {
    return 1 / (1 + Math.exp((rest[d] - value) * scale) + Math.exp((self[d] - value) * scale));
  });
  return {
    logits: raised(model, index, token),
    attention: token === begin ? attention.fill(0) : attention,
  };
}

// The score of every token with itself: the diagonal of W_E^T W_QK W_E.
function selfScores(model, layer, top) {
  const { d_model, d_head, n_vocab } = model.config;
  const block = (name) =>
    model.weight(layer, name).subarray(top * d_model, (top + d_head) * d_model);
  const project = (name) =>
    addTimesTransposed(
      new Float32Array(n_vocab * d_head),
      model.weights.W_E,
      block(name),
      n_vocab,
      d_model,
      d_head,
    );
  const [q, k] = [project("Q"), project("K")];
  return Float32Array.from({ length: n_vocab }, (_, t) =>
    dot(q, t * d_head, k, t * d_head, d_head),
  );
}
