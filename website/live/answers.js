// What comes next, and which parts of the model say so: the tables of the live page.
import { asking, bar, button, fill, h, number, table, veiled } from "./parts.js";
import { name, percent, quoted } from "./seen.js";
import { labels, other, single } from "./state.js";

const { names } = Circuits;
const PARTS = 6; // terms of the sum that have a row of their own
const NOTABLE = 0.25; // share of a head's term that makes a source worth naming

// The likeliest next tokens of one or of two models. A click asks about a token, as does the form
// below: any token can be asked about, not only the likely ones.
export class Next {
  constructor(host, page) {
    this.page = page;
    this.title = h("h2", { class: "lm-title" });
    this.lists = ["", ""].map(() => table(["token", "chance", "bar", "all on"]));
    const tables = h("div", { class: "lm-two" }, ...this.lists.map(({ box }) => box));
    const show = button("Show without a guess", () => page.change({ example: null }));
    const awaited =
      "The likeliest next tokens will stand here, each with its chance. Guess first: the tour asks.";
    const { form, said } = asking("Another token:", "Ask", (text) => {
      const [id, problem] = single(text);
      said.textContent = problem;
      if (id !== null) this.ask(id);
    });
    host.append(this.title, veiled(tables, awaited, show), form);
  }

  ask(id) {
    this.page.change({ asked: { at: this.at, id } });
  }

  paint(view) {
    this.at = view.at;
    this.title.textContent = `What comes after ${name(view, view.at)}`;
    const { model } = this.page.state;
    const [one, two] = this.lists;
    this.list(one, names[model], view.next, view.next.target);
    two.box.hidden = !view.beside;
    if (view.beside)
      this.list(two, `${names[other(model)]}, all on`, view.beside, view.next.target);
  }

  list({ body, caption, box }, title, { ids, came, p, before }, target) {
    caption.textContent = title;
    box.classList.toggle("lm-whole", !before);
    const rows = ids.map((id, i) => {
      const attributes = { class: "lm-choose", "aria-pressed": String(id === target) };
      const choose = button(labels[id], () => this.ask(id), attributes);
      if (id === came) choose.append(" (came)");
      return [choose, percent(p[i]), bar(p[i], "likely"), before ? percent(before[i]) : ""];
    });
    fill(body, rows);
  }
}

// The logit of the chosen token as a sum over paths: direct, each head, and where from.
export class Parts {
  constructor(host, page) {
    this.page = page;
    this.list = table(["path", "logits", "bar"]);
    const awaited =
      "And here, who raised such a token, and who lowered it: path by path, head by head.";
    host.append(veiled(this.list.box, awaited));
  }

  paint(view) {
    const { direct, totals, sources } = view.parts;
    const heads = totals.map((value, head) => ({
      path: `head ${view.heads[head]}`,
      value,
      from: this.from(view, sources[head], value),
    }));
    const all = [{ path: "direct path", value: direct, from: "" }, ...heads];
    const together = (terms) => terms.reduce((total, { value }) => total + value, 0);
    const ordered = all.toSorted((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const rest = together(ordered.slice(PARTS));
    const most = Math.max(Math.abs(ordered[0].value), Math.abs(rest)) || 1;
    const size = (value) => bar(Math.abs(value) / most, value < 0 ? "less" : "more");
    const shown = (path, value) => [path, number(value), size(value)];
    this.list.caption.textContent = `Why ${quoted(view.next.target)}: what adds to its logit`;
    const rows = ordered.slice(0, PARTS).map(({ path, value, from }) => {
      const said = from && h("span", { class: "lm-from" }, from);
      return shown(h("span", {}, path, said), value);
    });
    rows.push(shown("all others", rest), ["together", number(together(all)), ""]);
    fill(this.list.body, rows);
  }

  // The source that brings most of a head's term.
  from(view, sources, value) {
    const sizes = sources.map(Math.abs);
    const most = Math.max(...sizes);
    const i = sizes.indexOf(most);
    if (!most || most < NOTABLE * Math.abs(value)) return "";
    return ` from ${name(view, i)} ${number(sources[i], 1)}`;
  }
}
