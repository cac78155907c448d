// The training in the tab: its text, Adam, what is measured along the way, and the worker.
(function (root) {
  "use strict";
  root.Circuits.train.sources.push(function (T) {
    "use strict";
    T.SHAPE = { n_heads: 2, d_model: 32, d_head: 16, n_vocab: 16, n_ctx: 24, position_base: 100 };
    T.PLAN = { steps: 1500, contexts: 8, rate: 0.01, warmup: 30, shortest: 2, longest: 12 };

    // Contexts of different random tokens, again and again: tokens [context, n_ctx + 1] and the
    // length of each passage. Lengths differ, so that looking a fixed way back finds nothing.
    T.passages = function (random, n_contexts, { shortest, longest } = T.PLAN, { n_vocab, n_ctx } = T.SHAPE) {
      const lengths = Array.from({ length: n_contexts }, () => shortest + Math.floor(random() * (longest - shortest + 1)));
      const tokens = new Int32Array(n_contexts * (n_ctx + 1));
      lengths.forEach((length, context) => {
        const all = Array.from({ length: n_vocab }, (_, token) => token);
        const passage = Array.from({ length }, () => all.splice(Math.floor(random() * all.length), 1)[0]);
        for (let i = 0; i <= n_ctx; i++) tokens[context * (n_ctx + 1) + i] = passage[i % length];
      });
      return { tokens, lengths };
    };

    // What models are measured on: the same for all seeds, without the shortest passages, where a
    // head that looks anywhere finds much.
    T.probe = function (plan = T.PLAN, shape = T.SHAPE) {
      return T.passages(T.random(-1), 12, { shortest: 7, longest: plan.longest }, shape);
    };

    T.Adam = class {
      constructor({ weights, gradients }, { rate, warmup }) {
        Object.assign(this, { weights, gradients, rate, warmup, step: 0, means: {}, squares: {} });
        for (const name in weights) {
          this.means[name] = new Float64Array(weights[name].length);
          this.squares[name] = new Float64Array(weights[name].length);
        }
      }

      update(b1 = 0.9, b2 = 0.99) {
        this.step++;
        const rate = this.rate * Math.min(1, this.step / this.warmup);
        const scale = (rate * Math.sqrt(1 - b2 ** this.step)) / (1 - b1 ** this.step);
        for (const name in this.weights) {
          const [w, g, m, s] = [this.weights, this.gradients, this.means, this.squares].map((all) => all[name]);
          for (let i = 0; i < w.length; i++) {
            m[i] += (1 - b1) * (g[i] - m[i]);
            s[i] += (1 - b2) * (g[i] * g[i] - s[i]);
            w[i] -= (scale * m[i]) / (Math.sqrt(s[i]) + 1e-9);
          }
        }
      }
    };

    // One model that learns. The same seed gives every model the same text.
    T.Training = class {
      constructor({ seed, n_layers, seen, shifted, plan = T.PLAN, shape = T.SHAPE }) {
        this.model = new T.Model({ ...shape, n_layers }, { seen, shifted }).initialise(T.random(seed));
        this.plan = plan;
        this.adam = new T.Adam(this.model, plan);
        this.text = T.random(seed + 1e6);
        this.probe = T.probe(plan, shape);
      }

      run(steps) {
        for (let step = 0; step < steps; step++) {
          const { tokens } = T.passages(this.text, this.plan.contexts, this.plan, this.model.shape);
          this.model.backward(this.model.forward(tokens));
          this.adam.update();
        }
      }

      // What the model does on text that it never learns from. Per layer and head, from 0 to 1:
      // `previous`, attention to the token before; `matching`, attention to what followed the
      // present token before. Both where the passage has come before, as is `again`, the loss in
      // nats; `fresh` is the loss where it has not.
      look() {
        const { n_ctx, n_heads, n_vocab } = this.model.shape;
        const run = this.model.forward(this.probe.tokens);
        const repeated = (row) => row % n_ctx >= this.probe.lengths[Math.floor(row / n_ctx)];
        const known = (row) => row % n_ctx >= this.probe.lengths[Math.floor(row / n_ctx)] - 1;
        const rows = Array.from(run.read.keys());
        const mean = (chosen, value) => chosen.reduce((sum, row) => sum + value(row), 0) / chosen.length;
        const attention = (layer, head, row, j) =>
          run.layers[layer].A[((Math.floor(row / n_ctx) * n_heads + head) * n_ctx + (row % n_ctx)) * n_ctx + j];
        const heads = (measure) =>
          run.layers.map((_, layer) =>
            Array.from({ length: n_heads }, (_, head) => mean(rows.filter(repeated), (row) => measure(layer, head, row)))
          );
        return {
          step: this.adam.step,
          fresh: mean(rows.filter((row) => !known(row)), (row) => run.losses[row]),
          again: mean(rows.filter(known), (row) => run.losses[row]),
          previous: heads((layer, head, row) => attention(layer, head, row, (row % n_ctx) - 1)),
          matching: heads((layer, head, row) => {
            const length = this.probe.lengths[Math.floor(row / n_ctx)];
            let sum = 0;
            for (let j = (row % n_ctx) - length + 1; j > 0; j -= length) sum += attention(layer, head, row, j);
            return sum;
          }),
          patterns: run.layers.map(({ A }) => A.slice(0, n_heads * n_ctx * n_ctx)), // of the first context
        };
      }
    };
  });
})(globalThis);
