// What the panels below the stage ask beside a result: who wrote a token, and what a head's circuits say
// of one.
import { attribution, circuits, largest } from "../live/questions.js";
import { labelOf, number, pass, tokenOf } from "./engine.js";

const LISTED = 6; // of what a circuit raises, lowers, and is looked at by

// What the token at the place looked from and then every head add to the logit of another there, less
// the mean of all logits.
export function writers(state, label) {
  const { model, done, at } = pass(state);
  const { n_heads: H } = model.config;
  const { direct, totals } = attribution(model, done, at, tokenOf(label));
  const heads = totals.map((logit, k) => ({ name: `${Math.floor(k / H)}.${k % H}`, logit }));
  return [{ name: "token", logit: direct }, ...heads];
}

// What a head raises and lowers when it looks at a token, and who looks at that one most; null if there is
// no such token, with or without a space before it.
export function circuit(state, head, label) {
  const token = [label, `␣${label}`].map(tokenOf).find((id) => id >= 0);
  if (token === undefined) return null;
  const { model } = pass(state);
  const { logits, attention } = circuits(
    model,
    number(head, model.config.n_heads),
    token,
    tokenOf("◦"),
  );
  const listed = (values, ids) => ids.map((id) => [labelOf(id), values[id]]);
  return {
    label: labelOf(token),
    raises: listed(logits, largest(logits, LISTED)),
    lowers: listed(
      logits,
      largest(
        logits.map((value) => -value),
        LISTED,
      ),
    ),
    lookers: listed(attention, largest(attention, LISTED)),
  };
}
