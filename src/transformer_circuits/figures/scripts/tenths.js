// Ten columns of shares; the chosen one shows its samples, which are rows of a table.
(function () {
  "use strict";
  const { View, arrows, make } = Circuits.views;

  // data: kinds (names), shares: one list of ten per kind, of: the tenth of each row, 1 to 10.
  class Tenths extends View {
    constructor(host, data) {
      const table = host.firstElementChild;
      super(host, data.label);
      this.data = data;
      this.rows = [...table.querySelector("tbody").rows];
      this.at = 9;
      const legend = make("div", "cv-note");
      data.kinds.forEach((kind, i) => {
        legend.append(make("span", `cv-key cv-part-${i}`), make("span", "", ` ${kind}  `));
      });
      this.columns = make("div", "cv-tenths");
      this.columns.setAttribute("role", "group");
      this.columns.setAttribute("aria-label", "Tenths, from the weakest to the strongest");
      data.shares[0].forEach((_, tenth) => this.columns.append(this.column(tenth)));
      arrows(this.columns, () => 1);
      host.append(legend, this.columns, this.say, table);
      this.draw();
    }

    column(tenth) {
      const button = make("button", "cv-tenth");
      button.type = "button";
      button.tabIndex = tenth === this.at ? 0 : -1;
      button.setAttribute("aria-label", `tenth ${tenth + 1}: ${this.sentence(tenth)}`);
      const bar = make("span", "cv-stack");
      this.data.shares.forEach((shares, i) => {
        const part = make("i", `cv-part-${i}`);
        part.style.height = `${100 * shares[tenth]}%`;
        bar.append(part);
      });
      button.append(bar, make("span", "", String(tenth + 1)));
      const choose = () => ((this.at = tenth), this.draw());
      button.addEventListener("click", choose);
      button.addEventListener("focus", () => button.matches(":focus-visible") && choose());
      return button;
    }

    sentence(tenth) {
      return this.data.kinds.map((kind, i) => `${kind} ${this.data.shares[i][tenth].toFixed(2)}`).join(", ");
    }

    paint() {
      [...this.columns.children].forEach((button, k) => button.setAttribute("aria-pressed", k === this.at));
      this.rows.forEach((row, i) => (row.hidden = this.data.of[i] !== this.at + 1));
      const ends = { 0: ", the weakest", 9: ", the strongest" };
      this.say.textContent = `Tenth ${this.at + 1}${ends[this.at] ?? ""}: ${this.sentence(this.at)}.`;
    }
  }

  Circuits.views.register("tenths", (host, data) => new Tenths(host, data));
})();
