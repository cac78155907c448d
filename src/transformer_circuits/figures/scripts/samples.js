// Places of a text in groups: a bar for each, and random places of the group that is chosen.
(function () {
  "use strict";
  const { View, arrows, make, register } = Circuits.views;

  // data: kind and names of the groups, columns, values: one number per column for each group, bar:
  // the column that is drawn, marks, brackets, passages: for each group [{tokens, marks: the index of
  // each mark, gaps, facts: [[name, words]]}].
  class Samples extends View {
    constructor(host, data) {
      const table = host.firstElementChild;
      super(host, data.label);
      this.data = data;
      this.chosen = data.names.length - 1;
      const legend = make("div", "cv-note", "Marked: ");
      data.marks.forEach((name, k) => legend.append(this.marked(name, [k]), " "));
      this.list = make("div");
      const all = make("details");
      all.append(make("summary", "cv-note", "All samples as a table"), table);
      const note = `Mean ${data.bar} by ${data.kind}: choose one to read places of it, drawn at random`;
      host.append(make("div", "cv-note", note), this.bars(), this.say, legend, this.list, all);
      this.show();
    }

    bars() {
      const { bar, columns, kind, names, values } = this.data;
      const heights = values.map((row) => row[columns.indexOf(bar)]);
      const group = make("div", "cv-bars");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", `A bar for every ${kind}`);
      heights.forEach((height, k) => {
        const button = make("button");
        button.type = "button";
        button.tabIndex = k === this.chosen ? 0 : -1;
        button.setAttribute("aria-label", `${kind} ${names[k]}: ${bar} ${height}`);
        const drawn = make("i");
        drawn.style.height = `${(76 * height) / Math.max(...heights)}px`;
        button.append(make("span", "", height.toFixed(2)), drawn, make("span", "", names[k]));
        button.addEventListener("click", () => ((this.chosen = k), this.show()));
        group.append(button);
      });
      arrows(group, () => 1);
      this.buttons = [...group.children];
      return group;
    }

    show() {
      const { columns, kind, names, passages, values } = this.data;
      const numbers = columns.map((name, k) => `${name} ${values[this.chosen][k]}`).join(", ");
      const shown = passages[this.chosen];
      this.buttons.forEach((button, k) => {
        button.setAttribute("aria-pressed", String(k === this.chosen));
        button.tabIndex = k === this.chosen ? 0 : -1;
      });
      this.list.replaceChildren(...shown.map((passage) => this.passage(passage)));
      this.say.textContent = `The ${kind} ${names[this.chosen]}: ${numbers}. Here are ${shown.length} of its places.`;
      this.draw();
    }

    passage({ tokens, marks, gaps, facts }) {
      const box = make("div", "cv-passage");
      const text = make("p");
      tokens.forEach((token, k) => {
        const here = marks.flatMap((place, mark) => (place === k ? [mark] : []));
        if (gaps.includes(k)) text.append(" … ");
        text.append(here.length ? this.marked(token, here) : token);
      });
      const said = make("div", "cv-note", facts.map(([name, words]) => `${name} ${words}`).join(" · "));
      box.append(text, said);
      return box;
    }

    marked(words, marks) {
      const { brackets } = this.data;
      const around = (text, mark) => brackets[mark][0] + text + brackets[mark][1];
      return make("mark", "", marks.reduce(around, words));
    }

    paint() {} // all colours are the style's
  }

  register("samples", (host, data) => new Samples(host, data));
})();
