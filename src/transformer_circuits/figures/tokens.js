// Tokens coloured by a value each, a table of skip-trigrams with filters, and sums over paths.
(function () {
  "use strict";
  if (Circuits.views.Tokens) {
    Circuits.views.mount();
    return;
  }
  const { View, blend, choice, css, ground, isDark, make, readableOn } = Circuits.views;

  const BLUE = [33, 102, 172];
  const RED = [178, 24, 43];

  // data: tokens, values: {name: one number per token}, unit, label, differences: names of values with
  // a scale of their own, first: the name that is shown at first.
  class Tokens extends View {
    constructor(host, data) {
      super(host, data.label);
      this.controls = make("div");
      this.scale = make("span", "cv-note");
      this.tokens = this.tokenButtons([]);
      host.append(this.controls, this.tokens, this.say);
      this.update(data);
    }

    // If there are as many rows of values as before, the choice among them stays, whatever their names.
    update(data) {
      const names = Object.keys(data.values);
      if (names.length !== this.names?.length) {
        this.index = Math.max(0, names.indexOf(data.first));
        const pick = (i) => ((this.index = i), this.draw());
        this.switch = choice("Show", names, pick, this.index);
        this.switch.hidden = names.length < 2;
        this.controls.replaceChildren(this.switch, this.scale);
      }
      this.names = names;
      this.switch.querySelectorAll("label span").forEach((span, i) => (span.textContent = names[i]));
      if (data.tokens.join("\n") !== this.data?.tokens.join("\n")) {
        this.looked = null;
        this.fillTokens(this.tokens, data.tokens);
        [...this.tokens.children].forEach((button, i) => {
          button.removeAttribute("aria-pressed");
          this.onLook(button, (on) => ((this.looked = on ? i : null), this.draw()));
          button.addEventListener("click", () => ((this.looked = i), this.draw()));
        });
      }
      this.data = data;
      this.draw();
    }

    // The largest size of all values on a name's scale, and whether the scale has a negative side.
    range(name) {
      const { values, differences = [] } = this.data;
      const apart = differences.includes(name);
      const alike = this.names.filter((other) => differences.includes(other) === apart);
      const known = alike.flatMap((other) => values[other].filter((v) => v !== null));
      return [Math.max(0, ...known.map(Math.abs)) || 1, apart || known.some((v) => v < 0)];
    }

    paint() {
      const dark = isDark();
      const values = this.data.values[this.names[this.index]];
      const [most, signed] = this.range(this.names[this.index]);
      const full = (v) => blend(v < 0 ? BLUE : RED, [255, 255, 255], dark ? 0.15 : 0);
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

  // data: answers, unit, groups: [{name, paths: [{name, values: one number per answer}]}].
  class Paths extends View {
    constructor(host, data) {
      super(host, data.label);
      this.data = data;
      this.answer = 0;
      this.on = new Set(data.groups.flatMap((group) => group.paths));
      const pick = (i) => ((this.answer = i), this.draw());
      host.append(choice("Logit of", data.answers, pick));
      this.rows = data.groups.flatMap((group) => this.group(group));
      this.totals = data.answers.map((name) => this.row(name, [...this.on], false));
      const total = make("div", "cv-total");
      total.append(make("div", "cv-note", "The sum of what is on, for each of these answers"));
      total.append(...this.totals.map((row) => row.box));
      host.append(total, this.say);
      this.draw();
    }

    group(group) {
      const whole = this.row(group.name, group.paths, true);
      this.host.append(whole.box);
      if (group.paths.length < 2) return [whole];
      const members = make("details", "cv-members");
      members.append(make("summary", "", `${group.paths.length} paths, one by one`));
      const rows = group.paths.map((path) => this.row(path.name, [path], true));
      members.append(...rows.map((row) => row.box));
      this.host.append(members);
      return [whole, ...rows];
    }

    row(name, paths, switched) {
      const row = { name, paths, box: make("div", "cv-path"), value: make("output") };
      const label = make("label");
      row.bar = make("i");
      if (switched) {
        row.input = make("input");
        row.input.type = "checkbox";
        row.input.addEventListener("change", () => {
          paths.forEach((path) => this.on[row.input.checked ? "add" : "delete"](path));
          this.draw();
        });
        label.append(row.input);
      }
      label.append(name);
      const bar = make("div", "cv-bar");
      bar.append(row.bar);
      row.box.append(label, bar, row.value);
      return row;
    }

    sum(paths, answer) {
      return paths.reduce((sum, path) => sum + path.values[answer], 0);
    }

    // All answers share one scale, that of all paths on, so that bars can be compared.
    paint() {
      const every = this.data.groups.flatMap((group) => group.paths);
      const drawn = this.rows.map((row) => this.sum(row.paths, this.answer));
      const all = this.data.answers.flatMap((_, i) =>
        [...this.rows, { paths: every }].map((row) => this.sum(row.paths, i)));
      const low = Math.min(0, ...all);
      const long = Math.max(0, ...all) - low || 1;
      const show = (row, value) => {
        const [left, right] = [Math.min(0, value), Math.max(0, value)].map((v) => (100 * (v - low)) / long);
        row.bar.style.left = `${Math.max(0, Math.min(100, left))}%`;
        row.bar.style.width = `${Math.max(0, Math.min(100, right) - Math.max(0, left))}%`;
        row.bar.style.background = `var(--${value < 0 ? "down" : "up"})`;
        row.value.textContent = value.toFixed(2);
      };
      this.rows.forEach((row, i) => {
        const there = row.paths.filter((path) => this.on.has(path)).length;
        row.input.checked = there > 0;
        row.input.indeterminate = there > 0 && there < row.paths.length;
        row.box.classList.toggle("cv-off", !there);
        show(row, drawn[i]);
      });
      const left = every.filter((path) => this.on.has(path));
      const now = this.data.answers.map((_, i) => this.sum(left, i));
      this.totals.forEach((row, i) => show(row, now[i]));
      const first = this.data.answers[now.indexOf(Math.max(...now))];
      this.say.textContent = left.length
        ? `With ${left.length} of ${every.length} paths on, “${first}” is first among these answers.`
        : "With no path on, all answers are alike.";
    }
  }

  Circuits.views.Tokens = Tokens;
  Circuits.views.register("paths", (host, data) => new Paths(host, data));
  Circuits.views.register("tokens", (host, data) => new Tokens(host, data));
  Circuits.views.register("trigrams", (host, data) => new Trigrams(host, data));
})();
