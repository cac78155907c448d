// A table whose rows the reader narrows down.
(function () {
  "use strict";
  const { View, make } = Circuits.views;

  // data: by (what rows are chosen by), of: that of each row, first: the one chosen at first, or null for all;
  // words: what each row is searched for.
  class Filtered extends View {
    constructor(host, data) {
      const table = host.firstElementChild;
      super(host, data.label);
      this.data = data;
      this.rows = [...table.querySelector("tbody").rows];
      this.chosen = make("select");
      this.chosen.append(new Option(`every ${data.by}`, ""), ...[...new Set(data.of)].map((name) => new Option(name)));
      this.chosen.value = data.first ?? "";
      this.word = make("input");
      this.word.type = "search";
      this.word.size = 12;
      const controls = make("div", "cv-filter");
      const by = data.by[0].toUpperCase() + data.by.slice(1);
      for (const [text, input] of Object.entries({ [`${by} `]: this.chosen, "Token contains ": this.word })) {
        const label = make("label", "", text);
        label.append(input);
        controls.append(label);
        input.addEventListener("input", () => this.draw());
      }
      this.host.append(controls, this.say, table);
      this.draw();
    }

    paint() {
      const wanted = this.word.value.trimEnd().toLowerCase().replaceAll(" ", "␣");
      this.rows.forEach((row, i) => {
        const { of, words } = this.data;
        row.hidden = (this.chosen.value && of[i] !== this.chosen.value) || !words[i].includes(wanted);
      });
      this.say.textContent = `${this.rows.filter((row) => !row.hidden).length} of ${this.rows.length} rows`;
    }
  }

  Circuits.views.register("filtered", (host, data) => new Filtered(host, data));
})();
