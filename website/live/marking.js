// How an answer to a hunt is marked: by cutting, and by the rule of analysis/circuit_hunt.py, which says
// why. Tests compare both. `lines`: {tokens, targets}, of which targets below 0 are not counted. An answer
// is {heads, edges}, heads as in a run's `off`, and edges {kind, later, earlier}.
import { WHOLE } from "./model.js";
import { logProbability } from "./questions.js";

// What a head reads, by the paper's letters, as a page calls it.
export const INTO = { Q: "queries", K: "keys", V: "values" };

// The mean loss with something done to the model. [nats]
export function loss(model, { tokens, targets }, spec) {
  const costs = tokens.flatMap((ids, line) => {
    const run = model.extend(model.start(spec), ids);
    const cost = (id, at) => (id < 0 ? [] : [-logProbability(model, run, at, id)]);
    return targets[line].flatMap(cost);
  });
  return costs.reduce((a, b) => a + b) / costs.length;
}

// All edges that can be between these heads: by kind, then by the later head, then by the earlier.
export function between(heads, n_heads) {
  const sorted = heads.toSorted((a, b) => a - b);
  const [early, late] = [false, true].map((second) =>
    sorted.filter((head) => head >= n_heads === second),
  );
  const pairs = late.flatMap((later) => early.map((earlier) => ({ later, earlier })));
  return ["K", "Q", "V"].flatMap((kind) => pairs.map((pair) => ({ kind, ...pair })));
}

export const named = ({ kind, later, earlier }) => `${kind} ${later} ${earlier}`;

// The loss of an answer alone: no other head writes, and no other edge between them is read. [nats]
function left(model, lines, { heads, edges }) {
  const { n_layers, n_heads } = model.config;
  const every = Array.from({ length: n_layers * n_heads }, (_, head) => head);
  const kept = edges.map(named);
  const off = every.filter((head) => !heads.includes(head));
  const cuts = between(heads, n_heads).filter((edge) => !kept.includes(named(edge)));
  return loss(model, lines, { off, cuts });
}

export function mark(model, lines, { heads: given, edges: asked }, share) {
  const { n_heads } = model.config;
  const called = (head) => `${Math.floor(head / n_heads)}.${head % n_heads}`;
  const heads = given.toSorted((a, b) => a - b);
  const names = asked.map(named);
  const edges = between(heads, n_heads).filter((edge) => names.includes(named(edge)));
  if (edges.length < names.length) throw new Error("an edge is of a head that is not named");
  const whole = loss(model, lines, WHOLE);
  const nobody = left(model, lines, { heads: [], edges: [] });
  const alone = left(model, lines, { heads, edges });
  const said = (right, because) => ({ right, because, whole, nobody, alone });
  const gain = nobody - whole;
  if (alone > whole + share * gain) {
    const does = (100 * Math.max(0, 1 - (alone - whole) / gain)).toFixed(0);
    return said(false, `alone, what you named does ${does}% of the work`);
  }
  const cuts = edges.map((edge) => ({
    what: `when ${called(edge.earlier)} → ${INTO[edge.kind]} of ${called(edge.later)} is cut`,
    less: { heads, edges: edges.filter((one) => one !== edge) },
  }));
  const losses = heads.map((head) => ({
    what: `without head ${called(head)}`,
    less: { heads: heads.filter((one) => one !== head), edges },
  }));
  const needless = [...cuts, ...losses].find(
    ({ less }) => left(model, lines, less) < alone + share * gain,
  );
  if (needless) return said(false, `all works as well ${needless.what}`);
  return said(true, "it does the work alone, and every part of it is needed");
}

// An answer that is right, found without a key: whatever is not missed is left out, heads first, until
// every part is.
export function solve(model, lines, share) {
  const { n_layers, n_heads } = model.config;
  const whole = loss(model, lines, WHOLE);
  const limit = whole + share * (left(model, lines, { heads: [], edges: [] }) - whole);
  let heads = Array.from({ length: n_layers * n_heads }, (_, head) => head);
  let edges = between(heads, n_heads);
  const suffices = (less) => left(model, lines, less) <= limit;
  for (const head of heads) {
    const others = heads.filter((one) => one !== head);
    const theirs = edges.filter(({ later, earlier }) => later !== head && earlier !== head);
    if (suffices({ heads: others, edges: theirs })) [heads, edges] = [others, theirs];
  }
  for (const edge of edges) {
    const others = edges.filter((one) => one !== edge);
    if (suffices({ heads, edges: others })) edges = others;
  }
  return { heads, edges };
}
