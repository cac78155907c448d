// What a model of the book does with a state of the stage, in the form that Reading.result has in
// Python (stage/reading.py). The model itself is the live page's.
import { Tokenizer } from "@huggingface/tokenizers";
import { INTO } from "../live/marking.js";
import { Model } from "../live/model.js";
import { attribution, circuits, largest, logProbability, raised } from "../live/questions.js";
import { fileOf } from "./code.js";
import { again, BEGIN, bare, cutDifferently } from "./names.js";

const KINDS = Object.fromEntries(Object.entries(INTO).map(([kind, into]) => [into, kind]));
const LISTED = 8; // of the likeliest next tokens
const SAID = 6; // of what a circuit raises, lowers, and is looked at by

const models = {};
const runs = new Map(); // the last of each model: its rows, and what it knows of a line, are used again
let known = null; // {tokenizer, labels, begin}

export function vocabulary({ tokenizer, labels, begin }) {
  known = { tokenizer: new Tokenizer(tokenizer, {}), labels: [...labels], begin };
  known.labels[begin] = BEGIN;
}

export function add(name, packed) {
  models[name] ??= Model.unpack(packed);
}

// The pass over a state's line: what is predicted is left to who asks.
export function pass(state) {
  if (state.after !== null) {
    throw new Error(
      `The weights after ${state.after} steps are not in this page; in a notebook the same line runs.`,
    );
  }
  const model = models[fileOf(state)];
  const { n_ctx } = model.config;
  const { labels, begin, tokenizer } = known;
  const ids = [begin, ...tokenizer.encode(state.text).ids];
  if (ids.length > n_ctx) {
    throw new Error(`the line has ${ids.length} tokens but ${state.model} reads ${n_ctx}`);
  }
  const tokens = ids.map((id) => labels[id]);
  const name = again(ids, tokens);
  const found = place(tokens, state.at);
  const at = found ?? name?.begin ?? ids.length - 1;
  const done = kept(model, spec(model, state));
  model.extend(done, ids, { predicts: false });
  model.predict(done, at, at + 1);
  return { model, done, ids, tokens, name, at, lost: state.at !== null && found === null };
}

// What is done to a model, in its own numbers.
export function spec({ config: { n_heads } }, { off, cuts }) {
  const edge = ({ from, into, of }) => ({
    kind: KINDS[into],
    earlier: number(from, n_heads),
    later: number(of, n_heads),
  });
  return { off: off.map((head) => number(head, n_heads)), cuts: cuts.map(edge) };
}

// A run with something done to the model: the one before, if the same was done there; else its rows.
function kept(model, spec) {
  const key = JSON.stringify(spec);
  const { done, key: before } = runs.get(model) ?? { done: model.start(spec) };
  if (before !== key) Object.assign(done, { ids: [], off: new Set(spec.off), cuts: spec.cuts });
  runs.set(model, { done, key });
  return done;
}

function number(head, n_heads) {
  const [layer, index] = head.split(".").map(Number);
  return layer * n_heads + index;
}

const labelOf = (id) => known.labels[id];

// `opens`: what the stage unfolds. `conditions`: of marked sentences; `next` then has the tokens, too,
// that they ask about.
export function run(state, { opens = null, conditions = [] } = {}) {
  const began = performance.now();
  const { model, done, ids, tokens, name, at, lost } = pass(state);
  const { labels } = known;
  const { n_layers: L, n_heads: H } = model.config;
  if (name) model.predict(done, name.begin, name.end - 1);

  const told = (from, id) => ({
    label: labels[id],
    p: Math.exp(logProbability(model, done, from, id)),
    rank: rank(model, done, from, id),
  });
  const places = name ? ids.slice(name.begin, name.end - 1).map((_, k) => name.begin + k) : [];
  const asked = conditions.filter(({ kind }) => kind === "likely").map(({ of }) => tokenOf(of));
  const order = largest(row(model, done, at), LISTED);
  const listed = new Set([...order, ids[at + 1] ?? -1, ...asked]);
  listed.delete(-1);
  const result = {
    tokens,
    ids,
    pieces: places.map((from) => ({ place: from, ...told(from, ids[from + 1]) })),
    first: name?.first ?? -1,
    begin: name?.begin ?? -1,
    at,
    patterns: Array.from({ length: L }, (_, layer) =>
      done.patterns.slice(layer * H, (layer + 1) * H).map((A) => A.map((looks) => [...looks])),
    ),
    next: [...listed].map((id) => told(at, id)),
    L,
    H,
    cutDifferently: cutDifferently(tokens),
  };
  if (lost) result.lost = true; // there is no such place: this one is where it would be without
  const [what, head] = (opens ?? "").split(" ");
  if (what === "board") Object.assign(result, board(model, done, at));
  if (what === "column") result.column = column(model, done, state, result, head);
  return { ...result, ms: performance.now() - began };
}

// The last place with this label, or the place of this number; null if there is none.
function place(tokens, asked) {
  const same = (token, k) => k === asked || bare(token) === asked;
  const found = tokens.findLastIndex(same);
  return found < 0 ? null : found;
}

const tokenOf = (label) => known.labels.indexOf(label.replaceAll(" ", "␣"));

const row = (model, done, at) =>
  done.logits.subarray(at * model.config.n_vocab, (at + 1) * model.config.n_vocab);

function rank(model, done, at, id) {
  const logits = row(model, done, at);
  let above = 1;
  for (const value of logits) if (value > logits[id]) above += 1;
  return above;
}

// What the token at a place and then every head add to another's logit there, less the mean of all logits.
function added(model, done, at, token) {
  const { n_heads: H } = model.config;
  const { direct, totals } = attribution(model, done, at, token);
  const heads = totals.map((logit, k) => ({ name: `${Math.floor(k / H)}.${k % H}`, logit }));
  return [{ name: "token", logit: direct }, ...heads];
}

// The same, for the next piece.
function board(model, done, at) {
  const token = done.ids[at + 1] ?? largest(row(model, done, at), 1)[0];
  return { writers: added(model, done, at, token), writtenFor: known.labels[token] };
}

// The same, for any token, at the place looked from.
export function writers(state, label) {
  const { model, done, at } = pass(state);
  return added(model, done, at, tokenOf(label));
}

// What a head raises and lowers when it looks at a token, and who looks at that one most; null if there is
// no such token, with or without a space before it.
export function circuit(state, head, label) {
  const token = [label, `␣${label}`].map(tokenOf).find((id) => id >= 0);
  if (token === undefined) return null;
  const { model } = pass(state);
  const index = number(head, model.config.n_heads);
  const { logits, attention } = circuits(model, index, token, known.begin);
  const listed = (values, sign = 1) =>
    largest(
      values.map((value) => sign * value),
      SAID,
    ).map((id) => [labelOf(id), values[id]]);
  const told = { raises: listed(logits), lowers: listed(logits, -1), lookers: listed(attention) };
  return { label: labelOf(token), ...told };
}

// What the token that a head looks at most raises, by the head's OV circuit alone; the head is that of
// the last layer which looks most at a token but the first of the line, if none is named.
function column(model, done, state, { at, patterns, tokens, L, H }, named) {
  const most = (looks) =>
    looks.slice(1).reduce((best, p, k) => (p > looks[best] ? k + 1 : best), 1);
  const on = Array.from({ length: H }, (_, k) => k).filter(
    (k) => !state.off.includes(`${L - 1}.${k}`),
  );
  if (!at || !L || !(on.length || named)) return null;
  const share = (k) => patterns[L - 1][k][at][most(patterns[L - 1][k][at])];
  const head = named || `${L - 1}.${on.reduce((best, k) => (share(k) > share(best) ? k : best))}`;
  const [layer, k] = head.split(".").map(Number);
  const from = most(patterns[layer][k][at]);
  const logits = raised(model, layer * H + k, done.ids[from]);
  const top = largest(logits, LISTED).map((id) => ({ label: known.labels[id], logit: logits[id] }));
  return { head, place: from, token: tokens[from], top };
}
