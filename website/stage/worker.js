// The worker in which the models of a stage run. Messages {id, kind, …} are answered by {id, found} or
// {id, error}.
import { loss, mark, solve } from "../live/marking.js";
import { Model } from "../live/model.js";
import { logProbability } from "../live/questions.js";
import { add, circuit, run, spec, vocabulary, writers } from "./engine.js";

const hunted = {}; // models in which a circuit is hidden

// A line of a hunt as a result of the engine; what is counted is the second copy.
function look(model, ids, targets, state) {
  const { n_layers: L, n_heads: H, n_vocab } = model.config;
  const run = model.extend(model.start(spec(model, state)), ids);
  const begin = targets.findIndex((id) => id >= 0);
  const pieces = targets.flatMap((id, place) => {
    if (id < 0) return [];
    const row = run.logits.subarray(place * n_vocab, (place + 1) * n_vocab);
    const rank = 1 + row.reduce((above, logit) => above + (logit > row[id]), 0);
    return [{ place, label: letter(id), p: Math.exp(logProbability(model, run, place, id)), rank }];
  });
  const patterns = Array.from({ length: L }, (_, layer) =>
    run.patterns.slice(layer * H, (layer + 1) * H),
  );
  const tokens = ids.map((id, i) => (i ? `␣${letter(id)}` : "◦"));
  const at = typeof state.at === "number" ? state.at : begin;
  return {
    tokens,
    ids,
    pieces,
    first: ids.indexOf(ids[begin]),
    begin,
    at,
    patterns,
    next: [],
    L,
    H,
  };
}

const letter = (id) => String.fromCharCode(96 + id);

const requests = {
  vocabulary: (request) => vocabulary(request.vocabulary),
  add: ({ name, packed }) => {
    if (name.startsWith("hunt-")) hunted[name] ??= Model.unpack(packed);
    else add(name, packed);
  },
  run: ({ state, opens, conditions }) => run(state, { opens, conditions }),
  writers: ({ state, label }) => writers(state, label),
  circuit: ({ state, head, label }) => circuit(state, head, label),
  hunted: ({ name, tokens, targets, state }) =>
    look(hunted[name], tokens.slice(0, 2 + targets.findLastIndex((id) => id >= 0)), targets, state),
  costs: ({ name, lines, states }) =>
    states.map((state) => loss(hunted[name], lines, spec(hunted[name], state))),
  mark: ({ name, lines, answer, share }) => mark(hunted[name], lines, answer, share),
  solve: ({ name, lines, share }) => solve(hunted[name], lines, share),
};

self.onmessage = ({ data: { id, kind, ...request } }) => {
  try {
    self.postMessage({ id, found: requests[kind](request) ?? null });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
};
