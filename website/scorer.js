// Order of Sphinx's search: first pages whose title is what is searched for, then those whose title has
// it, then all else in Sphinx's own order. The numbers are Sphinx's, which a scorer replaces as a whole.
// biome-ignore lint/correctness/noUnusedVariables: Sphinx reads it.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score(hit) {
    const [, title, anchor, description, score] = hit;
    const plain = (text) => text.trim().toLowerCase().replace(/s$/, "");
    const asked = plain(new URLSearchParams(location.search).get("q") ?? "");
    if (anchor || description || !asked) return score;
    return score + (plain(title) === asked ? 2000 : plain(title).includes(asked) ? 1000 : 0);
  },
};
