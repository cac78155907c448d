// The page on which the book's models run in the reader's browser.
(function () {
  "use strict";
  const { Attention, make } = Circuits.views;
  const { button, checkbox } = Circuits.parts;
  const LONGEST = 200; // tokens: more would be slow to draw
  const EXAMPLE =
    "The captain asked Nebuchadnezzar to wait. Soon Nebuchadnezzar came, and Nebuchadnezzar sat down.";
  const ASKING =
    "Choose a token to see which heads, and which earlier tokens, raised or lowered its logit. " +
    "Logits are counted from their mean over the vocabulary.";
  const NAMES = Circuits.names; // of the models: in files, and on the page
  const FOLDER = new URL("../live/", document.currentScript.src);
  const { begin, labels, tokenizer: rules } = Circuits.vocabulary;
  const tokenizer = new HFTokenizers.Tokenizer(rules, {});
  const host = document.querySelector("[data-live-model]");

  const state = { model: Object.keys(NAMES)[0], text: EXAMPLE, ids: null, off: new Set(), frozen: false };
  const shown = { token: null, head: null, target: null }; // `target`: {at, id}, a token asked about
  const models = {};
  const parts = {};
  let run = null;
  let wanted = null;

  // --- the parts of the page ----------------------------------------------------------------------

  function section(title, note) {
    const box = make("section");
    box.append(make("h2", "", title), make("p", "", note));
    host.append(box);
    return box;
  }

  function build() {
    host.textContent = "";
    buildText();
    buildAttention();
    buildHeads();
    parts.answers = new Circuits.Answers(section("What comes next, and who says so", ASKING), { labels, tokenizer, ask });
  }

  function buildText() {
    const box = section("Text", "Type anything. The begin token is put in front, as at the head of a document.");
    parts.model = make("select");
    parts.model.setAttribute("aria-label", "Model");
    for (const [name, text] of Object.entries(NAMES)) parts.model.append(new Option(text, name));
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
    const copy = button("Copy a link to this", async () => {
      const done = navigator.clipboard?.writeText(location.href).then(() => true, () => false);
      copy.textContent = (await done) ? "Copied" : "The address bar has the link";
      setTimeout(() => (copy.textContent = "Copy a link to this"), 3000);
    });
    const example = button("Example", () => change({ text: EXAMPLE, ids: null }));
    const random = button("Random tokens, three times", () => change({ ids: randomRepeats(20, 3) }));
    parts.time = make("span", "lm-time");
    box.append(label, parts.text, example, random, copy, parts.status, parts.time);
  }

  function buildAttention() {
    const box = section("Where heads look", "Keep a token to ask about it below; keep a head to see its part alone. Value-weighted: attention times the length of what is moved, so that a head at rest fades.");
    parts.attention = make("div");
    box.append(parts.attention);
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
      return checkbox(name, (on) => {
        const off = new Set(state.off);
        if (on) off.delete(index);
        else off.add(index);
        change({ off });
      });
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
    if (!model()) return; // still on its way; it computes when it is there
    compute();
    writeFragment();
  }

  async function load(name) {
    if (!Object.hasOwn(Circuits.models, name)) {
      parts.status.textContent = "Fetching the model …";
      await new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = new URL(`${name}.js`, FOLDER);
        script.onload = resolve;
        script.onerror = () => reject(new Error(`${script.src} cannot be read`));
        document.head.append(script);
      });
    }
    models[name] ??= new Circuits.Model(Circuits.models[name]);
  }

  // Only the last choice counts, however long each takes to come.
  async function choose(name, off = [], kept = null) {
    wanted = name;
    try {
      await load(name);
    } catch (error) {
      parts.status.textContent = `The model could not be fetched: ${error.message}`;
      parts.model.value = state.model;
      return;
    }
    if (wanted !== name) return;
    const changed = name !== state.model;
    state.model = name;
    state.off = new Set(off.map((text) => names().indexOf(text)).filter((index) => index >= 0));
    if (changed) Object.assign(shown, { token: null, head: null, target: null });
    fillHeads();
    change({});
    if (kept) keep(kept);
  }

  function keep({ token, head, asked }) {
    const index = names().indexOf(head);
    parts.view.lockedHead = index < 0 ? null : index;
    parts.view.lockedToken = Number.isInteger(token) && token >= 0 && token < run.ids.length ? token : null;
    shown.target = asked;
    parts.view.draw();
  }

  function writeFragment() {
    const said = new URLSearchParams({ model: state.model });
    // Of a text that is cut, only what counts: a link must not grow without end.
    if (state.ids || run.cut) said.set("ids", run.ids.slice(1).join(","));
    else said.set("text", state.text);
    if (state.off.size) said.set("off", [...state.off].map((index) => names()[index]).join(","));
    if (state.frozen) said.set("frozen", "1");
    const { lockedToken, lockedHead } = parts.view;
    if (lockedToken !== null) said.set("at", lockedToken);
    if (lockedHead !== null) said.set("head", names()[lockedHead]);
    if (shown.target) said.set("ask", `${shown.target.at},${shown.target.id}`);
    // Not at every hover: browsers allow only so many changes in a minute.
    if (location.hash !== "#" + said) history.replaceState(null, "", "#" + said);
  }

  // What a link says; anything in it that makes no sense is left out.
  function readFragment() {
    const said = new URLSearchParams(location.hash.slice(1));
    const name = Object.hasOwn(NAMES, said.get("model")) ? said.get("model") : state.model;
    if (said.has("text")) state.text = said.get("text");
    const ids = (said.get("ids") ?? "").split(",").map(Number);
    const known = ids.filter((id) => Number.isInteger(id) && id > 0 && id < labels.length);
    state.ids = said.has("ids") && known.length ? known : null;
    state.frozen = said.has("frozen");
    const [at, id] = (said.get("ask") ?? "").split(",").map(Number);
    const asked = id in labels && at >= 0 ? { at, id } : null;
    const kept = { token: said.has("at") ? Number(said.get("at")) : null, head: said.get("head"), asked };
    return [name, (said.get("off") ?? "").split(","), kept];
  }

  // --- computing and showing ----------------------------------------------------------------------

  function compute() {
    const all = [begin, ...(state.ids ?? tokenizer.encode(state.text).ids)];
    const ids = all.slice(0, LONGEST);
    if (run && run.ids.join() !== ids.join()) shown.target = null;
    const start = performance.now();
    const whole = state.frozen && state.off.size ? model().forward(ids) : null;
    run = model().forward(ids, { off: state.off, patterns: whole?.patterns ?? null });
    const spent = performance.now() - start;
    run.cut = all.length > ids.length;
    run.loss = ids.map((id, i) => (i ? -model().logProbabilities(run, i - 1)[id] : null));
    const mean = run.loss.slice(1).reduce((a, b) => a + b, 0) / (ids.length - 1);
    const cut = run.cut ? `, the first ${ids.length} of ${all.length} tokens` : "";
    parts.status.textContent =
      `${ids.length} ${ids.length === 1 ? "token" : "tokens"}${cut}` +
      (ids.length > 1 ? `; ${mean.toFixed(2)} nats per token` : "") +
      byPassage() +
      (state.off.size ? `; off: ${[...state.off].map((index) => names()[index]).join(", ")}` : "");
    parts.time.textContent = `computed in ${spent.toFixed(0)} ms`;
    parts.model.value = state.model;
    parts.frozen.checked = state.frozen;
    parts.boxes.forEach(([, input], index) => (input.checked = !state.off.has(index)));
    const text = state.ids ? tokenizer.decode(state.ids) : state.text;
    if (parts.text.value !== text && document.activeElement !== parts.text) parts.text.value = text;
    showAttention();
    showNext();
  }

  // The mean loss of each of three equal passages, if that is what the tokens are.
  function byPassage() {
    const n = (run.ids.length - 1) / 3;
    const passage = (k) => run.ids.slice(1 + k * n, 1 + (k + 1) * n);
    if (!n || n % 1 || [1, 2].some((k) => passage(k).join() !== passage(0).join())) return "";
    const means = [0, 1, 2].map((k) => run.loss.slice(1 + k * n, 1 + (k + 1) * n).reduce((a, b) => a + b) / n);
    return `, by passage ${means.map((mean) => mean.toFixed(2)).join(", ")}`;
  }

  function showAttention() {
    const data = {
      tokens: run.ids.map((id) => labels[id]),
      heads: names(),
      columns: model().config.n_heads,
      patterns: run.patterns,
      norms: run.norms,
      off: state.off,
    };
    const options = { label: "Attention of every head", onFocus: focus };
    if (parts.view) parts.view.update(data);
    else parts.view = new Attention(parts.attention, data, options);
  }

  function focus(token, head) {
    if (token === shown.token && head === shown.head) return;
    Object.assign(shown, { token, head });
    showNext();
    writeFragment();
  }

  // The position that is asked about: the one looked at or kept, else the last.
  const position = () => Math.min(shown.token ?? Infinity, run.ids.length - 1);

  function showNext() {
    const at = position();
    const asked = shown.target?.at === at ? shown.target.id : null;
    parts.answers.show(model(), run, { at, asked, head: shown.head, names: names() });
  }

  function ask(id) {
    shown.target = { at: position(), id };
    showNext();
    writeFragment();
  }

  async function start() {
    build();
    await choose(...readFragment());
    if (!model()) throw new Error(parts.status.textContent);
    host.dataset.ready = "";
  }

  addEventListener("hashchange", () => choose(...readFragment()));
  start().catch((error) => {
    host.textContent = `The model could not start: ${error.message}`;
  });
  Circuits.live = { models, tokenizer };
})();
