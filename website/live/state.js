// What the reader has chosen on the live page, and the link that says it.
import { Tokenizer } from "@huggingface/tokenizers";
import { Chosen } from "./chosen.js";

const { names, vocabulary } = Circuits;
export const { begin, labels } = vocabulary;
export const tokenizer = new Tokenizer(vocabulary.tokenizer, {});
export const LONGEST = 200; // tokens: more would be slow to draw
const UNDOABLE = ["text", "ids", "token", "asked"];

let last = {}; // the text cut into tokens last: asked for at every step, and slow where it is long

function encode(text) {
  if (last.text !== text) last = { text, ids: tokenizer.encode(text).ids };
  return last.ids;
}

// Which of a text's tokens stands at a place in it, counted with the begin token: the one that is
// being typed there. At the end of the text null, as for the last token.
export function tokenAt(text, place) {
  return place < text.length ? tokenizer.encode(text.slice(0, place)).ids.length : null;
}

// How a word is cut where it stands, after a space or not; a piece has no mark for the space before it.
const pieces = (word) => tokenizer.encode(word).ids.map((id) => labels[id].replace("␣", ""));

// The last word of a text that came before, whole or, if it is still being written, as the beginning of
// another, and is cut into other tokens now: no head that looks for a token finds it then. `until`: the beginning
// that is cut alike. Null if there is none.
export function cutOtherwise(text) {
  const words = (text.match(/ ?\p{L}{2,}/gu) ?? []).slice(-LONGEST);
  for (let i = words.length - 1; i > 0; i--) {
    const word = words[i].trim();
    const open = i === words.length - 1 && text.endsWith(word);
    const came = (one) => one.trim() === word || (open && one.trim().startsWith(word));
    const earlier = words.slice(0, i).findLast(came);
    if (!earlier) continue;
    const [then, now] = [pieces(earlier), pieces(words[i])];
    if (now.every((piece, k) => piece === then[k])) continue;
    const alike = now.findIndex((piece, k) => piece !== then[k]);
    if (then.join("") !== word && !alike) continue; // of two words, which only begin with the same letters
    const lead = words[i].slice(0, -word.length);
    const start = (k) => then.slice(0, k);
    let k = alike; // a beginning may be cut otherwise when it stands alone
    while (pieces(lead + start(k).join("")).join() !== start(k).join()) k -= 1;
    return { word, earlier: earlier.trim(), then, now, until: start(k).join("") };
  }
  return null;
}

export class State extends Chosen {
  constructor() {
    super(Object.keys(names)[0]);
    Object.assign(this, {
      text: "",
      ids: null, // the text, or token ids without the begin token where no text has them
      asked: null, // {at, id}: the token asked about
      both: false,
      temperature: 0,
      seed: 1,
      source: "",
      example: null,
      guess: null, // the question that is open, and the reader's guess
      past: [],
    });
  }

  get all() {
    return [begin, ...(this.ids ?? encode(this.text))];
  }

  // What a run depends on.
  get key() {
    return JSON.stringify([this.model, this.spec, this.all.slice(0, LONGEST)]);
  }

  // What the worker is asked about this state.
  request(what) {
    const ids = this.all.slice(0, LONGEST);
    const { model: name, spec } = this;
    return { kind: "look", name, spec, ids, at: this.at(ids.length), ...what };
  }

  // Take these tokens: as text, if the tokenizer cuts the text into them again.
  take(ids) {
    const text = tokenizer.decode(ids);
    const same = tokenizer.encode(text).ids.join() === ids.join();
    Object.assign(this, { text, ids: same ? null : ids });
  }

  remember() {
    this.past.push(Object.fromEntries(UNDOABLE.map((name) => [name, this[name]])));
  }

  undo() {
    Object.assign(this, this.past.pop());
  }
}

export const randomRepeats = (length, times) => {
  const passage = Array.from({ length }, () => 1 + Math.floor(Math.random() * (labels.length - 1)));
  return Array.from({ length: times }, () => passage).flat();
};

export const other = (model) => Object.keys(names).find((name) => name !== model);

// The id of a text that is one token, or why it is none.
export function single(text) {
  const { ids } = tokenizer.encode(text);
  if (ids.length === 1) return [ids[0], ""];
  const said = ids.map((id) => labels[id]).join(" ");
  return [null, ids.length ? `not one token but ${ids.length}: ${said}` : "no token"];
}
