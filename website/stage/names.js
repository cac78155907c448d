// Which tokens of a line are a name that comes again: stage/names.py once more.

export const BEGIN = "◦"; // the token that opens every line

// A token's label without the mark of the space before it.
export const bare = (label) => label.replace(/^␣(?=.)/su, "");

// How tokens are read: each without its space; of a character that takes several, each says which part it
// is, "王 1/3".
export function readable(labels) {
  const shown = labels.map(bare);
  const bytes = labels.map((label) =>
    /^(<[\da-f]{2}>)+$/.test(label) ? label.match(/\w\w/g) : [],
  );
  for (let i = 0; i < labels.length; i++) {
    const all = [];
    for (let end = i + 1; bytes[end - 1]?.length && all.length < 4; end++) {
      all.push(...bytes[end - 1]);
      const text = decoded(all);
      if (!text || end === i + 1) continue;
      for (let k = i; k < end; k++) shown[k] = `${text} ${k - i + 1}/${end - i}`;
      i = end - 1;
      break;
    }
  }
  return shown;
}

function decoded(bytes) {
  try {
    const numbers = Uint8Array.from(bytes, (one) => Number.parseInt(one, 16));
    return new TextDecoder("utf-8", { fatal: true }).decode(numbers);
  } catch {
    return ""; // not a whole character
  }
}

// The places of each word, [start, end): a token, and the tokens after it that go on with letters.
export function words(labels) {
  const goesOn = (k) => /^\p{L}/u.test(labels[k]) && /\p{L}$/u.test(labels[k - 1]);
  const starts = [...labels.keys()].filter((k) => k < 2 || !goesOn(k));
  return starts.map((start, k) => [start, starts[k + 1] ?? labels.length]);
}

// Where the last name begins that came before, where it ends, and where it began the first time; null
// if none did. A word of two tokens or more, else what ends the line, the more tokens the better.
export function again(ids, labels) {
  const same = (k, begin, n) => {
    if (bare(labels[k]) !== bare(labels[begin])) return false;
    for (let i = 1; i < n; i++) if (ids[k + i] !== ids[begin + i]) return false;
    return true;
  };
  const earlier = (begin, end) => {
    const n = end - begin;
    for (let k = 1; k <= begin - n; k++) if (same(k, begin, n)) return k;
    return -1;
  };
  for (const [begin, end] of words(labels).slice(1).reverse()) {
    const first = end - begin > 1 ? earlier(begin, end) : -1;
    if (first > 0) return { begin, end, first };
  }
  for (let begin = 2; begin < ids.length - 1; begin++) {
    const first = earlier(begin, ids.length);
    if (first > 0) return { begin, end: ids.length, first };
  }
  return null;
}

// The name that ends the line, if it came before and both times is one token; else null. A name begins with
// no small letter.
export function inOnePiece(labels) {
  const spelt = words(labels)
    .slice(1)
    .map(([start, end]) => labels.slice(start, end).map(bare).join("|"));
  const last = spelt.pop();
  return /^[\p{Lu}\p{Lo}]\p{L}*$/u.test(last) && spelt.includes(last) ? last : null;
}

// Whether the last word came before, letter by letter, but never in the same tokens; or is the beginning of
// one that came, and goes on in other tokens.
export function cutDifferently(labels) {
  const spelt = words(labels)
    .slice(1)
    .map(([start, end]) => labels.slice(start, end).map(bare))
    .filter(([first]) => /^\p{L}/u.test(first));
  const last = spelt.pop();
  if (!last) return false;
  const begins = (word) =>
    word[0] === last[0] && last.length > 1 && word.join("").startsWith(last.join(""));
  const same = spelt.filter((word) => word.join("") === last.join("") || begins(word));
  return same.length > 0 && same.every((word) => last.some((piece, k) => piece !== word[k]));
}
