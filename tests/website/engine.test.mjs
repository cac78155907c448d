// The engine of both pages with models, against what can be worked out by hand. Run by test_engine.py.
import assert from "node:assert/strict";
import test from "node:test";

const scripts = new URL("../../website/", import.meta.url);
const { Model } = await import(new URL("live/model.js", scripts));
const { addTimes, addTimesTransposed, addTransposedTimes } = await import(
  new URL("live/products.js", scripts)
);
const { random } = await import(new URL("live/random.js", scripts));
const { backward, losses } = await import(new URL("train/backward.js", scripts));

const near = (found, expected, most = 1e-12) =>
  found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= most, `${i}: ${value}`));

// Sizes that tiles of four rows and two columns do not divide, and such that they do.
for (const [n, deep, wide] of [
  [5, 3, 7],
  [4, 2, 2],
  [1, 6, 5],
]) {
  test(`products of ${n} × ${deep} and ${deep} × ${wide}`, () => {
    const next = random(n);
    const numbers = (rows, columns) => Float64Array.from({ length: rows * columns }, next);
    const [A, B] = [numbers(n, deep), numbers(deep, wide)];
    const turned = (M, rows, columns) =>
      Float64Array.from(M, (_, at) => M[(at % rows) * columns + Math.floor(at / rows)]);
    const expected = Float64Array.from({ length: n * wide }, (_, at) => {
      let sum = 1;
      for (let k = 0; k < deep; k++) {
        sum += A[Math.floor(at / wide) * deep + k] * B[k * wide + (at % wide)];
      }
      return sum;
    });
    const ones = () => new Float64Array(n * wide).fill(1);
    near(addTimes(ones(), A, B, n, deep, wide), expected);
    near(addTimesTransposed(ones(), A, turned(B, deep, wide), n, deep, wide), expected);
    near(addTransposedTimes(ones(), turned(A, n, deep), B, deep, n, wide), expected);
  });
}

// One head that copies: two tokens, embedded as the two axes, of which the query of the second looks at
// the key of the first with a score of ln 3, so three quarters of its attention go there.
test("a forward pass worked out by hand", () => {
  const sizes = { n_layers: 1, n_heads: 1, d_model: 2, d_head: 1, n_vocab: 2, n_ctx: 2 };
  const options = { Numbers: Float64Array, seen: [0] };
  const model = new Model({ ...sizes, position_base: 10 }, options);
  model.weights.W_E.set([1, 0, 0, 1]);
  model.weights.W_U.set([1, 0, 0, 1]);
  model.weights["layers.0.W_Q_concat"].set([0, Math.log(3)]);
  model.weights["layers.0.W_K_concat"].set([1, 0]);
  model.weights["layers.0.W_V_concat"].set([1, 0]);
  model.weights["layers.0.W_O_concat"].set([4, 0]);
  const run = model.extend(model.start(), [0, 1]);
  near(run.patterns[0][0], [1]);
  near(run.patterns[0][1], [0.75, 0.25]);
  near(run.logits, [5, 0, 3, 1]);
  near(run.logSum, [Math.log(Math.exp(5) + 1), Math.log(Math.exp(3) + Math.exp(1))]);
});

for (const [what, n_layers] of [
  [{ seen: [1, 0] }, 2],
  [{ shifted: true }, 1],
]) {
  test(`gradients are differences, ${JSON.stringify(what)}`, () => {
    const sizes = { n_layers, n_heads: 2, d_model: 6, d_head: 3, n_vocab: 5, n_ctx: 4 };
    const model = new Model({ ...sizes, position_base: 10 }, { Numbers: Float64Array, ...what });
    const next = random(1);
    const gradients = {};
    for (const [name, weight] of Object.entries(model.weights)) {
      weight.forEach((_, i) => (weight[i] = next() - 0.5));
      gradients[name] = new Float64Array(weight.length);
    }
    const [ids, following] = [
      [1, 3, 1, 0],
      [3, 1, 0, 2],
    ];
    const loss = () => {
      const run = model.extend(model.start(), ids);
      return losses(model, run, following).reduce((a, b) => a + b);
    };
    backward(model, model.extend(model.start(), ids), following, gradients, 1);
    for (const [name, weight] of Object.entries(model.weights)) {
      weight.forEach((value, i) => {
        const [up, down] = [1e-5, -1e-5].map((step) => {
          weight[i] = value + step;
          return loss();
        });
        weight[i] = value;
        const difference = (up - down) / 2e-5;
        assert.ok(Math.abs(difference - gradients[name][i]) < 1e-8, `${name} ${i}`);
      });
    }
  });
}
