// The attention-only transformer of the book once more, small and with its backward pass: what
// PyTorch does elsewhere, written by hand. A test holds every gradient to PyTorch's.
//
// All weights are [what it writes, what it reads], as the paper has them, but for W_E, which has
// one row per token. Rows of activations are positions, one context after the other.
(function (root) {
  "use strict";
  root.Circuits.train.sources.push(function (T) {
    "use strict";
    const { addRow, dot } = T;

    // Sinusoidal positions as in transformer.py: pairs (sin, cos) times the root of 2, from π radians.
    function positions({ n_ctx, d_model, position_base }) {
      const out = new Float64Array(n_ctx * d_model);
      for (let i = 0; i < d_model; i += 2) {
        const frequency = Math.PI * position_base ** (-i / d_model);
        for (let p = 0; p < n_ctx; p++) {
          out[p * d_model + i] = Math.SQRT2 * Math.sin(p * frequency);
          out[p * d_model + i + 1] = Math.SQRT2 * Math.cos(p * frequency);
        }
      }
      return out;
    }

    // `seen`: how strongly each layer's queries and keys see positions, 1 or 0. `shifted`: the key
    // of a position is that of the token before; the first, which has none, gets a score of 0.
    T.Model = class {
      constructor(shape, { seen = [1, 1], shifted = false } = {}) {
        this.shape = { ...shape, width: shape.n_heads * shape.d_head };
        this.seen = seen;
        this.shift = shifted ? 1 : 0;
        this.positions = positions(shape);
        const { n_layers, n_vocab, d_model, width } = this.shape;
        this.weights = { W_E: new Float64Array(n_vocab * d_model), W_U: new Float64Array(n_vocab * d_model) };
        for (let layer = 0; layer < n_layers; layer++) {
          for (const name of "QKVO") this.weights[`layers.${layer}.W_${name}_concat`] = new Float64Array(width * d_model);
        }
        this.gradients = {};
        for (const name in this.weights) this.gradients[name] = this.weights[name].slice();
      }

      // W_U begins as 0, so that all tokens get the same logit. Other than in transformer.py, W_O
      // does not: what the heads write can be read at once, which saves the reader some waiting.
      initialise(random) {
        for (const name in this.weights) {
          if (name === "W_E") T.fillNormal(this.weights[name], 1, random);
          else if (name !== "W_U") T.fillNormal(this.weights[name], this.shape.d_model ** -0.5, random);
        }
        return this;
      }

      // Predict the token after each of the first n_ctx; tokens [context, n_ctx + 1].
      // Keeps what the backward pass needs: per layer its input, q, k, v, pattern and results.
      forward(tokens) {
        const { n_layers, n_vocab, n_ctx, d_model, width } = this.shape;
        const n_contexts = tokens.length / (n_ctx + 1);
        const rows = n_contexts * n_ctx;
        const read = Int32Array.from({ length: rows }, (_, row) => tokens[row + Math.floor(row / n_ctx)]);
        const next = Int32Array.from({ length: rows }, (_, row) => tokens[row + Math.floor(row / n_ctx) + 1]);
        const x = new Float64Array(rows * d_model);
        read.forEach((token, row) => addRow(x, row * d_model, 1, this.weights.W_E, token * d_model, d_model));
        const run = { rows, n_contexts, read, next, layers: [] };
        for (let layer = 0; layer < n_layers; layer++) {
          const kept = this.attend(x, layer, run);
          run.layers.push(kept);
          T.addTimesTransposed(x, kept.r, this.weights[`layers.${layer}.W_O_concat`], rows, width, d_model);
        }
        run.x = x;
        const logits = new Float64Array(rows * n_vocab);
        run.probabilities = T.addTimesTransposed(logits, x, this.weights.W_U, rows, d_model, n_vocab);
        for (let row = 0; row < rows; row++) softmax(logits, row * n_vocab, n_vocab);
        run.losses = Float64Array.from(next, (token, row) => -Math.log(run.probabilities[row * n_vocab + token]));
        return run;
      }

      attend(x, layer, { rows, n_contexts }) {
        const { n_heads, n_ctx, d_model, width } = this.shape;
        const placed = x.slice();
        for (let row = 0; row < rows; row++) {
          addRow(placed, row * d_model, this.seen[layer], this.positions, (row % n_ctx) * d_model, d_model);
        }
        const project = (name, from) => {
          const weight = this.weights[`layers.${layer}.W_${name}_concat`];
          return T.addTimesTransposed(new Float64Array(rows * width), from, weight, rows, d_model, width);
        };
        const kept = { x: x.slice(), placed, q: project("Q", placed), k: project("K", placed), v: project("V", x) };
        kept.A = new Float64Array(n_contexts * n_heads * n_ctx * n_ctx);
        kept.r = new Float64Array(rows * width);
        for (let context = 0; context < n_contexts; context++) {
          for (let head = 0; head < n_heads; head++) this.look(kept, context, head);
        }
        return kept;
      }

      // Pattern and results of one head on one context.
      look({ q, k, v, A, r }, context, head) {
        const { n_heads, n_ctx, d_head, width } = this.shape;
        const first = context * n_ctx * width + head * d_head;
        const pattern = (context * n_heads + head) * n_ctx * n_ctx;
        for (let i = 0; i < n_ctx; i++) {
          const at = pattern + i * n_ctx;
          const here = first + i * width;
          for (let j = this.shift; j <= i; j++) {
            A[at + j] = dot(q, here, k, first + (j - this.shift) * width, d_head) / Math.sqrt(d_head);
          }
          softmax(A, at, i + 1);
          for (let j = 0; j <= i; j++) addRow(r, here, A[at + j], v, first + j * width, d_head);
        }
      }

      // Gradients of the mean loss, written into `this.gradients`.
      backward(run) {
        const { n_vocab, d_model } = this.shape;
        const { rows, read, next } = run;
        for (const name in this.gradients) this.gradients[name].fill(0);
        const d_logits = run.probabilities.map((p) => p / rows);
        next.forEach((token, row) => (d_logits[row * n_vocab + token] -= 1 / rows));
        T.addTransposedTimes(this.gradients.W_U, d_logits, run.x, rows, n_vocab, d_model);
        const d_x = T.addTimes(new Float64Array(rows * d_model), d_logits, this.weights.W_U, rows, n_vocab, d_model);
        for (let layer = run.layers.length - 1; layer >= 0; layer--) this.attendBackward(d_x, layer, run);
        read.forEach((token, row) => addRow(this.gradients.W_E, token * d_model, 1, d_x, row * d_model, d_model));
      }

      // Adds to d_x what reaches the stream before the layer through its heads.
      attendBackward(d_x, layer, { rows, n_contexts, layers }) {
        const { n_heads, d_model, width } = this.shape;
        const kept = layers[layer];
        const named = (name) => `layers.${layer}.W_${name}_concat`;
        T.addTransposedTimes(this.gradients[named("O")], d_x, kept.r, rows, d_model, width);
        const d = { q: new Float64Array(rows * width), k: new Float64Array(rows * width), v: new Float64Array(rows * width) };
        d.r = T.addTimes(new Float64Array(rows * width), d_x, this.weights[named("O")], rows, d_model, width);
        for (let context = 0; context < n_contexts; context++) {
          for (let head = 0; head < n_heads; head++) this.lookBackward(kept, d, context, head);
        }
        for (const [name, d_made, from] of [["Q", d.q, kept.placed], ["K", d.k, kept.placed], ["V", d.v, kept.x]]) {
          T.addTransposedTimes(this.gradients[named(name)], d_made, from, rows, width, d_model);
          T.addTimes(d_x, d_made, this.weights[named(name)], rows, width, d_model);
        }
      }

      lookBackward({ q, k, v, A }, d, context, head) {
        const { n_heads, n_ctx, d_head, width } = this.shape;
        const first = context * n_ctx * width + head * d_head;
        const pattern = (context * n_heads + head) * n_ctx * n_ctx;
        const d_A = new Float64Array(n_ctx);
        for (let i = 0; i < n_ctx; i++) {
          const at = pattern + i * n_ctx;
          const here = first + i * width;
          let mean = 0; // of d_A, weighted by attention
          for (let j = 0; j <= i; j++) {
            d_A[j] = dot(d.r, here, v, first + j * width, d_head);
            mean += A[at + j] * d_A[j];
            addRow(d.v, first + j * width, A[at + j], d.r, here, d_head);
          }
          for (let j = this.shift; j <= i; j++) {
            const d_score = (A[at + j] * (d_A[j] - mean)) / Math.sqrt(d_head);
            const there = first + (j - this.shift) * width;
            addRow(d.q, here, d_score, k, there, d_head);
            addRow(d.k, there, d_score, q, here, d_head);
          }
        }
      }
    };

    function softmax(values, from, length) {
      let most = -Infinity;
      for (let i = from; i < from + length; i++) most = Math.max(most, values[i]);
      let sum = 0;
      for (let i = from; i < from + length; i++) sum += values[i] = Math.exp(values[i] - most);
      for (let i = from; i < from + length; i++) values[i] /= sum;
    }
  });
})(globalThis);
