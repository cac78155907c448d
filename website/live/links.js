// The link that says what the reader has chosen, and what a link says.
import { HOWS, KINDS, SHOWS } from "./chosen.js";
import { EXAMPLES } from "./examples.js";
import { begin, LONGEST, labels, State } from "./state.js";

const { names } = Circuits;
const USUAL = new State();

export function toFragment(state) {
  const { all, asked, cut, example, heads } = state;
  // Of a text that is cut, only what counts: a link must not grow without end.
  const asIds = state.ids || all.length > LONGEST;
  const said = {
    model: state.model,
    text: asIds ? "" : state.text,
    ids: asIds ? all.slice(1, LONGEST).join(",") : "",
    off: [...state.off].map((index) => heads[index]).join(","),
    cut: cut && `${cut.kind},${heads[cut.earlier]},${heads[cut.later]}`,
    at: state.token,
    head: heads[state.head],
    ask: asked && `${asked.at},${asked.id}`,
    both: state.both && "1",
    asSource: state.asSource && "1",
    source: state.source.slice(0, 40),
    example,
    guess: example && state.guess,
  };
  for (const name of ["how", "show", "temperature", "seed"]) {
    if (state[name] !== USUAL[name]) said[name] = state[name];
  }
  const chosen = Object.entries(said).filter(([, value]) => value || value === 0);
  return `#${new URLSearchParams(chosen)}`;
}

// The state that a link says; anything that makes no sense is left out. Heads can be looked up only
// when the model is there: then `settle`.
export function fromFragment(fragment) {
  const said = new URLSearchParams(fragment.slice(1));
  const state = new State();
  const list = (name) => (said.get(name) ?? "").split(",");
  const one = (name, known) => {
    const value = said.get(name);
    return Object.hasOwn(known, value) ? value : state[name];
  };
  const number = (text, least, most, otherwise = null) => {
    const value = text ? Number(text) : Number.NaN;
    return value >= least && value <= most ? value : otherwise;
  };
  const whole = (text, most) => {
    const value = number(text, 0, most);
    return Number.isInteger(value) ? value : null;
  };
  const token = (text) => whole(text, labels.length - 1);
  const ids = list("ids").map(token);
  const known = ids.filter((id) => id !== null && id !== begin).slice(0, LONGEST);
  const [place, id] = list("ask");
  const asked = { at: whole(place, LONGEST - 1), id: token(id) };
  Object.assign(state, {
    model: one("model", names),
    text: said.get("text") ?? "",
    how: one("how", HOWS),
    show: one("show", SHOWS),
    both: said.has("both"),
    asSource: said.has("asSource"),
    temperature: number(said.get("temperature"), 0.1, 3, 0),
    seed: Math.round(number(said.get("seed"), 0, 9999, 1)),
    source: (said.get("source") ?? "").slice(0, 40),
    token: whole(said.get("at"), LONGEST - 1),
    asked: asked.at === null || asked.id === null ? null : asked,
    example: one("example", EXAMPLES),
  });
  if (known.length) state.take(known);
  const guesses = EXAMPLES[state.example]?.guesses ?? [];
  state.guess = whole(said.get("guess"), guesses.length - 1);
  state.settle = () => {
    const { n_layers, n_heads } = state.shape;
    const find = (name) => state.heads.indexOf(name);
    state.off = new Set(
      list("off")
        .map(find)
        .filter((index) => index >= 0),
    );
    state.head = find(said.get("head")) < 0 ? null : find(said.get("head"));
    const [kind, ...ends] = list("cut");
    const [earlier, later] = ends.map(find);
    const joins = earlier >= 0 && earlier < n_heads && later >= n_heads;
    if (n_layers === 2 && Object.hasOwn(KINDS, kind) && joins) state.cut = { kind, earlier, later };
  };
  return state;
}
