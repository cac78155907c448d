// The attention-only transformer of the book: transformer.py once more, to run where there is no
// Python. Tests hold it to PyTorch's logits. A run keeps what it computed for each position, so that a
// text which goes on where another ended costs only its new tokens. The page on which a model learns
// adds the way back (train/backward.js).
import { addRow, addTimesTransposed, dot, pullBack } from "./products.js";

// What is done to a run. `off`: heads, layer * n_heads + head, that add nothing. `cuts`, each {kind, earlier,
// later}: the queries, keys or values ("Q", "K", "V") of `later` do not read what `earlier` adds.
export const WHOLE = { off: [], cuts: [] };

export class Model {
  // `Numbers`: what weights and activations are held in. `seen`: how strongly each layer's queries and
  // keys see positions. `shifted`: the key of a position is that of the token before; the first, which
  // has none, gets a score of 0. All weights are [out, read] as in PyTorch, but W_E, which has one row
  // per token. They begin as 0.
  constructor(config, { Numbers = Float32Array, seen = [], shifted = false } = {}) {
    const { n_layers, n_heads, d_head, n_vocab, d_model } = config;
    Object.assign(this, { config, Numbers, seen, width: n_heads * d_head, shift: Number(shifted) });
    this.edges = {}; // W W_O of what was ever cut
    this.positions = this.waves();
    this.weights = { W_E: new Numbers(n_vocab * d_model), W_U: new Numbers(n_vocab * d_model) };
    for (let layer = 0; layer < n_layers; layer++) {
      for (const name of "QKVO") {
        this.weights[`layers.${layer}.W_${name}_concat`] = new Numbers(this.width * d_model);
      }
    }
  }

  // The model that Python packed: of each matrix a scale for every row, then whole numbers. W_P is among
  // them where positions are not `waves`.
  static unpack({ config, tensors, data }) {
    const model = new Model(config);
    const { buffer } = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    for (const { name, shape, offset } of tensors) {
      const [rows, columns] = shape;
      const into = name === "W_P" ? model.positions.fill(0) : model.weights[name];
      const scales = new Float32Array(buffer, offset, rows);
      const whole = new Int8Array(buffer, offset + 4 * rows, rows * columns);
      scales.forEach((scale, row) => {
        addRow(into, row * columns, scale, whole, row * columns, columns);
      });
    }
    return model;
  }

  // Sinusoidal positions as in transformer.py: pairs (sin, cos) times the root of 2, from π radians.
  waves() {
    const { n_ctx, d_model, position_base } = this.config;
    const out = new this.Numbers(n_ctx * d_model);
    for (let i = 0; i < d_model; i += 2) {
      const frequency = Math.PI * position_base ** (-i / d_model);
      for (let p = 0; p < n_ctx; p++) {
        out[p * d_model + i] = Math.SQRT2 * Math.sin(p * frequency);
        out[p * d_model + i + 1] = Math.SQRT2 * Math.cos(p * frequency);
      }
    }
    return out;
  }

  weight(layer, name) {
    return this.weights[`layers.${layer}.W_${name}_concat`];
  }

  embedding(id) {
    const { d_model } = this.config;
    return this.weights.W_E.subarray(id * d_model, (id + 1) * d_model);
  }

  // A run without tokens. Rows are positions. `x`: the residual stream before each layer, and after the
  // last; `Q`, `K`, `V`: all queries, keys and values of each layer; `z`: what each head brings, before
  // its W_O; `patterns`: of every head, one row of attention per position.
  start(spec = WHOLE) {
    const { n_layers, n_heads, n_ctx, d_model, n_vocab } = this.config;
    const rows = (wide) => new this.Numbers(n_ctx * wide);
    const layers = (wide, count = n_layers) => Array.from({ length: count }, () => rows(wide));
    return {
      ids: [],
      off: new Set(spec.off),
      cuts: spec.cuts,
      x: layers(d_model, n_layers + 1),
      Q: layers(this.width),
      K: layers(this.width),
      V: layers(this.width),
      z: layers(this.width),
      patterns: Array.from({ length: n_layers * n_heads }, () => []),
      logits: rows(n_vocab),
      logSum: rows(1),
    };
  }

  // Let a run be about `ids`; what it knows about a common beginning stays. `predicts`: false where places
  // are predicted one by one.
  extend(run, ids, { predicts = true } = {}) {
    const { n_layers, n_ctx, d_model } = this.config;
    const n = ids.length;
    if (n > n_ctx) throw new Error(`tokens has length ${n} but n_ctx is ${n_ctx}`);
    let from = 0;
    while (from < n && run.ids[from] === ids[from]) from++;
    run.ids = Array.from(ids);
    for (const rows of run.patterns) rows.length = Math.min(from, rows.length);
    if (from === n) return run;
    const added = (all, wide) => all.subarray(from * wide, n * wide);
    for (let i = from; i < n; i++) run.x[0].set(this.embedding(ids[i]), i * d_model);
    for (let layer = 0; layer < n_layers; layer++) {
      this.attend(run, layer, from);
      const x = added(run.x[layer + 1], d_model);
      x.set(added(run.x[layer], d_model));
      const z = added(run.z[layer], this.width);
      addTimesTransposed(x, z, this.weight(layer, "O"), n - from, this.width, d_model);
    }
    if (predicts) this.predict(run, from, n);
    return run;
  }

  // What comes next at the positions from one to before another: most of the work of a short text.
  predict(run, from, to) {
    const { n_layers, d_model, n_vocab } = this.config;
    const x = run.x[n_layers].subarray(from * d_model, to * d_model);
    const logits = run.logits.subarray(from * n_vocab, to * n_vocab).fill(0);
    addTimesTransposed(logits, x, this.weights.W_U, to - from, d_model, n_vocab);
    for (let i = from; i < to; i++) {
      const own = run.logits.subarray(i * n_vocab, (i + 1) * n_vocab);
      const most = largest(own);
      run.logSum[i] = most + Math.log(own.reduce((sum, value) => sum + Math.exp(value - most), 0));
    }
  }

  // The stream before a layer with positions added, from a position on: what queries and keys read.
  placed(run, layer, from = 0) {
    const { d_model } = this.config;
    const [start, end] = [from * d_model, run.ids.length * d_model];
    const placed = run.x[layer].slice(start, end);
    addRow(placed, 0, this.seen[layer] ?? 1, this.positions, start, end - start);
    return placed;
  }

  // Queries, keys, values, patterns and `z` of one layer, from a position on.
  attend(run, layer, from) {
    const { n_heads, d_model, d_head } = this.config;
    const { width } = this;
    const n = run.ids.length;
    const placed = this.placed(run, layer, from);
    const reads = { Q: placed, K: placed, V: run.x[layer].subarray(from * d_model) };
    for (const [name, read] of Object.entries(reads)) {
      const out = run[name][layer].subarray(from * width, n * width).fill(0);
      addTimesTransposed(out, read, this.weight(layer, name), n - from, d_model, width);
    }
    if (layer === 1) for (const cut of run.cuts) this.lessen(run, cut, from);
    const z = run.z[layer].fill(0, from * width, n * width);
    for (let head = 0; head < n_heads; head++) {
      const index = layer * n_heads + head;
      const at = head * d_head;
      for (let i = from; i < n; i++) {
        const row = this.look(run, layer, head, i);
        run.patterns[index].push(row);
        if (run.off.has(index)) continue;
        row.forEach((share, j) => {
          addRow(z, i * width + at, share, run.V[layer], j * width + at, d_head);
        });
      }
    }
  }

  // Take from a projection of the second layer what it reads of a head of the first: W W_O z.
  lessen(run, cut, from) {
    const { n_heads, d_model, d_head } = this.config;
    const { kind, earlier, later } = cut;
    const { width } = this;
    const top = (later % n_heads) * d_head;
    const left = (earlier % n_heads) * d_head;
    const block = { left, rows: d_model, columns: d_head, wide: width };
    const edge = (this.edges[`${kind} ${earlier} ${later}`] ??= Array.from(
      { length: d_head },
      (_, r) => {
        const row = this.weight(1, kind).subarray((top + r) * d_model, (top + r + 1) * d_model);
        return pullBack(row, this.weight(0, "O"), block);
      },
    ));
    for (let i = from; i < run.ids.length; i++) {
      edge.forEach((row, r) => {
        run[kind][1][i * width + top + r] -= dot(run.z[0], i * width + left, row, 0, d_head);
      });
    }
  }

  // One row of attention: how the query of position i weighs the positions up to its own.
  look(run, layer, head, i) {
    const { d_head } = this.config;
    const { shift, width } = this;
    const [Q, K, at] = [run.Q[layer], run.K[layer], head * d_head];
    const A = new this.Numbers(i + 1);
    for (let j = shift; j <= i; j++) {
      A[j] = dot(Q, i * width + at, K, (j - shift) * width + at, d_head) / Math.sqrt(d_head);
    }
    const most = largest(A);
    let sum = 0;
    for (let j = 0; j <= i; j++) {
      A[j] = Math.exp(A[j] - most);
      sum += A[j];
    }
    for (let j = 0; j <= i; j++) A[j] /= sum;
    return A;
  }
}

function largest(values) {
  let most = -Infinity;
  for (const value of values) if (value > most) most = value;
  return most;
}

// Rows of attention as one square [n, n].
export function square(rows) {
  const out = new Float32Array(rows.length ** 2);
  rows.forEach((row, i) => {
    out.set(row, i * rows.length);
  });
  return out;
}
