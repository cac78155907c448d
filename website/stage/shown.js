// What is seen in a result: who is drawn, who leaves notes, and the sentence that says it all. Numbers
// alone, nothing of the page, so that tests can ask it without one.
import { bare, listed, percent, readable } from "./parts.js";

const LOOKS = 0.3; // attention from which a look counts, as on the drawing
const FAINT = 0.12; // attention below which no arc is drawn
export const STRONG = 0.25; // attention from which a look is said

const name = (layer, head) => `${layer}.${head}`;
export const split = (head) => head.split(".").map(Number);
export const row = (result, head, place) => {
  const [layer, index] = split(head);
  return result.patterns[layer]?.[index]?.[place] ?? [];
};

// How the token at a place is read.
export const token = (result, place) => (result.readable ??= readable(result.tokens))[place];

// The same line with nothing done to the model.
export const wholeOf = (state) => ({ ...state, off: [], cuts: [] });
export const isWhole = ({ off, cuts }) => !off.length && !cuts.length;

// The finders: heads of the last layer that look, somewhere in the name that comes again, at what came
// after the same piece the first time. Of heads in one layer, and where no name comes again, none.
export function finders({ patterns, pieces, begin, first, L, H }) {
  if (L < 2 || !(first > 0)) return [];
  const finds = (head) =>
    pieces.some((_, k) => (patterns[L - 1][head][begin + k]?.[first + k + 1] ?? 0) > LOOKS);
  return Array.from({ length: H }, (_, head) => head)
    .filter(finds)
    .map((head) => name(L - 1, head));
}

// The heads whose looks are drawn: the finders, or whoever looks at something in particular; from a place
// that has a note, whoever left it. The drawing shows the same ones (stage/still.py).
export function drawn(state, result, team) {
  const on = (head) => !state.off.includes(head);
  const { L, H, at, first, pieces } = result;
  const taker = noteTaker(state, result);
  const inName = at > first && at <= first + pieces.length;
  if (taker && inName && row(result, taker, at)[at - 1] > 0.5) return [taker];
  if (team.length) return team.filter(on);
  if (!L) return [];
  const most = (head) => Math.max(0, ...row(result, head, at).slice(1, at));
  return Array.from({ length: H }, (_, head) => name(L - 1, head))
    .filter((head) => on(head) && most(head) > LOOKS)
    .sort((one, other) => most(other) - most(one))
    .slice(0, 3);
}

// Who leaves the notes: the head of the first layer, `among` some, that looks one back throughout the name;
// null if none does, or whoever did is off.
export function noteTaker(state, { patterns, pieces, first, L, H }, among = null) {
  if (L < 2 || !(first > 0)) return null;
  const back = (head) =>
    pieces.reduce((sum, _, k) => sum + (patterns[0][head][first + k + 1]?.[first + k] ?? 0), 0);
  const heads = Array.from({ length: H }, (_, head) => head).filter(
    (head) => !among || among.includes(head),
  );
  const best = heads.toSorted((a, b) => back(b) - back(a))[0];
  const found = best !== undefined && back(best) > 0.5 * pieces.length && name(0, best);
  return found && !state.off.includes(found) ? found : null;
}

// The looks of heads from the place looked from: {head, to, share}, the strong first.
export function looks(result, heads) {
  return heads
    .flatMap((head) =>
      Array.from(row(result, head, result.at), (share, to) => ({ head, to, share })),
    )
    .filter(({ share }) => share > FAINT)
    .sort((one, other) => other.share - one.share);
}

// What a head brings that is right: the look at a token that is also the next one.
export function brought(result, heads) {
  const next = result.tokens[result.at + 1];
  if (next === undefined) return null;
  const same = ({ to, share }) => to > 0 && share > LOOKS && bare(result.tokens[to]) === bare(next);
  return looks(result, heads).find(same) ?? null;
}

const place = (result, to) =>
  to === 0 ? "the beginning of the line" : to === result.at ? "itself" : `“${token(result, to)}”`;

// What was done to the model, in words.
export function done({ off, cuts }) {
  const by = Object.groupBy?.(cuts, ({ from, into }) => `${from} wrote, out of the ${into}`) ?? {};
  const said = Object.entries(by).map(
    ([what, each]) => `what ${what} of ${listed(each.map(({ of }) => of))}`,
  );
  return [
    ...(off.length ? [`Without ${listed(off)}.`] : []),
    ...(said.length ? [`Cut: ${said.join("; ")}.`] : []),
  ].join(" ");
}

// The whole result in sentences, read aloud when it has changed: what was done, what is expected, who looks
// where. One may be empty.
export function sentences(state, result, heads) {
  const { pieces, next, at } = result;
  const of = pieces.map(({ place, p }) => `${token(result, place + 1)} ${percent(p)}`);
  const likely = of.length
    ? `Expected, before they come: ${of.join(", ")}.`
    : next?.length
      ? `After “${token(result, at)}” it expects ${listed(next.slice(0, 3).map(({ label, p }) => `“${bare(label)}” (${percent(p)})`))}.`
      : "";
  const said = heads.flatMap((head) =>
    looks(result, [head]).filter(({ share }, k) => !k || share >= STRONG),
  );
  const looked = [...new Set(said.map(({ to }) => to))].map((to) => {
    const there = said.filter((look) => look.to === to);
    const each = there.map(({ head, share }) => `${head} (${percent(share)})`);
    return `${listed(each)} ${each.length > 1 ? "look" : "looks"} at ${place(result, to)}`;
  });
  const from = looked.length ? `From “${token(result, at)}”, ${listed(looked)}.` : "";
  return [done(state), likely, from];
}
