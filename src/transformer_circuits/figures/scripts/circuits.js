// The two circuits of a head for one source token: who looks at it, and what it then raises.
(function () {
  "use strict";
  const { View, css, inflate, isDark, make, ofHead } = Circuits.views;
  const spelled = (name) => name.replace(/(.)×(\d+)/gu, (_, one, n) => one.repeat(n)); // runs as they are typed

  // data: heads (names), head (the place of the first one shown), words, sources (indices of words), most and least: how many of each list; entries:
  // for each head and source the pairs [word, value] of three lists: destinations, raised, lowered.
  class HeadCircuits extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.source = this.destination = this.output = 0;
      const controls = make("div", "cv-filter");
      this.head = make("select");
      this.head.append(...data.heads.map((name) => new Option(name)));
      this.head.selectedIndex = data.head;
      this.head.addEventListener("input", () => (this.source === null ? this.typed() : this.choose(this.source)));
      this.word = make("input");
      this.word.type = "search";
      this.word.size = 14;
      this.word.placeholder = data.words[data.sources[0]];
      const list = make("datalist");
      list.id = "cv" + Math.random().toString(36).slice(2);
      list.append(...data.sources.map((word) => new Option(data.words[word])));
      this.word.setAttribute("list", list.id);
      this.word.addEventListener("input", () => this.typed());
      for (const [text, input] of [["Head ", this.head], ["Source token ", this.word]]) {
        const label = make("label", "", text);
        label.append(input);
        controls.append(label);
      }
      const row = make("div", "cv-row");
      this.columns = ["destination", "output"].map((kind) => {
        const column = make("div", "cv-column");
        const title = make("div", "cv-note");
        const rows = make("div");
        rows.setAttribute("role", "group");
        column.append(title, rows);
        row.append(column);
        return { kind, title, rows };
      });
      host.append(controls, list, row, this.say);
      this.choose(0, data.opens);
    }

    // The source that is meant by what was typed: the same, with its capitals or without, or the first
    // that begins or goes on so. Nothing is left of the last one where there is none.
    typed() {
      const { value } = this.word;
      const wanted = (value.trimEnd() || value).replaceAll(" ", "␣");
      if (!wanted) return;
      const printed = this.data.sources.map((word) => this.data.words[word]);
      const names = printed.map(spelled);
      const small = names.map((name) => name.toLowerCase());
      const found = [[printed, wanted], [names, wanted], [small, wanted.toLowerCase()]]
        .flatMap(([all, word]) => [(name) => name === word, (name) => name === "␣" + word,
          (name) => name.startsWith(word), (name) => name.startsWith("␣" + word)].map((same) => all.findIndex(same)))
        .find((index) => index >= 0);
      if (found !== undefined) return this.choose(found);
      this.source = null;
      for (const { title, rows } of this.columns) {
        title.textContent = "";
        rows.replaceChildren();
      }
      this.say.textContent = `“${value}” is not among the ${names.length} sources of this figure.`;
    }

    // Chooses in both lists what is named, else what stands first.
    choose(source, [here, then] = []) {
      this.source = source;
      const { entries, sources, most, least, words } = this.data;
      const size = 2 * (2 * most + least);
      let at = (this.head.selectedIndex * sources.length + source) * size;
      const take = (n, scale) => Array.from({ length: n }, () => [entries[at++], entries[at++] / scale]);
      this.looks = take(most, 1000);
      this.raises = [...take(most, 100), ...take(least, 100)];
      const place = (pairs, word) => Math.max(0, pairs.findIndex(([one]) => one === word));
      this.destination = place(this.looks, here);
      this.output = place(this.raises, then);
      const name = words[sources[source]];
      this.fill(this.columns[0], `Who looks at “${name}”: attention`, this.looks, 0, 1);
      const logits = this.raises.map(([, value]) => value);
      this.fill(this.columns[1], `What it then raises and lowers: logits`, this.raises, Math.min(0, ...logits), Math.max(0, ...logits));
      this.draw();
    }

    // Bars begin at zero: what is below it goes to the left.
    fill({ kind, title, rows }, text, pairs, least, most) {
      const scale = 100 / (most - least || 1);
      title.textContent = text;
      rows.setAttribute("aria-label", text);
      rows.replaceChildren(...pairs.map(([word, value], index) => {
        const button = make("button", "cv-path cv-pair");
        button.type = "button";
        button.setAttribute("aria-label", `${this.data.words[word]} ${value.toFixed(2)}`);
        const bar = make("span", "cv-bar");
        const part = make("i");
        part.style.width = `${scale * Math.abs(value)}%`;
        part.style.left = `${scale * (Math.min(0, value) - least)}%`;
        part.style.background = `var(--${value < 0 ? "down" : "up"})`;
        bar.append(part);
        button.append(make("span", "cv-mono", this.data.words[word]), bar, make("output", "", value.toFixed(2)));
        button.addEventListener("click", () => ((this[kind] = index), this.draw()));
        return button;
      }));
    }

    paint() {
      if (this.source === null) return;
      const { words, sources } = this.data;
      for (const { kind, rows } of this.columns)
        [...rows.children].forEach((row, index) => row.setAttribute("aria-pressed", index === this[kind]));
      this.columns[0].rows.style.setProperty("--up", css(ofHead(this.head.value, isDark()))); // attention
      const [destination, attention] = this.looks[this.destination];
      const [output, logits] = this.raises[this.output];
      this.say.textContent =
        `${words[sources[this.source]]} … ${words[destination]} → ${words[output]}: ` +
        `${attention.toFixed(2)} × ${logits.toFixed(2)} = ${(attention * logits).toFixed(2)} logits in head ${this.head.value}.`;
    }
  }

  Circuits.views.register("circuits", async (host, data) => {
    const bytes = await inflate(data.entries);
    const entries = new Int16Array(bytes.buffer, 0, bytes.length / 2);
    return new HeadCircuits(host, { ...data, entries });
  });
})();
