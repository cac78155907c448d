// Answers what test_stage_parity.py asks of the page's engine. Given: a folder with vocabulary.json, a file
// for each model, and asked.json.
import { readFileSync } from "node:fs";
import { complete, fileOf, MODELS, parse, write } from "../../website/stage/code.js";
import { add, pass, run, vocabulary } from "../../website/stage/engine.js";
import { decide } from "../../website/stage/marks.js";
import { drawn, finders, wholeOf } from "../../website/stage/shown.js";

const folder = process.argv[2];
const read = (name) => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8"));
const tried = (work) => {
  try {
    return work();
  } catch ({ message, column }) {
    return { message, column };
  }
};

// Every logit at the place looked from and before each piece, as the bytes of float32.
function predicted(state, { at, pieces }) {
  const { model, done } = pass(state);
  const { n_vocab } = model.config;
  return [at, ...pieces.map(({ place }) => place)].map((place) => {
    const row = done.logits.subarray(place * n_vocab, (place + 1) * n_vocab);
    return Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString("base64");
  });
}

const { states = [], lines = [], carets = [] } = read("asked");
if (states.length) vocabulary(read("vocabulary"));
const added = new Set();
// `given`: a result that came with the page, on which marks are decided.
const answers = states.map(({ state, opens, conditions, given }) => {
  const name = fileOf(state);
  if (!given && state.after === null && !added.has(name)) {
    added.add(name);
    add(name, read(name));
  }
  return tried(() => {
    const result = given ?? run(state, { opens, conditions });
    const verdicts = conditions.map((condition) => decide(condition, result, state));
    if (given) return { result, verdicts };
    const logits = predicted(state, result);
    const heads = drawn(state, result, finders(run(wholeOf(state))));
    return { result, verdicts, heads, logits };
  });
});
const parsed = lines.map((line) =>
  tried(() => {
    const state = parse(line);
    return { state, written: write(state) };
  }),
);
const completed = carets.map(([line, caret]) => complete(line, caret));
process.stdout.write(JSON.stringify({ answers, parsed, completed, models: MODELS }));
