// The attention-only transformer of the book on plain typed arrays: transformer.py once more, to run
// where there is no Python. Tests hold it to PyTorch's logits.
(function (root) {
  "use strict";

  // Sinusoidal positions, as in transformer.py: pairs (sin, cos) times the root of 2, from π radians.
  function positions({ n_ctx, d_model, position_base }) {
    const out = new Float32Array(n_ctx * d_model);
    for (let i = 0; i < d_model; i += 2) {
      const frequency = Math.PI * position_base ** (-i / d_model);
      for (let p = 0; p < n_ctx; p++) {
        out[p * d_model + i] = Math.SQRT2 * Math.sin(p * frequency);
        out[p * d_model + i + 1] = Math.SQRT2 * Math.cos(p * frequency);
      }
    }
    return out;
  }

  // out [n, wide] += A [n, deep] times B [wide, deep] transposed; n a multiple of 4 and wide of 2.
  // In tiles of four rows of A and two of B: three times as fast as one number after the other.
  function addProduct(out, A, B, n, deep, wide) {
    for (let j = 0; j < wide; j += 2) {
      const b0 = j * deep;
      const b1 = b0 + deep;
      for (let i = 0; i < n; i += 4) {
        const a0 = i * deep;
        const a1 = a0 + deep;
        const a2 = a1 + deep;
        const a3 = a2 + deep;
        let s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;
        for (let k = 0; k < deep; k++) {
          const left = B[b0 + k];
          const right = B[b1 + k];
          const x0 = A[a0 + k];
          const x1 = A[a1 + k];
          const x2 = A[a2 + k];
          const x3 = A[a3 + k];
          s00 += x0 * left;
          s01 += x0 * right;
          s10 += x1 * left;
          s11 += x1 * right;
          s20 += x2 * left;
          s21 += x2 * right;
          s30 += x3 * left;
          s31 += x3 * right;
        }
        const row = i * wide + j;
        out[row] += s00;
        out[row + 1] += s01;
        out[row + wide] += s10;
        out[row + wide + 1] += s11;
        out[row + 2 * wide] += s20;
        out[row + 2 * wide + 1] += s21;
        out[row + 3 * wide] += s30;
        out[row + 3 * wide + 1] += s31;
      }
    }
    return out;
  }

  function dot(a, i, b, j, length) {
    let sum = 0;
    for (let k = 0; k < length; k++) sum += a[i + k] * b[j + k];
    return sum;
  }

  class Model {
    constructor(packed) {
      this.config = packed.config;
      this.weights = this.unpack(packed);
      this.positions = positions(packed.config);
    }

    // All are [out, read] as in PyTorch, but W_E, which has one row per token.
    unpack({ tensors, data }) {
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      const weights = {};
      for (const { name, shape, offset } of tensors) {
        const [rows, columns] = shape;
        const scale = new Float32Array(bytes.buffer, offset, rows);
        const whole = new Int8Array(bytes.buffer, offset + 4 * rows, rows * columns);
        const out = new Float32Array(rows * columns);
        for (let r = 0; r < rows; r++) {
          for (let c = 0; c < columns; c++) out[r * columns + c] = whole[r * columns + c] * scale[r];
        }
        weights[name] = out;
      }
      return weights;
    }

    // One pass. `off`: a Set of heads, layer * n_heads + head, whose output is left out.
    // `patterns`: take attention from there instead of computing it, as long as it has the tokens.
    forward(ids, { off = new Set(), patterns = null } = {}) {
      const { n_layers, n_heads, n_ctx, d_model, d_head, n_vocab } = this.config;
      const n = ids.length;
      if (n > n_ctx) throw new Error(`tokens has length ${n} but n_ctx is ${n_ctx}`);
      const rows = 4 * Math.ceil(n / 4); // rows past the last stay zero; see addProduct
      const x = new Float32Array(rows * d_model);
      ids.forEach((id, i) => x.set(this.weights.W_E.subarray(id * d_model, (id + 1) * d_model), i * d_model));
      const run = { ids, rows, off, direct: x.slice(), patterns: [], values: [], norms: [] };
      for (let layer = 0; layer < n_layers; layer++) {
        const results = this.attend(run, x, layer, patterns);
        addProduct(x, results, this.weights[`layers.${layer}.W_O_concat`], rows, n_heads * d_head, d_model);
      }
      run.logits = addProduct(new Float32Array(rows * n_vocab), x, this.weights.W_U, rows, d_model, n_vocab);
      return run;
    }

    // What every head of a layer brings to each position, before its W_O; patterns go into `run`.
    attend(run, x, layer, patterns) {
      const { n_heads, d_model, d_head } = this.config;
      const n = run.ids.length;
      const width = n_heads * d_head;
      const placed = x.map((value, i) => value + this.positions[i]);
      const project = (name, from) => {
        const weight = this.weights[`layers.${layer}.W_${name}_concat`];
        return addProduct(new Float32Array(run.rows * width), from, weight, run.rows, d_model, width);
      };
      const [q, k, v] = [project("Q", placed), project("K", placed), project("V", x)];
      const results = new Float32Array(run.rows * width);
      run.values.push(v);
      for (let head = 0; head < n_heads; head++) {
        const index = layer * n_heads + head;
        const at = head * d_head;
        const A = patterns ? patterns[index] : this.pattern(q, k, n, at, width);
        run.patterns.push(A);
        const norm = (_, j) => Math.sqrt(dot(v, j * width + at, v, j * width + at, d_head));
        run.norms.push(Float32Array.from({ length: n }, norm));
        if (run.off.has(index)) continue;
        this.addMix(results, A, v, n, at, width);
      }
      return results;
    }

    // results += A v for one head, four sources at a time.
    addMix(results, A, v, n, at, width) {
      const { d_head } = this.config;
      for (let i = 0; i < n; i++) {
        const target = i * width + at;
        for (let j = 0; j <= i; j += 4) {
          const from = i * n + j;
          const w0 = A[from];
          const w1 = j + 1 < n ? A[from + 1] : 0;
          const w2 = j + 2 < n ? A[from + 2] : 0;
          const w3 = j + 3 < n ? A[from + 3] : 0;
          const v0 = j * width + at;
          const v1 = v0 + width;
          const v2 = v1 + width;
          const v3 = v2 + width;
          for (let d = 0; d < d_head; d++) {
            results[target + d] += w0 * v[v0 + d] + w1 * v[v1 + d] + w2 * v[v2 + d] + w3 * v[v3 + d];
          }
        }
      }
    }

    pattern(q, k, n, at, width) {
      const { d_head } = this.config;
      const A = new Float32Array(n * n);
      for (let i = 0; i < n; i++) {
        let most = -Infinity;
        for (let j = 0; j <= i; j++) {
          A[i * n + j] = dot(q, i * width + at, k, j * width + at, d_head) / Math.sqrt(d_head);
          most = Math.max(most, A[i * n + j]);
        }
        let sum = 0;
        for (let j = 0; j <= i; j++) sum += A[i * n + j] = Math.exp(A[i * n + j] - most);
        for (let j = 0; j <= i; j++) A[i * n + j] /= sum;
      }
      return A;
    }

    // Direct logit attribution: what the embedding, and each head from each source, add at a
    // position to a token's logit less the mean of all logits. Together they are that logit.
    attribution(run, position, token) {
      const { n_layers, n_heads, d_model, d_head, n_vocab } = this.config;
      const n = run.ids.length;
      const width = n_heads * d_head;
      const W_U = this.weights.W_U;
      this.meanOutput ??= Float32Array.from({ length: d_model }, (_, k) => {
        let sum = 0;
        for (let t = 0; t < n_vocab; t++) sum += W_U[t * d_model + k];
        return sum / n_vocab;
      });
      const direction = this.meanOutput.map((mean, k) => W_U[token * d_model + k] - mean);
      const heads = [];
      for (let layer = 0; layer < n_layers; layer++) {
        const W_O = this.weights[`layers.${layer}.W_O_concat`];
        for (let head = 0; head < n_heads; head++) {
          const index = layer * n_heads + head;
          const read = new Float32Array(d_head);
          for (let k = 0; k < d_model; k++) {
            for (let d = 0; d < d_head; d++) read[d] += direction[k] * W_O[k * width + head * d_head + d];
          }
          const fromSource = (_, j) => {
            if (j > position || run.off.has(index)) return 0;
            const value = dot(run.values[layer], j * width + head * d_head, read, 0, d_head);
            return run.patterns[index][position * n + j] * value;
          };
          heads.push(Float32Array.from({ length: n }, fromSource));
        }
      }
      return { direct: dot(run.direct, position * d_model, direction, 0, d_model), heads };
    }

    // Log-probabilities after a position.
    logProbabilities(run, position) {
      const { n_vocab } = this.config;
      const row = run.logits.subarray(position * n_vocab, (position + 1) * n_vocab);
      const most = row.reduce((a, b) => Math.max(a, b), -Infinity);
      let sum = 0;
      for (const value of row) sum += Math.exp(value - most);
      return row.map((value) => value - most - Math.log(sum));
    }
  }

  (root.Circuits ??= {}).Model = Model;
})(globalThis);
