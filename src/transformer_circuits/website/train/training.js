// The training in the tab: its text, Adam, what is measured along the way, and the worker.
(function (root) {
  "use strict";
  root.Circuits.train.sources.push(function (T) {
    "use strict";
    T.SHAPE = { n_heads: 2, d_model: 32, d_head: 16, n_vocab: 16, n_ctx: 24, position_base: 100 };
    T.PLAN = { steps: 600, contexts: 8, rate: 0.01, warmup: 30, words: 3, shortest: 2, longest: 4 };

    // Contexts with words of their own: `words` of them, of random letters that are all different,
    // in random order again and again. Words differ in length, so that looking a fixed way back
    // finds nothing, nor does it help to know how long ago a letter came.
    // tokens [context, n_ctx + 1]; inside [context, n_ctx], 1 where the word goes on.
    T.contexts = function (random, n_contexts, { words, shortest, longest } = T.PLAN, { n_vocab, n_ctx } = T.SHAPE) {
      const below = (n) => Math.floor(random() * n);
      const tokens = new Int32Array(n_contexts * (n_ctx + 1));
      const inside = new Uint8Array(n_contexts * n_ctx);
      for (let context = 0; context < n_contexts; context++) {
        const left = Array.from({ length: n_vocab }, (_, token) => token);
        const letter = () => left.splice(below(left.length), 1)[0];
        const known = Array.from({ length: words }, () =>
          Array.from({ length: shortest + below(longest - shortest + 1) }, letter)
        );
        for (let i = 0; i <= n_ctx; ) {
          const word = known[below(words)];
          for (let k = 0; k < word.length && i <= n_ctx; k++, i++) {
            tokens[context * (n_ctx + 1) + i] = word[k];
            if (i < n_ctx && k < word.length - 1) inside[context * n_ctx + i] = 1;
          }
        }
      }
      return { tokens, inside };
    };

    // What all models are measured on, whatever their seed.
    T.probe = function (plan = T.PLAN, shape = T.SHAPE) {
      return T.contexts(T.random(-1), 12, plan, shape);
    };

    // The places after i's earlier copies, up to i itself, in a context of `tokens` that begins at `from`.
    T.matches = function (tokens, from, i) {
      const found = [];
      for (let j = 1; j <= i; j++) if (tokens[from + j - 1] === tokens[from + i]) found.push(j);
      return found;
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
          const { tokens } = T.contexts(this.text, this.plan.contexts, this.plan, this.model.shape);
          this.model.backward(this.model.forward(tokens));
          this.adam.update();
        }
      }

      // What the model does on text that it never learns from. `known`: the loss in nats at places
      // whose next letter can be known, since the word goes on and the present letter came before;
      // `rest`: the loss elsewhere. Per layer and head, from 0 to 1: `previous`, attention to the
      // letter before; `matching`, at the known places, to what followed the present letter before.
      look() {
        const { n_ctx, n_heads } = this.model.shape;
        const { tokens, inside } = this.probe;
        const run = this.model.forward(tokens);
        const rows = Array.from(run.read.keys());
        const found = rows.map((row) => T.matches(tokens, Math.floor(row / n_ctx) * (n_ctx + 1), row % n_ctx));
        const [known, rest] = [1, 0].map((is) => rows.filter((row) => (inside[row] && found[row].length ? 1 : 0) === is));
        const later = rows.filter((row) => row % n_ctx);
        const mean = (chosen, value) => chosen.reduce((sum, row) => sum + value(row), 0) / chosen.length;
        // Per layer and head, the mean attention from some rows to the places `to` names.
        const attention = (from, to) =>
          run.layers.map(({ A }) =>
            Array.from({ length: n_heads }, (_, head) =>
              mean(from, (row) => {
                const at = ((Math.floor(row / n_ctx) * n_heads + head) * n_ctx + (row % n_ctx)) * n_ctx;
                return to(row).reduce((sum, j) => sum + A[at + j], 0);
              })
            )
          );
        return {
          step: this.adam.step,
          known: mean(known, (row) => run.losses[row]),
          rest: mean(rest, (row) => run.losses[row]),
          previous: attention(later, (row) => [(row % n_ctx) - 1]),
          matching: attention(known, (row) => found[row]),
          patterns: run.layers.map(({ A }) => A.slice(0, n_heads * n_ctx * n_ctx)), // of the first context
        };
      }
    };

    // All that a layer's heads pay together: two heads may share a job.
    T.together = (heads) => heads.reduce((sum, share) => sum + share, 0);

    // When a value rose: the steps at which it had come a quarter and three quarters of the way from
    // its first to its largest. `points`: [[step, value]].
    T.rise = function (points) {
      const [[, first]] = points;
      const way = Math.max(...points.map(([, value]) => value)) - first;
      return [0.25, 0.75].map((share) => points.find(([, value]) => value >= first + share * way)[0]);
    };

    // Which layer of two learned its job first. `records`: what `look` found along the way. A layer
    // has learned it when one head gives it half of its attention. While both rise, neither is first.
    T.order = function (records) {
      const rise = (of) => {
        const learned = records.some((record) => Math.max(...of(record)) >= 0.5);
        return learned ? T.rise(records.map((record) => [record.step, T.together(of(record))])) : null;
      };
      const back = rise((record) => record.previous[0]);
      const match = rise((record) => record.matching[1]);
      const found = !match ? "never" : !back || match[1] < back[0] ? "second" : back[1] < match[0] ? "first" : "together";
      return { found, back, match };
    };
  });
})(globalThis);
