// A table of skip-trigrams with filters.
(function () {
  "use strict";
  const { View, make } = Circuits.views;

  // data: heads (their names), of: the head of each row, words: what each row is searched for.
  class Trigrams extends View {
    constructor(host, data) {
      const table = host.firstElementChild;
      super(host, data.label);
      this.data = data;
      this.rows = [...table.querySelector("tbody").rows];
      this.head = make("select");
      this.head.append(new Option("every head", ""), ...data.heads.map((name) => new Option(name)));
      this.word = make("input");
      this.word.type = "search";
      this.word.size = 12;
      const controls = make("div", "cv-filter");
      const named = { "Head ": this.head, "Token contains ": this.word };
      for (const [text, input] of Object.entries(named)) {
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
        row.hidden = (this.head.value && of[i] !== this.head.value) || !words[i].includes(wanted);
      });
      this.say.textContent = `${this.rows.filter((row) => !row.hidden).length} of ${this.rows.length} rows`;
    }
  }

  Circuits.views.register("trigrams", (host, data) => new Trigrams(host, data));
})();
