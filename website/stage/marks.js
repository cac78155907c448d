// Whether marked sentences hold in the state that is shown: stage/marks.py once more. A condition holds
// or does not, or null: it does not apply where a head is off or not in this model, or a token is not on
// the line.
import { bare } from "./names.js";

const not = (says) => ({ ok: null, value: null, bound: null, says });

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
  if (!told.length) return not(missing(condition.of, result));
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

// Why there is no token in question, as `Likely._why` of Python says it.
function missing(of, result) {
  if (of === "every piece" || of === "no piece") return noName(result);
  return of === "next" ? "the line ends here" : `“${of}” is no token`;
}

export const noName = ({ tokens }) =>
  tokens.length > 1 ? "no name comes twice" : "nothing is on the line";

function notThere(place) {
  if (place === "before") return "nothing comes before it";
  return `${typeof place === "number" ? `place ${place}` : `“${place}”`} is not on this line`;
}

function looks(condition, { tokens, patterns, at: shown }, { model, off }) {
  const labels = tokens.map(bare);
  const rows = condition.heads.map((head) => {
    const [layer, index] = head.split(".").map(Number);
    return patterns[layer]?.[index];
  });
  const none = rows.findIndex((row) => !row);
  if (none >= 0) return not(`${model} has no ${condition.heads[none]}`);
  const gone = condition.heads.filter((head) => off.includes(head));
  if (gone.length) return not(`${gone.join(" and ")} off`);
  const { at: given } = condition;
  const at = given === null ? shown : typeof given === "number" ? given : labels.lastIndexOf(given);
  if (!(at in tokens)) return not(notThere(given));
  const near = new Map([
    ["itself", at],
    ["before", at - 1],
  ]);
  const to = near.get(condition.to) ?? labels.indexOf(condition.to);
  if (to < 0) return not(notThere(condition.to));
  return compared(
    condition,
    rows.map((row) => row[at][to] ?? 0),
  );
}
