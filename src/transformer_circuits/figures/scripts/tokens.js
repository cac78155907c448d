// Tokens coloured by a value each.
(function () {
  "use strict";
  const { DOWN, UP, View, blend, choice, css, ground, isDark, make, readableOn, register } = Circuits.views;

  // data: tokens, values: {name: one number per token}, unit, label, differences: names of values with
  // a scale of their own, first: the name that is shown at first.
  class Tokens extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.names = Object.keys(data.values);
      this.index = this.names.indexOf(data.first);
      this.looked = null;
      const pick = (i) => ((this.index = i), this.draw());
      const rows = choice("Show", this.names, pick, this.index);
      rows.hidden = this.names.length < 2;
      this.scale = make("span", "cv-note");
      const controls = make("div");
      controls.append(rows, this.scale);
      this.tokens = this.tokenButtons(data.tokens);
      [...this.tokens.children].forEach((button, i) => {
        button.removeAttribute("aria-pressed");
        this.onLook(button, (on) => ((this.looked = on ? i : null), this.draw()));
        button.addEventListener("click", () => ((this.looked = i), this.draw()));
      });
      host.append(controls, this.tokens, this.say);
      this.draw();
    }

    // The largest size of all values on a name's scale, and whether the scale has a negative side.
    range(name) {
      const { values, differences } = this.data;
      const apart = differences.includes(name);
      const alike = this.names.filter((other) => differences.includes(other) === apart);
      const known = alike.flatMap((other) => values[other].filter((v) => v !== null));
      return [Math.max(0, ...known.map(Math.abs)) || 1, apart || known.some((v) => v < 0)];
    }

    paint() {
      const dark = isDark();
      const values = this.data.values[this.names[this.index]];
      const [most, signed] = this.range(this.names[this.index]);
      const full = (v) => blend(v < 0 ? DOWN : UP, [255, 255, 255], dark ? 0.15 : 0);
      const colour = (v) => blend(ground(dark), full(v), Math.abs(v) / most);
      const ends = [signed ? -most : 0, most];
      const ramp = [ends[0], signed ? 0 : most / 2, most].map((v) => css(colour(v))).join(",");
      const bar = make("span", "cv-scale");
      bar.style.background = `linear-gradient(to right, ${ramp})`;
      this.scale.replaceChildren(ends[0].toFixed(signed ? 2 : 0), bar, `${most.toFixed(2)} ${this.data.unit}`);
      [...this.tokens.children].forEach((button, i) => {
        const c = values[i] === null ? ground(dark) : colour(values[i]);
        button.style.background = css(c);
        button.style.color = readableOn(c);
        button.setAttribute("aria-label", this.sentence(i));
        button.classList.toggle("cv-focus", i === this.looked);
      });
      this.say.textContent = this.looked === null ? "" : this.sentence(this.looked);
    }

    sentence(i) {
      const said = this.names.map((name) => {
        const value = this.data.values[name][i];
        return `${name} ${value === null ? "not defined" : value.toFixed(2) + " " + this.data.unit}`;
      });
      return `“${this.data.tokens[i]}” (${i}): ${said.join(", ")}`;
    }
  }

  register("tokens", (host, data) => new Tokens(host, data));
})();
