// The attention-only transformer of the book: transformer.py once more, to run where there is no
// Python. Tests hold it to PyTorch's logits. A run keeps what it computed for each position, so that
// a text which goes on where another ended costs only its new tokens.
(function (root) {
  "use strict";

  root.Circuits.live.sources.push(function (T) {
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

    // What is done to a run. `off`: heads, layer * n_heads + head; `how` they are switched off: "zero"
    // (they add nothing), "mean" (they add everywhere the mean of what they add to this text) or
    // "frozen" (nothing, and all patterns stay as they were with all heads on). `cut`: {kind, earlier,
    // later}: the queries, keys or values ("Q", "K", "V") of `later` do not read what `earlier` adds.
    T.WHOLE = { off: [], how: "zero", cut: null };
    T.isWhole = ({ off, cut }) => !off.length && !cut;

    T.Model = class {
      constructor(packed) {
        this.config = packed.config;
        this.width = packed.config.n_heads * packed.config.d_head;
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

      weight(layer, name) {
        return this.weights[`layers.${layer}.W_${name}_concat`];
      }

      embedding(id) {
        const { d_model } = this.config;
        return this.weights.W_E.subarray(id * d_model, (id + 1) * d_model);
      }

      // A run without tokens. Rows are positions; `z`: what each head brings, before its W_O.
      start(spec = T.WHOLE) {
        const { n_layers, n_heads, n_ctx, n_vocab } = this.config;
        const off = new Set(spec.off);
        const rows = (wide) => new Float32Array(n_ctx * wide);
        const perLayer = () => Array.from({ length: n_layers }, () => rows(this.width));
        const perHead = (make) => Array.from({ length: n_layers * n_heads }, make);
        return {
          ids: [], off, how: off.size ? spec.how : "zero", cut: spec.cut,
          k: perLayer(), v: perLayer(), z: perLayer(),
          patterns: perHead(() => []), norms: perHead(() => rows(1)),
          logits: rows(n_vocab), logSum: rows(1),
        }; // prettier-ignore
      }

      // Let a run be about `ids`; what it knows about a common beginning stays. `whole`: the run with
      // all heads on and the same ids, from which means and frozen patterns are taken.
      extend(run, ids, whole = run) {
        const { n_layers, n_ctx, d_model, n_vocab } = this.config;
        const n = ids.length;
        if (n > n_ctx) throw new Error(`tokens has length ${n} but n_ctx is ${n_ctx}`);
        let from = 0;
        while (from < n && run.ids[from] === ids[from]) from++;
        if (run.how === "mean" && !(from === n && run.ids.length === n)) from = 0; // means have changed
        run.ids = Array.from(ids);
        run.patterns.forEach((rows) => (rows.length = Math.min(from, rows.length)));
        if (from === n) return run;
        const x = new Float32Array((n - from) * d_model);
        for (let i = from; i < n; i++) x.set(this.embedding(ids[i]), (i - from) * d_model);
        for (let layer = 0; layer < n_layers; layer++) {
          this.attend(run, x, layer, from, whole);
          const z = run.z[layer].subarray(from * this.width);
          T.addProduct(x, z, this.weight(layer, "O"), n - from, this.width, d_model);
        }
        const logits = run.logits.subarray(from * n_vocab, n * n_vocab).fill(0);
        T.addProduct(logits, x, this.weights.W_U, n - from, d_model, n_vocab);
        for (let i = from; i < n; i++) run.logSum[i] = this.logSum(run.logits, i * n_vocab);
        return run;
      }

      logSum(logits, at) {
        let most = -Infinity;
        let sum = 0;
        const end = at + this.config.n_vocab;
        for (let t = at; t < end; t++) if (logits[t] > most) most = logits[t];
        for (let t = at; t < end; t++) sum += Math.exp(logits[t] - most);
        return most + Math.log(sum);
      }

      // Keys, values, patterns and `z` of one layer, from a position on.
      attend(run, x, layer, from, whole) {
        const { n_heads, d_model, d_head } = this.config;
        const n = run.ids.length;
        const { width } = this;
        const placed = x.map((value, i) => value + this.positions[from * d_model + i]);
        const q = new Float32Array((n - from) * width);
        const [k, v] = [run.k[layer], run.v[layer]].map((all) => all.subarray(from * width, n * width).fill(0));
        T.addProduct(q, placed, this.weight(layer, "Q"), n - from, d_model, width);
        T.addProduct(k, placed, this.weight(layer, "K"), n - from, d_model, width);
        T.addProduct(v, x, this.weight(layer, "V"), n - from, d_model, width);
        if (run.cut && layer === 1) this.lessen({ Q: q, K: k, V: v }[run.cut.kind], run, from);
        run.z[layer].fill(0, from * width, n * width);
        for (let head = 0; head < n_heads; head++) {
          const index = layer * n_heads + head;
          const at = head * d_head;
          const values = run.v[layer];
          for (let i = from; i < n; i++) {
            const row = run.how === "frozen" ? whole.patterns[index][i] : this.look(q, i - from, run.k[layer], i, at);
            run.patterns[index].push(row);
            run.norms[index][i] = Math.sqrt(T.dot(values, i * width + at, values, i * width + at, d_head));
            if (!run.off.has(index)) this.addMix(run.z[layer], row, values, i, at);
          }
          if (run.off.has(index) && run.how === "mean") this.fillMean(run.z[layer], whole.z[layer], n, at);
        }
      }

      // Take from a projection of the second layer what it reads of a head of the first: W W_O z.
      lessen(projected, run, from) {
        const { n_heads, d_model, d_head } = this.config;
        const { kind, earlier, later } = run.cut;
        const top = (later % n_heads) * d_head;
        const left = (earlier % n_heads) * d_head;
        const reads = this.weight(1, kind);
        const block = { left, rows: d_model, columns: d_head, wide: this.width };
        run.edge ??= Array.from({ length: d_head }, (_, r) => {
          const row = reads.subarray((top + r) * d_model, (top + r + 1) * d_model);
          return T.pullBack(row, this.weight(0, "O"), block);
        });
        for (let i = from; i < run.ids.length; i++) {
          const target = (i - from) * this.width + top;
          for (let r = 0; r < d_head; r++) {
            projected[target + r] -= T.dot(run.z[0], i * this.width + left, run.edge[r], 0, d_head);
          }
        }
      }

      // One row of attention: how a query weighs the positions up to its own.
      look(q, row, k, i, at) {
        const { d_head } = this.config;
        const A = new Float32Array(i + 1);
        let most = -Infinity;
        for (let j = 0; j <= i; j++) {
          A[j] = T.dot(q, row * this.width + at, k, j * this.width + at, d_head) / Math.sqrt(d_head);
          if (A[j] > most) most = A[j];
        }
        let sum = 0;
        for (let j = 0; j <= i; j++) sum += A[j] = Math.exp(A[j] - most);
        for (let j = 0; j <= i; j++) A[j] /= sum;
        return A;
      }

      // z of one head at position i += its row of attention times the values.
      addMix(z, row, v, i, at) {
        const { d_head } = this.config;
        const target = i * this.width + at;
        for (let j = 0; j <= i; j++) {
          const from = j * this.width + at;
          const share = row[j];
          for (let d = 0; d < d_head; d++) z[target + d] += share * v[from + d];
        }
      }

      fillMean(z, whole, n, at) {
        for (let d = at; d < at + this.config.d_head; d++) {
          let sum = 0;
          for (let i = 0; i < n; i++) sum += whole[i * this.width + d];
          for (let i = 0; i < n; i++) z[i * this.width + d] = sum / n;
        }
      }
    };
  });
})(globalThis);
