// Every edge between two layers: its score beside chance, what cutting it changes, and what breaks.
(function () {
  "use strict";
  const { View, arrows, blend, choice, css, ground, isDark, make, readableOn } = Circuits.views;
  const [UP, DOWN] = [[178, 24, 43], [33, 102, 172]];

  // data: kinds, later and earlier (names), scores and effects: [kind][later][earlier], chance and spread of
  // a score, unit of the effects, tokens, whole: a probability per token (null where there is none), and
  // without: [kind][later][earlier] the same list when that edge is cut.
  class Edges extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.byScore = false;
      const all = data.kinds.flatMap((_, kind) => data.later.flatMap((_, j) => data.earlier.map((_, i) => [kind, j, i])));
      this.order = all.sort((a, b) => this.of("effects", b) - this.of("effects", a));
      this.at = this.order[0];
      const row = make("div", "cv-row");
      const left = make("div", "cv-narrow");
      left.append(make("div", "cv-note", "Rows: the later head, which reads. Columns: the earlier one, which wrote"));
      left.append(this.grid());
      const right = make("div", "cv-column");
      this.facts = make("div", "cv-facts");
      this.places = make("div", "cv-places");
      const legend = make("div", "cv-note");
      legend.append(make("span", "cv-key cv-part-0"), " as it is ", make("span", "cv-key cv-part-1"), " with the edge cut");
      right.append(this.facts, make("div", "cv-note", "How likely the model held each token before it came:"), this.places, legend);
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
      return this.data[what][kind][j][i];
    }

    grid() {
      const { later, earlier } = this.data;
      const box = make("div", "cv-edges");
      box.style.gridTemplateColumns = `repeat(${earlier.length}, 1fr)`;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Edges: arrow keys move");
      arrows(box, () => earlier.length);
      later.forEach((_, j) => earlier.forEach((_, i) => {
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
      side.append(...later.map((name) => make("span", "", name)));
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
      const { kinds, later, earlier, chance, spread, unit, whole, tokens } = this.data;
      const [kind, j, i] = this.at;
      const what = this.byScore ? "scores" : "effects";
      const middle = this.byScore ? chance : 0;
      const most = Math.max(...this.data[what].flat(2).map((value) => Math.abs(value - middle)));
      this.buttons.forEach((button, k) => {
        const edge = [kind, Math.floor(k / earlier.length), k % earlier.length];
        const value = this.of(what, edge);
        const colour = blend(ground(isDark()), value < middle ? DOWN : UP, Math.abs(value - middle) / most);
        button.style.background = css(colour);
        button.style.color = readableOn(colour);
        button.setAttribute("aria-pressed", edge[1] === j && edge[2] === i);
        button.setAttribute("aria-label", `${this.name(edge)}: ${what.slice(0, -1)} ${value.toPrecision(2)}`);
      });
      const rank = this.order.findIndex((edge) => edge.join() === this.at.join()) + 1;
      this.facts.replaceChildren(
        make("b", "", this.name(this.at)),
        make("span", "", `score ${this.of("scores", this.at).toFixed(3)}; by chance ${chance.toFixed(3)} ± ${spread.toFixed(3)}`),
        make("span", "", `cut: ${this.of("effects", this.at).toPrecision(2)} ${unit}, place ${rank} of ${this.order.length}`)
      );
      const cut = this.of("without", this.at);
      let worst = null;
      this.pairs.forEach(({ cell, pair }, k) => {
        [whole[k], cut[k]].forEach((p, side) => (pair[side].style.height = `${100 * (p ?? 0)}%`));
        cell.title = whole[k] === null ? "" : `${whole[k].toFixed(2)}, cut ${cut[k].toFixed(2)}`;
        if (whole[k] !== null && (worst === null || whole[k] - cut[k] > whole[worst] - cut[worst])) worst = k;
      });
      this.say.textContent = `Without ${this.name(this.at)}, “${tokens[worst]}” (${worst}) loses most: ` +
        `${whole[worst].toFixed(2)} becomes ${cut[worst].toFixed(2)}.`;
    }

    name([kind, j, i]) {
      return `${this.data.earlier[i]} → ${this.data.later[j]} (${this.data.kinds[kind]})`;
    }
  }

  Circuits.views.register("edges", (host, data) => new Edges(host, data));
})();
