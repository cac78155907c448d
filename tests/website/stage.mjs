// Answers what test_stage_parity.py asks of the page's engine. Given: a folder with vocabulary.json, a file
// for each model, and asked.json.
import { readFileSync } from "node:fs";
import { complete, fileOf, MODELS, parse, write } from "../../website/stage/code.js";
import { add, run, vocabulary } from "../../website/stage/engine.js";
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
    const heads = given ? [] : drawn(state, result, finders(run(wholeOf(state))));
    return { result, verdicts, heads };
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
