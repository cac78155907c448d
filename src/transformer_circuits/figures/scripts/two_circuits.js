// The two circuits of a head for one source: who looks at it, and what it then raises and lowers.
(function () {
  "use strict";
  const { View, arrows, choice, inflate, make } = Circuits.views;
  const MOST_MATCHES = 12;
  const STYLE = `
.circuit-view{--looks:#8a3fa0}
.circuit-view[data-dark]{--looks:#d9a0ee}
.circuit-view .tc-ask{display:flex;flex-wrap:wrap;gap:4px 8px;align-items:center;margin:6px 0;font-size:13px}
.circuit-view .tc-ask button{border-color:var(--line);padding:1px 8px;min-height:24px;overflow-wrap:anywhere;text-align:left}
.circuit-view .tc-ask .tc-absent{border-style:dotted;color:var(--soft)}
.circuit-view .tc-list{display:contents}
.circuit-view .tc-line{display:flex;flex-wrap:wrap;align-items:center;gap:4px 10px;margin:10px 0 4px}
.circuit-view .tc-line b{font:14px/1.4 ui-monospace,monospace;border:1px solid var(--line);border-radius:3px;padding:2px 8px;overflow-wrap:anywhere}
.circuit-view .tc-line span{font-size:13px}
.circuit-view .tc-line small{display:block;font:12px/1.4 system-ui,sans-serif;color:var(--soft)}
.circuit-view .tc-columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20em),1fr));gap:4px 28px}
.circuit-view .tc-row{display:grid;grid-template-columns:minmax(6em,10em) 1fr 3.6em 3.6em;gap:8px;align-items:center;width:100%;min-height:26px;padding:1px 4px;font-size:13px;text-align:right;font-variant-numeric:tabular-nums}
.circuit-view .tc-row>:first-child{text-align:left;overflow-wrap:anywhere}
.circuit-view button.tc-row>:first-child{font-family:ui-monospace,monospace}
.circuit-view .tc-heads{font-size:12px;color:var(--soft);min-height:0;padding:0 5px}
.circuit-view .tc-title{font-weight:600;margin-top:6px}
.circuit-view .tc-row[aria-pressed=true]{border-color:var(--fg);box-shadow:inset 0 0 0 1px var(--fg)}
.circuit-view .tc-columns+.cv-say{margin-top:8px;overflow-wrap:anywhere}
.circuit-view .tc-row .cv-bar{display:block}
.circuit-view .tc-row .tc-most{opacity:.3}`;

  const style = make("style", "", STYLE);
  style.id = "two-circuits-style";
  if (!document.getElementById(style.id)) document.head.append(style);

  const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);

  // data: words (of the vocabulary), sources (ids), heads (names), sizes: how many destinations and
  // outputs, step, examples: [name, head, source]; packed: 16-bit destinations, scores, outputs and
  // logits, each [head, source, rank], the numbers in steps.
  class TwoCircuits extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.place = new Map(data.sources.map((token, place) => [token, place]));
      this.chosen = [0, 0]; // a destination, an output
      this.build();
      this.try(data.examples[0]);
      inflate(data.packed).then((bytes) => {
        this.numbers = new Int16Array(bytes.buffer);
        this.draw();
      });
    }

    build() {
      this.heads = choice("Head", this.data.heads, (head) => {
        this.head = head;
        this.choose(this.token);
      });
      this.typed = make("input");
      this.typed.type = "search";
      this.typed.size = 14;
      this.typed.autocapitalize = "none";
      this.typed.spellcheck = false;
      const label = make("label", "", "Source that begins with ");
      label.append(this.typed);
      this.matches = this.buttons("Tokens that begin so");
      this.typed.addEventListener("input", () => this.look());
      this.typed.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.matches.firstElementChild?.click();
      });
      const ask = make("div", "tc-ask");
      ask.append(label, this.matches);
      const tried = this.buttons("Examples");
      this.fill(tried, this.data.examples.map((example) => [example[0], () => this.try(example)]));
      const examples = make("div", "tc-ask");
      examples.append("Or try", tried);
      this.line = make("div", "tc-line");
      this.line.setAttribute("aria-hidden", "true"); // the sentence below says it
      this.columns = make("div", "tc-columns");
      this.sides = [0, 1].map((side) => this.side(side));
      this.columns.append(...this.sides.map(({ box }) => box));
      this.host.append(this.heads, ask, examples, this.line, this.columns, this.say);
    }

    buttons(name) {
      const group = make("div", "tc-list");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", name);
      arrows(group, () => 1);
      return group;
    }

    fill(group, entries) {
      group.replaceChildren(...entries.map(([text, act, className], index) => {
        const button = make("button", className, text);
        button.type = "button";
        button.tabIndex = index ? -1 : 0;
        button.addEventListener("click", act);
        return button;
      }));
    }

    side(side) {
      const box = make("div");
      const group = this.buttons(side ? "What it raises and lowers" : "Who looks at it");
      const rows = Array.from({ length: this.data.sizes[side] }, (_, rank) => {
        const row = { button: make("button", "tc-row"), word: make("span"), most: make("i", "tc-most"), bar: make("i") };
        const bar = make("span", "cv-bar");
        bar.append(row.most, row.bar);
        row.values = [make("span"), make("span")];
        row.button.type = "button";
        row.button.tabIndex = rank ? -1 : 0;
        row.button.append(row.word, bar, ...row.values);
        row.button.addEventListener("click", () => {
          this.chosen[side] = rank;
          this.draw();
        });
        group.append(row.button);
        return row;
      });
      const heads = make("div", "tc-row tc-heads");
      const names = side ? ["", "", "logits", ""] : ["", "", "attention", "nats"];
      heads.append(...names.map((name) => make("span", "", name)));
      box.append(make("div", "tc-title", side ? "→ What it then raises and lowers" : "← Who looks at it"), heads, group);
      return { box, rows, last: heads.lastElementChild };
    }

    // --- choosing ---------------------------------------------------------------------------------

    try([, head, place]) {
      this.head = head;
      this.heads.querySelectorAll("input")[head].checked = true;
      this.typed.value = "";
      this.choose(this.data.sources[place]);
    }

    choose(token) {
      this.token = token;
      this.absent = "";
      this.matches.replaceChildren();
      this.chosen = [0, 0];
      this.draw();
    }

    // Tokens with and without a space before them, those that are carried first, then the shortest.
    look() {
      const raw = this.typed.value.replaceAll(" ", "␣");
      const starts = [raw, `␣${raw}`, raw.replaceAll("\\n", "↵")];
      const found = this.data.words.map((word, token) => ({ word, token, there: this.place.has(token) }));
      const matching = raw ? found.filter(({ word }) => starts.some((start) => word.startsWith(start))) : [];
      matching.sort((a, b) => b.there - a.there || a.word.length - b.word.length || a.token - b.token);
      this.fill(this.matches, matching.slice(0, MOST_MATCHES).map(({ word, token, there }) => {
        const pick = () => {
          this.typed.value = word.replaceAll("␣", " ");
          this.typed.focus();
          this.choose(token);
        };
        return [word, pick, there ? "" : "tc-absent"];
      }));
      this.absent = raw && !matching.length ? `No token begins with “${this.typed.value}”. The model reads it in pieces.` : "";
      this.draw();
    }

    // --- showing ----------------------------------------------------------------------------------

    // The strongest destinations (side 0) or outputs (side 1) of a source, in a head.
    entries(side, head, place) {
      const { heads, sources, sizes, step } = this.data;
      const plane = heads.length * sources.length;
      const at = 2 * side * plane * sizes[0] + (head * sources.length + place) * sizes[side];
      return Array.from({ length: sizes[side] }, (_, rank) => ({
        word: this.data.words[this.numbers[at + rank]],
        value: this.numbers[at + plane * sizes[side] + rank] * step,
      }));
    }

    paint() {
      if (!this.numbers) return;
      const place = this.place.get(this.token);
      const word = this.data.words[this.token];
      const none = `“${word}” is a token, but this figure has no numbers for it, only for ${this.place.size} others.`;
      const absent = this.absent || (place === undefined ? none : "");
      this.line.hidden = this.columns.hidden = Boolean(absent);
      this.say.textContent = absent;
      if (absent) return;
      const looks = this.entries(0, this.head, place).map((entry) => ({ ...entry, share: 1 / (1 + Math.exp(-entry.value)) }));
      const writes = this.entries(1, this.head, place);
      const { share, word: dst } = looks[this.chosen[0]];
      const { value, word: out } = writes[this.chosen[1]];
      looks.forEach((entry, rank) => this.row(0, rank, entry, [0, 1], [0, entry.share], [entry.share.toFixed(2), signed(entry.value)]));
      // One scale for all heads, so that a weak one looks weak.
      const all = this.data.heads.flatMap((_, head) => this.entries(1, head, place).map((entry) => entry.value));
      const low = Math.min(0, ...all);
      const at = (v) => (v - low) / (Math.max(0, ...all) - low || 1);
      writes.forEach((entry, rank) =>
        this.row(1, rank, entry, [at(0), at(entry.value)], [at(0), at(share * entry.value)], [signed(entry.value), signed(share * entry.value)]));
      this.sides[1].last.textContent = `× ${share.toFixed(2)}`;
      this.show(word, dst, out, share, share * value);
      const does = value < 0 ? "lowers" : "raises";
      this.say.textContent =
        `Head ${this.data.heads[this.head]}, in a context of the begin token, “${word}” and “${dst}”: “${dst}” pays ` +
        `${share.toFixed(2)} of its attention to “${word}”. At full attention this ${does} “${out}” by ` +
        `${Math.abs(value).toFixed(2)} logits, so here by ${Math.abs(share * value).toFixed(2)}.`;
    }

    row(side, rank, entry, most, now, values) {
      const row = this.sides[side].rows[rank];
      row.word.textContent = entry.word;
      [[row.most, most], [row.bar, now]].forEach(([bar, [from, to]]) => {
        bar.style.left = `${100 * Math.min(from, to)}%`;
        bar.style.width = `${100 * Math.abs(to - from)}%`;
        bar.style.background = `var(--${side ? (entry.value < 0 ? "down" : "up") : "looks"})`;
      });
      row.values.forEach((cell, i) => (cell.textContent = values[i]));
      row.button.setAttribute("aria-pressed", String(rank === this.chosen[side]));
    }

    // [source] ← [destination] → [output], in the order of the text.
    show(source, dst, out, share, strength) {
      const box = (word, role) => {
        const part = make("span");
        part.append(make("b", "", word), make("small", "", role));
        return part;
      };
      this.line.replaceChildren(
        box(source, "source, earlier"), make("span", "", `← looks: ${share.toFixed(2)} —`),
        box(dst, "destination, now"), make("span", "", `— ${signed(strength)} logits →`),
        box(out, "output, next"));
    }
  }

  Circuits.views.register("two_circuits", (host, data) => new TwoCircuits(host, data));
})();
