// Whether marked sentences hold in the state that is shown: stage/marks.py once more. A condition holds
// or does not, or null: it does not apply where a head is off or not in this model, or a token is not on
// the line.
import { bare } from "./names.js";

const NOT = { ok: null, value: null, bound: null, says: "" };

// As figures/values.py writes a share of one.
export const percent = (share) =>
  share > 0 && share < 0.005 ? "<\u00a01\u00a0%" : `${(100 * share).toFixed(0)}\u00a0%`;

export function decide(condition, result, state) {
  return condition.kind === "likely" ? likely(condition, result) : looks(condition, result, state);
}

// The value of several that is nearest to breaking its bound, or breaks it most.
function compared({ above, below }, values) {
  const value = above === undefined ? Math.max(...values) : Math.min(...values);
  const bound = above ?? below;
  const ok = above === undefined ? value < bound : value > bound;
  const side = above === undefined ? "below" : "above";
  return { ok, value, bound, says: `${percent(value)}, should be ${side} ${percent(bound)}` };
}

function likely(condition, result) {
  const told = asked(condition.of, result);
  if (!told.length) return NOT;
  const p = told.map((one) => one.p);
  if (condition.rank !== undefined) return ranked(condition, told);
  return compared(condition, [condition.of === "every piece" ? Math.min(...p) : Math.max(...p)]);
}

function ranked({ of, rank: bound }, told) {
  const ranks = told.map(({ rank }) => rank);
  const first = bound === 1 ? "first" : `among the first ${bound}`;
  const none = of === "no piece";
  const value = none ? Math.min(...ranks) : Math.max(...ranks);
  const ok = none ? value > bound : value <= bound;
  return { ok, value, bound, says: `rank ${value}, should ${none ? "not " : ""}be ${first}` };
}

// How likely each token in question is, with its rank.
function asked(of, { pieces, next, tokens, at }) {
  if (of === "every piece" || of === "no piece") return pieces;
  const piece = of === "next" ? null : pieces.findLast(({ label }) => bare(label) === of);
  const label = of === "next" ? tokens[at + 1] : of.replaceAll(" ", "␣");
  const found = piece ?? next.find((one) => one.label === label);
  return found ? [found] : [];
}

function looks(condition, { tokens, patterns, at: shown }, { off }) {
  const labels = tokens.map(bare);
  const rows = condition.heads.map((head) => {
    const [layer, index] = head.split(".").map(Number);
    return off.includes(head) ? null : patterns[layer]?.[index];
  });
  if (rows.some((row) => !row)) return NOT;
  const { at: given } = condition;
  const at = given === null ? shown : typeof given === "number" ? given : labels.lastIndexOf(given);
  if (!(at in tokens)) return NOT;
  const near = new Map([
    ["itself", at],
    ["before", at - 1],
  ]);
  const to = near.get(condition.to) ?? labels.indexOf(condition.to);
  if (to < 0) return NOT;
  return compared(
    condition,
    rows.map((row) => row[at][to] ?? 0),
  );
}
