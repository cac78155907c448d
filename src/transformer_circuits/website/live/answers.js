// What comes next, and which parts of the model say so: the tables of the live page.
import { bar, button, fill, table } from "./parts.js";
import { name, percent, quoted } from "./seen.js";
import { labels, other, single } from "./state.js";

const { names, views } = Circuits;
const { make } = views;
const PARTS = 6; // terms of the sum that have a row of their own
const NOTABLE = 0.25; // share of a head's term that makes a source worth naming

// The likeliest next tokens of one or of two models. A click asks about a token.
export class Next {
  constructor(host, page) {
    this.page = page;
    this.title = make("h2", "lm-title");
    const row = make("div", "lm-two");
    this.lists = ["", ""].map(() => {
      const [box, body, caption] = table("", ["token", "chance", "bar", "all on"]);
      row.append(box);
      return { box, body, caption };
    });
    const cover = make("p", "lm-note lm-cover", "Guess first: the example asks a question. ");
    cover.append(button("Show without a guess", () => page.change({ example: null })));
    host.append(this.title, cover, row, this.buildOther());
  }

  // Any token can be asked about, not only the likely ones.
  buildOther() {
    const form = make("form", "lm-controls");
    const input = make("input");
    input.size = 10;
    const label = make("label", "", "Another token: ");
    label.append(input);
    const said = make("span", "lm-note");
    said.setAttribute("role", "status");
    form.append(label, make("button", "lm-button", "Ask"), said);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const [id, problem] = single(input.value);
      said.textContent = problem;
      if (id !== null) this.ask(id);
    });
    return form;
  }

  ask(id) {
    this.page.change({ asked: { at: this.at, id } });
  }

  paint(view) {
    this.at = view.at;
    this.title.textContent = `What comes after ${name(view, view.at)}`;
    const { model } = this.page.state;
    this.list(this.lists[0], names[model], view.next, view.next.target);
    this.lists[1].box.hidden = !view.beside;
    if (view.beside)
      this.list(this.lists[1], `${names[other(model)]}, all on`, view.beside, view.next.target);
  }

  list({ body, caption, box }, title, { ids, came, p, before }, target) {
    caption.textContent = title;
    box.classList.toggle("lm-whole", !before);
    fill(
      body,
      ids.map((id, i) => {
        const choose = make("button", "lm-choose", labels[id] + (id === came ? " (came)" : ""));
        choose.type = "button";
        choose.addEventListener("click", () => this.ask(id));
        choose.setAttribute("aria-pressed", String(id === target));
        return [choose, percent(p[i]), bar(p[i]), before ? percent(before[i]) : ""];
      }),
    );
  }
}

// The logit of the chosen token as a sum over paths: direct, each head, and where from.
export class Parts {
  constructor(host, page) {
    this.page = page;
    const [box, body, caption] = table("", ["path", "logits", "bar"]);
    Object.assign(this, { body, caption });
    host.append(box);
  }

  paint(view) {
    const { direct, totals, sources } = view.parts;
    const all = [
      { path: "direct path", value: direct },
      ...totals.map((value, head) => ({ path: `head ${view.heads[head]}`, value, head })),
    ];
    const sum = all.reduce((total, { value }) => total + value, 0);
    const size = ({ value }) => Math.abs(value);
    const largest = all
      .slice()
      .sort((a, b) => size(b) - size(a))
      .slice(0, PARTS);
    const rest = sum - largest.reduce((total, { value }) => total + value, 0);
    const most = Math.max(...largest.map(size), Math.abs(rest)) || 1;
    this.caption.textContent = `Why ${quoted(view.next.target)}: what adds to its logit`;
    const rows = largest.map(({ path, value, head }) => {
      const cell = make("span", "", path);
      const from = head === undefined ? "" : this.from(view, sources[head], value);
      if (from) cell.append(make("span", "lm-from", from));
      return [cell, value.toFixed(2), bar(Math.abs(value) / most, value < 0)];
    });
    fill(this.body, [
      ...rows,
      ["all others", rest.toFixed(2), bar(Math.abs(rest) / most, rest < 0)],
      ["together", sum.toFixed(2), ""],
    ]);
  }

  // The source that brings most of a head's term.
  from(view, sources, value) {
    const i = sources.reduce(
      (best, part, j) => (Math.abs(part) > Math.abs(sources[best]) ? j : best),
      0,
    );
    return sources[i] && Math.abs(sources[i]) >= NOTABLE * Math.abs(value)
      ? ` from ${name(view, i)} ${sources[i].toFixed(1)}`
      : "";
  }
}
