// Every edge between two layers: its score beside chance, what cutting it changes, and what breaks.
(function () {
  "use strict";
  const { DOWN, UP, View, arrows, blend, choice, css, ground, isDark, make } = Circuits.views;

  // data: kinds, later and earlier (names), scores and effects: [kind][later][earlier], chance and spread of
  // a score, unit of the effects, tokens, whole: a probability per token (null where there is none), and
  // without: [kind][later][earlier] the same list when that edge is cut; where it has a row more than scores, that
  // is an earlier head's edges to all later heads at once.
  class Edges extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.byScore = false;
      const all = data.kinds.flatMap((_, kind) => data.later.flatMap((_, j) => data.earlier.map((_, i) => [kind, j, i])));
      this.at = all.reduce((best, edge) => (this.of("effects", edge) > this.of("effects", best) ? edge : best));
      this.rows = data.without[0].map((_, j) => data.later[j] ?? "all");
      const row = make("div", "cv-row");
      const left = make("div", "cv-narrow");
      left.append(make("div", "cv-note", "Rows: the later head, which reads. Columns: the earlier one, which wrote"));
      left.append(this.grid());
      const right = make("div", "cv-column");
      this.facts = make("div", "cv-facts");
      this.places = make("div", "cv-places");
      const legend = make("div", "cv-note");
      legend.append(make("span", "cv-key cv-part-0"), " as it is ", make("span", "cv-key cv-part-1"), " with the edge cut");
      right.append(this.facts, make("div", "cv-note", "How likely the model held each token before it came:"), this.places, legend, this.table());
      row.append(left, right);
      const pick = (kind) => ((this.at = [kind, this.at[1], this.at[2]]), this.draw());
      host.append(
        choice("Into", data.kinds, pick, this.at[0]),
        choice("Colour", ["effect", "score"], (i) => ((this.byScore = i === 1), this.draw())),
        row,
        this.say
      );
      this.bars();
      this.draw();
    }

    of(what, [kind, j, i]) {
      return this.data[what][kind][j]?.[i];
    }

    // The place of an edge among all, and of how many.
    place(what, edge) {
      const all = this.data[what].flat(2);
      return `place ${1 + all.filter((value) => value > this.of(what, edge)).length} of ${all.length}`;
    }

    table() {
      const box = make("details", "cv-members");
      const table = make("table");
      box.append(make("summary", "", "The numbers"), table);
      const row = (tag, texts) => {
        const line = make("tr");
        line.append(...texts.map((text) => make(tag, "", text)));
        table.append(line);
        return line;
      };
      const names = row("th", ["token", "as it is", "with the edge cut"]);
      [...names.cells].forEach((name) => (name.scope = "col"));
      this.lines = this.data.tokens.map((token) => row("td", [token, "", ""]));
      return box;
    }

    grid() {
      const { earlier } = this.data;
      const box = make("div", "cv-edges");
      box.style.gridTemplateColumns = `repeat(${earlier.length}, 1fr)`;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Edges: arrow keys move");
      arrows(box, () => earlier.length);
      this.rows.forEach((_, j) => earlier.forEach((_, i) => {
        const button = make("button", "cv-edge");
        button.type = "button";
        button.tabIndex = j === this.at[1] && i === this.at[2] ? 0 : -1;
        const choose = () => ((this.at = [this.at[0], j, i]), this.draw());
        button.addEventListener("click", choose);
        button.addEventListener("focus", () => button.matches(":focus-visible") && choose());
        box.append(button);
      }));
      this.buttons = [...box.children];
      const names = make("div", "cv-edge-names");
      names.style.gridTemplateColumns = box.style.gridTemplateColumns;
      names.append(...earlier.map((name) => make("span", "", name)));
      const side = make("div", "cv-edge-side");
      side.append(...this.rows.map((name) => make("span", "", name)));
      const whole = make("div", "cv-edge-table");
      whole.append(make("span"), names, side, box);
      return whole;
    }

    bars() {
      this.pairs = this.data.tokens.map((token) => {
        const cell = make("span", "cv-place");
        const pair = ["cv-part-0", "cv-part-1"].map((name) => make("i", name));
        const stack = make("span", "cv-pair-bars");
        stack.append(...pair);
        cell.append(stack, make("span", "cv-mono", token));
        this.places.append(cell);
        return { cell, pair };
      });
    }

    paint() {
      const { earlier, chance, spread, unit, whole, tokens } = this.data;
      const [kind, j, i] = this.at;
      const what = this.byScore ? "scores" : "effects";
      const middle = this.byScore ? chance : 0;
      const most = Math.max(...this.data[what].flat(2).map((value) => Math.abs(value - middle)));
      this.buttons.forEach((button, k) => {
        const edge = [kind, Math.floor(k / earlier.length), k % earlier.length];
        const value = this.of(what, edge);
        const alone = value !== undefined;
        const share = alone ? Math.abs(value - middle) / most : 0;
        button.style.background = css(blend(ground(isDark()), value < middle ? DOWN : UP, share));
        button.style.borderStyle = alone ? "" : "dashed";
        button.setAttribute("aria-pressed", edge[1] === j && edge[2] === i);
        button.setAttribute("aria-label", this.name(edge) + (alone ? `: ${what.slice(0, -1)} ${value.toPrecision(2)}` : ""));
      });
      const [score, effect] = ["scores", "effects"].map((name) => this.of(name, this.at));
      const known = score === undefined ? ["several edges at once, which have no score of their own"] : [
        `score ${score.toFixed(3)}, ${this.place("scores", this.at)}; by chance ${chance.toFixed(3)} ± ${spread.toFixed(3)}`,
        `cut: ${effect.toPrecision(2)} ${unit}, ${this.place("effects", this.at)}`,
      ];
      this.facts.replaceChildren(make("b", "", this.name(this.at)), ...known.map((text) => make("span", "", text)));
      const cut = this.of("without", this.at);
      let worst = null;
      this.pairs.forEach(({ cell, pair }, k) => {
        [whole[k], cut[k]].forEach((p, side) => (pair[side].style.height = `${100 * (p ?? 0)}%`));
        const said = [whole[k], cut[k]].map((p) => (p === null ? "—" : p.toFixed(2)));
        cell.title = said.join(", cut ");
        said.forEach((text, side) => (this.lines[k].cells[side + 1].textContent = text));
        if (whole[k] !== null && (worst === null || whole[k] - cut[k] > whole[worst] - cut[worst])) worst = k;
      });
      this.say.textContent = `Without ${this.name(this.at)}, “${tokens[worst]}” (${worst}) loses most: ` +
        `${whole[worst].toFixed(2)} becomes ${cut[worst].toFixed(2)}.`;
    }

    name([kind, j, i]) {
      return `${this.data.earlier[i]} → ${this.rows[j]} (${this.data.kinds[kind]})`;
    }
  }

  Circuits.views.register("edges", (host, data) => new Edges(host, data));
})();
