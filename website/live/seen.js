// What of a run is seen: attention of the chosen head, in numbers, colours and words.
const { labels } = Circuits.vocabulary;

// What a head pays from a destination to a source: attention, times ‖v‖ if it is weighted.
export function value(view, head, dst, src) {
  const { ids, norms, patterns } = view.run;
  return patterns[head][dst * ids.length + src] * (view.show === "weighted" ? norms[head][src] : 1);
}

// The largest of all values, of all heads: what weighted pictures are measured by.
export function largest(view) {
  const { ids, patterns } = view.run;
  return (view.run.most ??= patterns.reduce((most, pattern, head) => {
    for (let i = 0; i < pattern.length; i++)
      most = Math.max(most, pattern[i] * view.run.norms[head][i % ids.length]);
    return most;
  }, 1e-9));
}

// The chosen head's attention between the token at `view.at` and every other one; of no head, none.
export function attention(view) {
  const n = view.run.ids.length;
  if (view.head === null) return Array(n).fill(0);
  const pattern = view.run.patterns[view.head];
  return Array.from({ length: n }, (_, i) => {
    const [dst, src] = view.asSource ? [i, view.at] : [view.at, i];
    return src <= dst ? pattern[dst * n + src] : 0;
  });
}

// One number per token: what its colour shows.
export function values(view) {
  if (view.show === "loss") return view.run.loss;
  if (view.show === "logits") return Array.from(view.parts.sources[view.head]);
  return attention(view).map((share, i) => {
    return view.show === "weighted"
      ? share * view.run.norms[view.head][view.asSource ? view.at : i]
      : share;
  });
}

export const percent = (p) => (p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`);
export const quoted = (id) => `“${labels[id]}”`;
export const name = (view, i) => `“${labels[view.run.ids[i]]}” (${i})`;

export function sentence(view) {
  if (view.head === null) return "Point at a head to see where it looks, or click it to keep it.";
  const me = name(view, view.at);
  const head = `head ${view.heads[view.head]}`;
  const shown = values(view);
  if (view.show === "loss") {
    return shown[view.at] === null
      ? `${me} is the first token: nothing predicted it.`
      : `${me} cost ${shown[view.at].toFixed(2)} nats.`;
  }
  const order = shown.map((value, i) => [value, i]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  const most = order.filter(([value]) => Math.abs(value) >= 0.005).slice(0, 3);
  const list = most.map(([value, i]) => `${name(view, i)} ${value.toFixed(2)}`).join(", ");
  if (!list) return `Nothing, in ${head}, at ${me}.`;
  if (view.show === "logits")
    return `At ${me}, through ${head}, logits for “${labels[view.next.target]}” from ${list}.`;
  const verb = view.asSource ? "is looked at most by" : "looks most at";
  return `In ${head}, ${me} ${verb} ${list}${view.show === "weighted" ? " (attention × length of value)" : ""}.`;
}

// The token, other than the begin token, from which the chosen head brings most of its term.
export function foremost({ head, parts, run }) {
  const sizes = parts.sources[head].slice(1, run.ids.length).map(Math.abs);
  return sizes.length ? run.ids[1 + sizes.indexOf(Math.max(...sizes))] : null;
}

// The mean loss of each of three equal passages, if that is what the tokens are.
export function passages({ ids, loss }) {
  const n = (ids.length - 1) / 3;
  const passage = (k) => ids.slice(1 + k * n, 1 + (k + 1) * n);
  if (!n || n % 1 || [1, 2].some((k) => passage(k).join() !== passage(0).join())) return null;
  return [0, 1, 2].map((k) => loss.slice(1 + k * n, 1 + (k + 1) * n).reduce((a, b) => a + b) / n);
}

export function byPassage(run) {
  const means = passages(run);
  return means ? `, by passage ${means.map((mean) => mean.toFixed(2)).join(", ")}` : "";
}

// The head of the first layer that looks one back most, over this text.
export function previous({ ids, patterns }, { n_heads }) {
  const n = ids.length;
  const back = (A) => ids.reduce((sum, _, i) => sum + (i ? A[i * n + i - 1] : 0), 0);
  const all = patterns.slice(0, n_heads).map(back);
  return all.indexOf(Math.max(...all));
}

// The head of the last layer that raises the token asked about most.
export function strongest(parts, { n_layers, n_heads }) {
  const last = parts.totals.slice((n_layers - 1) * n_heads);
  return (n_layers - 1) * n_heads + last.indexOf(Math.max(...last));
}
