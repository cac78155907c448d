// Sums over paths, of which any is switched off.
(function () {
  "use strict";
  const { View, choice, make } = Circuits.views;

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

  Circuits.views.register("paths", (host, data) => new Paths(host, data));
})();
