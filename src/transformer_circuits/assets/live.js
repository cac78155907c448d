// The page on which the book's models run in the reader's browser.
(function () {
  "use strict";
  const { Attention, Tokens, make } = CircuitViews;
  const BEGIN = 0;
  const LONGEST = 200; // tokens: more would be slow to draw
  const EXAMPLE =
    "The captain asked Mr Wedderburn to wait. Soon Mr Wedderburn came, and Mr Wedderburn sat down.";
  const MODELS = { "two-layer": "two layers", "one-layer": "one layer" };
  const FOLDER = new URL("../live/", document.currentScript.src);
  const { labels, tokenizer: rules } = CIRCUIT_VOCABULARY;
  const tokenizer = new HFTokenizers.Tokenizer(rules, {});
  const host = document.querySelector("[data-live-model]");

  const state = { model: "two-layer", text: EXAMPLE, ids: null, off: new Set(), frozen: false };
  const shown = { token: null, head: null, target: null };
  const models = {};
  const parts = {};
  let run = null;

  // --- the parts of the page ----------------------------------------------------------------------

  function section(title, note) {
    const box = make("section");
    box.append(make("h2", "", title), make("p", "", note));
    host.append(box);
    return box;
  }

  function button(text, onClick) {
    const made = make("button", "lm-button", text);
    made.type = "button";
    made.addEventListener("click", onClick);
    return made;
  }

  function labelled(text, control) {
    const label = make("label", "lm-label");
    label.append(control, " " + text);
    return label;
  }

  function checkbox(text, onChange) {
    const box = make("input");
    box.type = "checkbox";
    box.addEventListener("change", () => onChange(box.checked));
    return [labelled(text, box), box];
  }

  function table(caption, columns) {
    const made = make("table", "lm-table");
    made.append(make("caption", "", caption));
    const row = make("tr");
    columns.forEach((name) => {
      const cell = make("th", "", name);
      cell.scope = "col";
      row.append(cell);
    });
    const head = make("thead");
    head.append(row);
    const body = make("tbody");
    made.append(head, body);
    const box = make("div", "lm-scroll");
    box.append(made);
    return [box, body, made.caption];
  }

  function bar(share, negative) {
    const made = make("span", negative ? "lm-bar lm-minus" : "lm-bar");
    made.style.width = `${Math.min(1, share) * 100}px`;
    return made;
  }

  function build() {
    host.textContent = "";
    buildText();
    buildAttention();
    buildNext();
    buildHeads();
  }

  function buildText() {
    const box = section("Text", "Type anything. The begin token is put in front, as at the head of a document.");
    parts.model = make("select");
    parts.model.setAttribute("aria-label", "Model");
    for (const [name, text] of Object.entries(MODELS)) parts.model.append(new Option(text, name));
    parts.model.addEventListener("change", () => choose(parts.model.value));
    const label = make("label", "lm-label", "Model ");
    label.append(parts.model);
    parts.text = make("textarea");
    parts.text.rows = 3;
    parts.text.setAttribute("aria-label", "Text for the model");
    let waiting;
    parts.text.addEventListener("input", () => {
      Object.assign(state, { text: parts.text.value, ids: null });
      clearTimeout(waiting);
      waiting = setTimeout(() => change({}), 80);
    });
    parts.status = make("p", "lm-status");
    parts.status.setAttribute("role", "status");
    const copy = button("Copy a link to this", () => {
      navigator.clipboard?.writeText(location.href).then(
        () => (copy.textContent = "Copied"),
        () => (copy.textContent = "The address bar has the link")
      ) ?? (copy.textContent = "The address bar has the link");
    });
    const random = button("Random tokens, three times", () => change({ ids: randomRepeats(20, 3) }));
    box.append(label, parts.text, random, copy, parts.status);
  }

  function buildAttention() {
    const box = section("Where heads look", "Keep a token to ask about it below; keep a head to see its part alone.");
    parts.attention = make("div");
    box.append(parts.attention);
  }

  function buildNext() {
    const box = section("What comes next, and who says so", "Choose a token to see which heads, and which earlier tokens, raised or lowered its logit. Logits are counted from their mean over the vocabulary.");
    const row = make("div", "lm-row");
    const [next, nextBody, nextCaption] = table("", ["token", "probability", ""]);
    const [who, whoBody, whoCaption] = table("", ["part", "logits", ""]);
    Object.assign(parts, { nextBody, nextCaption, whoBody, whoCaption });
    row.append(next, who);
    parts.sources = make("div");
    box.append(row, parts.sources);
  }

  function buildHeads() {
    const box = section("Switch heads off", "A head that is off adds nothing. Later heads then look elsewhere, unless their patterns are frozen as they were with all heads on.");
    const [frozen, input] = checkbox("Freeze patterns", (on) => change({ frozen: on }));
    parts.frozen = input;
    parts.heads = make("fieldset", "lm-heads");
    box.append(frozen, button("All heads on", () => change({ off: new Set() })), parts.heads);
  }

  function fillHeads() {
    const legend = make("legend", "", "Heads that are on");
    parts.boxes = names().map((name, index) => {
      const [label, input] = checkbox(name, (on) => {
        const off = new Set(state.off);
        if (on) off.delete(index);
        else off.add(index);
        change({ off });
      });
      return [label, input];
    });
    parts.heads.replaceChildren(legend, ...parts.boxes.map(([label]) => label));
  }

  // --- state --------------------------------------------------------------------------------------

  const model = () => models[state.model];

  function names() {
    const { n_layers, n_heads } = model().config;
    return Array.from({ length: n_layers * n_heads }, (_, i) => `${Math.floor(i / n_heads)}.${i % n_heads}`);
  }

  function randomRepeats(length, times) {
    const passage = Array.from({ length }, () => 1 + Math.floor(Math.random() * (labels.length - 1)));
    return Array.from({ length: times }, () => passage).flat();
  }

  function change(what) {
    Object.assign(state, what);
    compute();
    writeFragment();
  }

  async function load(name) {
    if (!globalThis.CIRCUIT_MODELS[name]) {
      parts.status.textContent = "Fetching the model …";
      await new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = new URL(`${name}.js`, FOLDER);
        script.onload = resolve;
        script.onerror = () => reject(new Error(`${script.src} cannot be read`));
        document.head.append(script);
      });
    }
    models[name] ??= new CircuitModel(globalThis.CIRCUIT_MODELS[name]);
  }

  async function choose(name, off = new Set()) {
    await load(name);
    state.model = name;
    state.off = off;
    Object.assign(shown, { token: null, head: null, target: null });
    fillHeads();
    compute();
    writeFragment();
  }

  function writeFragment() {
    const said = new URLSearchParams({ model: state.model });
    if (state.ids) said.set("ids", state.ids.join(","));
    else said.set("text", state.text);
    if (state.off.size) said.set("off", [...state.off].map((index) => names()[index]).join(","));
    if (state.frozen) said.set("frozen", "1");
    history.replaceState(null, "", "#" + said);
  }

  // What a link says; anything in it that makes no sense is left out.
  function readFragment() {
    const said = new URLSearchParams(location.hash.slice(1));
    const name = said.get("model") in MODELS ? said.get("model") : "two-layer";
    if (said.has("text")) state.text = said.get("text");
    const ids = (said.get("ids") ?? "").split(",").map(Number);
    const known = ids.filter((id) => Number.isInteger(id) && id > 0 && id < labels.length);
    state.ids = said.has("ids") && known.length ? known : null;
    state.frozen = said.has("frozen");
    return [name, (said.get("off") ?? "").split(",")];
  }

  // --- computing and showing ----------------------------------------------------------------------

  function compute() {
    const all = [BEGIN, ...(state.ids ?? tokenizer.encode(state.text).ids)];
    const ids = all.slice(0, LONGEST);
    const start = performance.now();
    const whole = state.frozen && state.off.size ? model().forward(ids) : null;
    run = model().forward(ids, { off: state.off, patterns: whole?.patterns ?? null });
    const spent = performance.now() - start;
    run.loss = ids.map((id, i) => (i ? -model().logProbabilities(run, i - 1)[id] : null));
    const mean = run.loss.slice(1).reduce((a, b) => a + b, 0) / Math.max(1, ids.length - 1);
    const cut = all.length > ids.length ? `, the first ${ids.length} of ${all.length} tokens` : "";
    parts.status.textContent =
      `${ids.length} tokens${cut}; ${mean.toFixed(2)} nats per token; computed in ${spent.toFixed(0)} ms` +
      (state.off.size ? `; off: ${[...state.off].map((index) => names()[index]).join(", ")}` : "");
    parts.model.value = state.model;
    parts.frozen.checked = state.frozen;
    parts.boxes.forEach(([, input], index) => (input.checked = !state.off.has(index)));
    const text = state.ids ? state.ids.map((id) => labels[id]).join(" ") : state.text;
    if (parts.text.value !== text && document.activeElement !== parts.text) parts.text.value = text;
    showAttention();
    showNext();
  }

  function showAttention() {
    const data = {
      tokens: run.ids.map((id) => labels[id]),
      heads: names(),
      columns: model().config.n_heads,
      patterns: run.patterns,
      norms: run.norms,
    };
    const options = { label: "Attention of every head", onFocus: focus };
    if (parts.view) parts.view.update(data);
    else parts.view = new Attention(parts.attention, data, options);
  }

  function focus(token, head) {
    if (token === shown.token && head === shown.head) return;
    if (token !== shown.token) shown.target = null;
    Object.assign(shown, { token, head });
    showNext();
  }

  function showNext() {
    const at = Math.min(shown.token ?? run.ids.length - 1, run.ids.length - 1);
    const logs = model().logProbabilities(run, at);
    const order = Array.from(logs.keys()).sort((a, b) => logs[b] - logs[a]);
    const listed = order.slice(0, 8);
    const real = run.ids[at + 1];
    if (real !== undefined && !listed.includes(real)) listed.push(real);
    const target = shown.target ?? real ?? listed[0];
    parts.nextCaption.textContent = `After “${labels[run.ids[at]]}” (${at})`;
    const rows = listed.map((id) => {
      const choose = button(labels[id] + (id === real ? " (came next)" : ""), () => {
        shown.target = id;
        showNext();
      });
      choose.setAttribute("aria-pressed", String(id === target));
      const p = Math.exp(logs[id]);
      return [choose, p < 0.001 ? "below 0.1 %" : `${(100 * p).toFixed(1)} %`, bar(p)];
    });
    fill(parts.nextBody, rows);
    showWho(at, target);
  }

  function fill(body, rows) {
    const focused = [...body.rows].findIndex((row) => row.contains(document.activeElement));
    body.replaceChildren(
      ...rows.map((cells) => {
        const row = make("tr");
        cells.forEach((content, i) => {
          const cell = make(i ? "td" : "th");
          if (!i) cell.scope = "row";
          cell.append(content);
          row.append(cell);
        });
        return row;
      })
    );
    if (focused >= 0) body.rows[focused]?.querySelector("button")?.focus();
  }

  function showWho(at, target) {
    const { direct, heads } = model().attribution(run, at, target);
    const totals = heads.map((sources, h) => [`head ${names()[h]}`, sources.reduce((a, b) => a + b, 0)]);
    const all = [["direct path", direct], ...totals];
    const sum = all.reduce((total, [, value]) => total + value, 0);
    const largest = all.slice().sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 8);
    const rest = sum - largest.reduce((total, [, value]) => total + value, 0);
    const most = Math.abs(largest[0][1]) || 1;
    parts.whoCaption.textContent = `For “${labels[target]}”`;
    const rows = [...largest, ["all others", rest], ["together", sum]];
    fill(parts.whoBody, rows.map(([name, value]) => [name, value.toFixed(2), bar(Math.abs(value) / most, value < 0)]));
    showSources(heads, target);
  }

  function showSources(heads, target) {
    const chosen = shown.head === null ? heads : [heads[shown.head]];
    const whose = shown.head === null ? "all heads" : `head ${names()[shown.head]}`;
    const values = run.ids.map((_, j) => chosen.reduce((total, sources) => total + sources[j], 0));
    const data = {
      tokens: run.ids.map((id) => labels[id]),
      values: { [`logits for “${labels[target]}”, through ${whose}`]: values, "loss of each token [nats]": run.loss },
      unit: "",
      label: "What each source token adds to the logit, and what each token costs",
    };
    if (parts.tokens) parts.tokens.update(data);
    else parts.tokens = new Tokens(parts.sources, data);
  }

  async function start() {
    const [name, off] = readFragment();
    build();
    await load(name);
    state.model = name;
    await choose(name, new Set(off.map((text) => names().indexOf(text)).filter((index) => index >= 0)));
    host.dataset.ready = "";
  }

  start().catch((error) => {
    host.textContent = `The model could not start: ${error.message}`;
  });
  globalThis.CircuitLive = { models, tokenizer };
})();
