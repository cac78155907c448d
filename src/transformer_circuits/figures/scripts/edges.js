// Edges between two layers: choose one, and see its score, its effect, and what breaks without it.
(function () {
  "use strict";
  const { View, arrows, blend, choice, css, ground, isDark, make } = Circuits.views;

  const STYLE = `
.circuit-view{--query:#8a3fa0;--key:#00704f;--value:#86590a}
.circuit-view[data-dark]{--query:#d9a0ee;--key:#3fcf9f;--value:#f0bf4c}
.ce-columns{display:flex;flex-wrap:wrap;gap:8px 28px}
.ce-columns>*{flex:1 1 300px;min-width:0}
.ce-columns>:first-child{max-width:370px}
.ce-grid{display:grid;grid-template-columns:max-content repeat(var(--n),minmax(24px,36px));gap:2px;font-size:12px}
.ce-grid>span{align-self:center;text-align:center;color:var(--soft)}
.ce-edges{display:grid;grid-area:2/2/span var(--m)/span var(--n);grid-template-columns:subgrid;gap:2px}
.circuit-view .ce-edges button{height:26px;border:1px solid var(--line);border-radius:2px}
.circuit-view .ce-edges button[aria-pressed=true]{box-shadow:0 0 0 2px var(--bg),0 0 0 4px var(--mark);z-index:1}
.circuit-view .ce-edges .ce-all{border-style:dashed}
.ce-name{font-size:16px;font-weight:600}
.ce-scale{display:grid;grid-template-columns:5.5em 1fr 4em;gap:8px;align-items:center;font-size:13px}
.ce-scale output,.ce-token output{text-align:right;font-variant-numeric:tabular-nums}
.ce-line{position:relative;height:20px;border-bottom:1px solid var(--line);margin:0 3px}
.ce-line i{position:absolute;bottom:0;height:7px;width:1px;background:var(--line)}
.ce-line .ce-chance{height:100%;background:var(--line);opacity:.35;min-width:2px}
.ce-line .ce-here{height:18px;width:5px;margin-left:-2px;background:var(--kind)}
.ce-token{display:grid;grid-template-columns:5.5em minmax(3em,1fr) 6.5em;gap:8px;align-items:center;font-size:13px;min-height:19px}
.ce-token>span{font-family:ui-monospace,monospace;white-space:pre;overflow:hidden;text-overflow:ellipsis}
.ce-token.ce-again>span{font-weight:700;text-decoration:underline}
.ce-pair i{display:block;height:7px;min-width:1px;background:var(--fg)}
.ce-pair i+i{margin-top:1px;background:repeating-linear-gradient(135deg,var(--kind) 0 3px,transparent 3px 5px);border:1px solid var(--kind)}
.ce-hit output{font-weight:700}`;
  const ROLES = { Q: "query", K: "key", V: "value" };
  const READS = { Q: "queries", K: "keys", V: "values" };
  const p2 = (thousandths) => (thousandths / 1000).toFixed(2);

  // data: kinds, words, again (a token that follows the same one as before), chance [mean, sd],
  // whole [token], without [kind][later, and last: all][earlier][token], in thousandths;
  // scores and effects [kind][later][earlier].
  class Edges extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.shade = 0;
      this.measures = [data.effects, data.scores.map((rows) => rows.map((row) => row.map((s) => s - data.chance[0])))];
      this.most = this.measures.map((values) => Math.max(...values.flat(2)));
      const [k, j, i] = this.largest();
      this.kind = k;
      const kinds = data.kinds.map((name) => `${name} (${READS[name] ?? name})`);
      host.append(make("style", "", STYLE));
      host.append(choice("Read by", kinds, (kind) => ((this.kind = kind), this.draw()), k));
      host.append(choice("Shade", ["effect", "score above chance"], (shade) => ((this.shade = shade), this.draw())));
      const columns = make("div", "ce-columns");
      const left = make("div");
      const right = make("div");
      left.append(this.grid(j, i), this.reading());
      right.append(make("div", "cv-note", "Probability of each right token: above with the edge, below without it. A token underlined in bold follows the same token as before."));
      this.tokens = data.words.map((word, t) => this.token(word, data.again[t]));
      right.append(...this.tokens.map((token) => token.row));
      columns.append(left, right);
      host.append(columns, this.say);
      this.draw();
    }

    largest() {
      const { effects } = this.data;
      const all = effects.flatMap((rows, k) => rows.flatMap((row, j) => row.map((effect, i) => [effect, k, j, i])));
      return all.reduce((best, edge) => (edge[0] > best[0] ? edge : best)).slice(1);
    }

    // One stop of the Tab key; arrows choose as they move.
    grid(later, earlier) {
      const { without } = this.data;
      const [rows, columns] = [without[0].length, without[0][0].length];
      const box = make("div", "ce-grid");
      box.style.setProperty("--n", columns);
      box.style.setProperty("--m", rows);
      const place = (text, row, column) => {
        const name = make("span", "", text);
        name.style.gridArea = `${row}/${column}`;
        box.append(name);
      };
      for (let i = 0; i < columns; i++) place(`0.${i}`, 1, i + 2);
      for (let j = 0; j < rows; j++) place(j < rows - 1 ? `1.${j}` : "all", j + 2, 1);
      this.edges = make("div", "ce-edges");
      this.edges.setAttribute("role", "group");
      this.edges.setAttribute("aria-label", "Edges: a column for each earlier head, a row for each later one");
      for (let j = 0; j < rows; j++) for (let i = 0; i < columns; i++) this.edges.append(this.edge(j, i, rows));
      this.select(later, earlier);
      arrows(this.edges, () => columns);
      box.append(this.edges);
      const outer = make("div");
      outer.append(make("div", "cv-note", "Column: the earlier head. Row: the later head that no longer reads it."), box);
      return outer;
    }

    edge(j, i, rows) {
      const button = make("button", j === rows - 1 ? "ce-all" : "");
      button.type = "button";
      const select = () => (this.select(j, i), this.draw());
      button.addEventListener("click", select);
      button.addEventListener("focus", () => button.matches(":focus-visible") && select());
      return button;
    }

    select(j, i) {
      this.later = j;
      this.earlier = i;
      const chosen = j * this.data.without[0][0].length + i;
      [...this.edges.children].forEach((button, at) => (button.tabIndex = at === chosen ? 0 : -1));
    }

    reading() {
      const box = make("div");
      this.name = make("div", "ce-name");
      this.scales = ["score", "effect"].map((text) => {
        const row = make("div", "ce-scale");
        const scale = { row, line: make("div", "ce-line"), value: make("output") };
        row.append(make("span", "", text), scale.line, scale.value);
        return scale;
      });
      const note = "Ticks: all edges of this kind. Band: random heads, mean and two standard deviations. Effect: nats per token of held-out text.";
      box.append(this.name, ...this.scales.map((scale) => scale.row), make("div", "cv-note", note));
      return box;
    }

    token(word, again) {
      const row = make("div", again ? "ce-token ce-again" : "ce-token");
      const pair = make("div", "ce-pair");
      const token = { row, bars: [make("i"), make("i")], value: make("output") };
      pair.append(...token.bars);
      row.append(make("span", "", word), pair, token.value);
      return token;
    }

    rank(values) {
      const own = values[this.kind][this.later][this.earlier];
      return 1 + values.flat(2).filter((value) => value > own).length;
    }

    paint() {
      const { kinds, chance, scores, effects } = this.data;
      const kind = kinds[this.kind];
      const alone = this.later < scores[0].length; // not the row of all later heads
      this.host.style.setProperty("--kind", `var(--${ROLES[kind] ?? "fg"})`);
      this.paintGrid(kind);
      const to = alone ? `1.${this.later}` : "all later heads";
      this.name.textContent = `${kind}: 0.${this.earlier} → ${to}`;
      const own = (values) => (alone ? values[this.kind][this.later][this.earlier] : null);
      const band = [chance[0] - 2 * chance[1], chance[0] + 2 * chance[1]];
      this.paintScale(this.scales[0], scores, own(scores), 3, band);
      this.paintScale(this.scales[1], effects, own(effects), 4);
      const hit = this.paintTokens();
      const [before, after] = [this.data.whole[hit], this.data.without[this.kind][this.later][this.earlier][hit]].map(p2);
      const count = scores.flat(2).length;
      const known = alone
        ? `Its score is ${own(scores).toFixed(3)}, number ${this.rank(scores)} of ${count}; random heads have ${chance[0].toFixed(3)}. Its effect is ${own(effects).toFixed(4)} nats per token, number ${this.rank(effects)}.`
        : "These are several edges, so they have no score of their own.";
      this.say.textContent = `${this.name.textContent} is cut. ${known} In this text, “${this.data.words[hit]}” changes most: from ${before} to ${after}.`;
    }

    paintGrid(kind) {
      const dark = isDark();
      const ink = dark ? [232, 232, 232] : [34, 34, 34];
      const values = this.measures[this.shade][this.kind];
      [...this.edges.children].forEach((button, at) => {
        const [j, i] = [Math.floor(at / values[0].length), at % values[0].length];
        const share = Math.max(0, values[j]?.[i] ?? 0) / this.most[this.shade];
        button.style.background = css(blend(ground(dark), ink, share));
        const pressed = j === this.later && i === this.earlier;
        button.setAttribute("aria-pressed", String(pressed));
        const to = j < values.length ? `1.${j}, effect ${this.data.effects[this.kind][j][i].toFixed(4)}` : "all later heads";
        button.setAttribute("aria-label", `${kind} edge from 0.${i} to ${to}`);
        button.title = button.ariaLabel;
      });
    }

    paintScale(scale, values, own, digits, band) {
      const all = values[this.kind].flat();
      const long = Math.max(...values.flat(2), band ? band[1] : 0) * 1.02;
      const at = (value) => `${(100 * value) / long}%`;
      const mark = (className, value) => {
        const made = make("i", className);
        made.style.left = at(value);
        return made;
      };
      const marks = all.map((value) => mark("", value));
      if (band) {
        const random = mark("ce-chance", band[0]);
        random.style.width = at(band[1] - band[0]);
        marks.unshift(random);
      }
      if (own !== null) marks.push(mark("ce-here", own));
      scale.line.replaceChildren(...marks);
      scale.value.textContent = own === null ? "—" : own.toFixed(digits);
    }

    // The token whose probability changes most.
    paintTokens() {
      const { whole, without } = this.data;
      const less = without[this.kind][this.later][this.earlier];
      const changes = whole.map((p, t) => Math.abs(p - less[t]));
      const hit = changes.indexOf(Math.max(...changes));
      this.tokens.forEach((token, t) => {
        [whole[t], less[t]].forEach((p, which) => (token.bars[which].style.width = `${p / 10}%`));
        token.value.textContent = `${p2(whole[t])} → ${p2(less[t])}`;
        token.row.classList.toggle("ce-hit", t === hit);
      });
      return hit;
    }
  }

  Circuits.views.register("edges", (host, data) => new Edges(host, data));
})();
