// The way back through model.js: what PyTorch does elsewhere, written by hand. A test holds every
// gradient to PyTorch's, and to differences.
import { addRow, addTimes, addTransposedTimes, dot } from "../live/products.js";

// Losses in nats, one per position: of the token that comes after each.
export function losses(model, run, next) {
  const { n_vocab } = model.config;
  return Array.from(next, (token, i) => run.logSum[i] - run.logits[i * n_vocab + token]);
}

// Adds to `gradients`, by the names of the weights, those of the sum of a run's losses times `scale`.
export function backward(model, run, next, gradients, scale) {
  const { n_layers, n_vocab, d_model } = model.config;
  const n = run.ids.length;
  const d_logits = run.logits
    .subarray(0, n * n_vocab)
    .map((logit, at) => scale * Math.exp(logit - run.logSum[Math.floor(at / n_vocab)]));
  next.forEach((token, i) => {
    d_logits[i * n_vocab + token] -= scale;
  });
  addTransposedTimes(gradients.W_U, d_logits, run.x[n_layers], n, n_vocab, d_model);
  const d_x = new model.Numbers(n * d_model);
  addTimes(d_x, d_logits, model.weights.W_U, n, n_vocab, d_model);
  for (let layer = n_layers - 1; layer >= 0; layer--) {
    attendBackward(model, run, layer, d_x, gradients);
  }
  run.ids.forEach((id, i) => {
    addRow(gradients.W_E, id * d_model, 1, d_x, i * d_model, d_model);
  });
}

// Adds to d_x, the gradient of the stream after a layer, what reaches it through the layer's heads.
function attendBackward(model, run, layer, d_x, gradients) {
  const { n_heads, d_model } = model.config;
  const { width } = model;
  const n = run.ids.length;
  const named = (name) => `layers.${layer}.W_${name}_concat`;
  addTransposedTimes(gradients[named("O")], d_x, run.z[layer], n, d_model, width);
  const rows = () => new model.Numbers(n * width);
  const d = { Q: rows(), K: rows(), V: rows(), z: rows() };
  addTimes(d.z, d_x, model.weight(layer, "O"), n, d_model, width);
  for (let head = 0; head < n_heads; head++) lookBackward(model, run, layer, head, d);
  const placed = model.placed(run, layer);
  for (const [name, read] of Object.entries({ Q: placed, K: placed, V: run.x[layer] })) {
    addTransposedTimes(gradients[named(name)], d[name], read, n, width, d_model);
    addTimes(d_x, d[name], model.weight(layer, name), n, width, d_model);
  }
}

// Adds to d.Q, d.K and d.V of one head what d.z, the gradient of what it brings, says of them.
function lookBackward(model, run, layer, head, d) {
  const { n_heads, d_head } = model.config;
  const { shift, width } = model;
  const [Q, K, V] = [run.Q[layer], run.K[layer], run.V[layer]];
  const place = (i) => i * width + head * d_head;
  run.patterns[layer * n_heads + head].forEach((A, i) => {
    const here = place(i);
    const d_A = A.map((_, j) => dot(d.z, here, V, place(j), d_head));
    const mean = dot(A, 0, d_A, 0, A.length);
    A.forEach((share, j) => {
      addRow(d.V, place(j), share, d.z, here, d_head);
      if (j < shift) return;
      const d_score = (share * (d_A[j] - mean)) / Math.sqrt(d_head);
      addRow(d.Q, here, d_score, K, place(j - shift), d_head);
      addRow(d.K, place(j - shift), d_score, Q, here, d_head);
    });
  });
}
