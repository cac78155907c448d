// The worker in which the models run, so that typing never waits for them, and how the page asks it.
(function (root) {
  "use strict";
  const { live } = root.Circuits;

  live.sources.push(function (T) {
    "use strict";
    const MOST_RUNS = 5; // kept, each some megabytes: of both models, whole and changed
    const models = {};
    const runs = new Map(); // by model and what is done to it, the latest used last

    function run(name, spec, ids) {
      const model = models[name];
      const whole = T.isWhole(spec) ? undefined : run(name, T.WHOLE, ids);
      const key = JSON.stringify([name, T.isWhole(spec) ? T.WHOLE : spec]);
      const known = runs.get(key) ?? model.start(spec);
      runs.delete(key);
      runs.set(key, known);
      if (runs.size > MOST_RUNS) runs.delete(runs.keys().next().value);
      return model.extend(known, ids, whole);
    }

    const requests = {
      add({ name, packed }) {
        models[name] ??= new T.Model(packed);
        return {};
      },

      // About a text: losses, and with `patterns` where heads look; about a position, its next tokens
      // and who says so.
      look({ name, spec, ids, at, asked, listed, patterns }) {
        const start = performance.now();
        const found = run(name, spec, ids);
        const [model, n] = [models[name], ids.length];
        const whole = T.isWhole(spec) ? found : run(name, T.WHOLE, ids);
        const out = { at, loss: ids.map((id, i) => (i ? -T.logProbability(model, found, i - 1, id) : null)) };
        out.next = T.next(model, found, whole, at, asked, listed);
        out.parts = T.attribution(model, found, at, out.next.target);
        if (patterns) {
          out.patterns = found.patterns.map((rows) => {
            const square = new Float32Array(n * n);
            rows.forEach((row, i) => square.set(row, i * n));
            return square;
          });
          out.norms = found.norms.map((norms) => norms.slice(0, n));
        }
        return { ...out, spent: performance.now() - start };
      },

      // For tests: all logits [position, n_vocab]; and to begin again without what is known.
      forget() {
        runs.clear();
        return {};
      },

      logits({ name, spec, ids }) {
        return { logits: run(name, spec, ids).logits.slice(0, ids.length * models[name].config.n_vocab) };
      },

      write({ name, spec, ids, how }) {
        return { id: T.write(models[name], run(name, spec, ids), how) };
      },

      circuits({ name, head, token, begin }) {
        return T.circuits(models[name], head, token, begin);
      },
    };

    // Messages {id, kind, …}, each answered by {id, found} or {id, error}.
    T.serve = function (scope) {
      scope.onmessage = function ({ data: { id, kind, ...request } }) {
        try {
          scope.postMessage({ id, found: requests[kind](request) });
        } catch (error) {
          scope.postMessage({ id, error: error.message });
        }
      };
    };
  });

  // A worker made of the sources' text: pages opened from a file may not name a file of their own.
  live.Models = class {
    constructor() {
      const text = `const T = {};\nfor (const add of [\n${live.sources.join(",\n")}\n]) add(T);\nT.serve(self);`;
      this.worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      this.asked = new Map();
      this.count = 0;
      this.worker.onmessage = ({ data: { id, found, error } }) => {
        const { resolve, reject } = this.asked.get(id);
        this.asked.delete(id);
        if (error) reject(new Error(error));
        else resolve(found);
      };
      this.worker.onerror = (event) => {
        for (const { reject } of this.asked.values()) reject(new Error(event.message));
        this.asked.clear();
      };
    }

    // A promise of the answer to {kind, …}.
    ask(request) {
      const id = ++this.count;
      const answer = new Promise((resolve, reject) => this.asked.set(id, { resolve, reject }));
      this.worker.postMessage({ id, ...request });
      return answer;
    }
  };

  // Calls `work` for the latest value only: what comes while it works waits, and replaces what waited.
  live.latest = function (work) {
    let busy = null;
    let waiting = null;
    return function call(value) {
      waiting = { value };
      busy ??= (async () => {
        while (waiting) {
          const { value: next } = waiting;
          waiting = null;
          await work(next);
        }
      })().finally(() => (busy = null));
      return busy;
    };
  };
})(globalThis);
