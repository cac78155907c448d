// The part of the live page that answers questions: what comes next, and which heads and earlier
// tokens say so (direct logit attribution).
(function () {
  "use strict";
  const { Tokens, make } = Circuits.views;
  const { bar, button, fill, table } = Circuits.parts;
  const LISTED = 8; // tokens and parts in the tables

  class Answers {
    // `ask`: called with the token that the reader asks about.
    constructor(host, { labels, tokenizer, ask }) {
      Object.assign(this, { labels, tokenizer, ask });
      const row = make("div", "lm-row");
      const [next, nextBody, nextCaption] = table("", ["token", "probability", ""]);
      const [who, whoBody, whoCaption] = table("", ["part", "logits", ""]);
      Object.assign(this, { nextBody, nextCaption, whoBody, whoCaption });
      row.append(next, who);
      this.sources = make("div");
      host.append(row, this.buildOther(), this.sources);
    }

    // Any token can be asked about, not only the likely ones.
    buildOther() {
      const form = make("form", "lm-label");
      const input = make("input");
      input.size = 12;
      const label = make("label", "", "Another token: ");
      label.append(input);
      const said = make("span", "lm-time");
      said.setAttribute("role", "status");
      const submit = make("button", "lm-button", "Ask");
      form.append(label, " ", submit, said);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const { ids } = this.tokenizer.encode(input.value);
        said.textContent = ids.length === 1 ? "" : `not one token but ${ids.length}: ${ids.map((id) => this.labels[id]).join(" ")}`;
        if (ids.length === 1) this.ask(ids[0]);
      });
      return form;
    }

    // About position `at`: the token asked about, else the one that came next, else the likeliest.
    show(model, run, { at, asked, head, names }) {
      const logs = model.logProbabilities(run, at);
      const order = Array.from(logs.keys()).sort((a, b) => logs[b] - logs[a]);
      const real = run.ids[at + 1];
      const target = asked ?? real ?? order[0];
      const listed = [...new Set([...order.slice(0, LISTED), ...[real, target].filter((id) => id !== undefined)])];
      this.nextCaption.textContent = `After “${this.labels[run.ids[at]]}” (${at})`;
      const rows = listed.map((id) => {
        const choose = button(this.labels[id] + (id === real ? " (came next)" : ""), () => this.ask(id));
        choose.setAttribute("aria-pressed", String(id === target));
        const p = Math.exp(logs[id]);
        return [choose, p < 0.001 ? "below 0.1 %" : `${(100 * p).toFixed(1)} %`, bar(p)];
      });
      fill(this.nextBody, rows);
      const { direct, heads } = model.attribution(run, at, target);
      this.showParts(direct, heads, names, target);
      this.showSources(run, heads, head, names, target);
    }

    showParts(direct, heads, names, target) {
      const totals = heads.map((sources, h) => [`head ${names[h]}`, sources.reduce((a, b) => a + b, 0)]);
      const all = [["direct path", direct], ...totals];
      const sum = all.reduce((total, [, value]) => total + value, 0);
      const largest = all.slice().sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, LISTED);
      const rest = sum - largest.reduce((total, [, value]) => total + value, 0);
      const rows = [...largest, ["all others", rest], ["together", sum]];
      const most = Math.max(...rows.map(([, value]) => Math.abs(value))) || 1;
      this.whoCaption.textContent = `For “${this.labels[target]}”`;
      fill(this.whoBody, rows.map(([name, value]) => [name, value.toFixed(2), bar(Math.abs(value) / most, value < 0)]));
    }

    showSources(run, heads, head, names, target) {
      const chosen = head === null ? heads : [heads[head]];
      const whose = head === null ? "all heads" : `head ${names[head]}`;
      const values = run.ids.map((_, j) => chosen.reduce((total, sources) => total + sources[j], 0));
      const data = {
        tokens: run.ids.map((id) => this.labels[id]),
        values: {
          [`logits for “${this.labels[target]}”, through ${whose}`]: values,
          "loss of each token [nats]": run.loss,
        },
        unit: "",
        label: "What each source token adds to the logit, and what each token costs",
      };
      if (this.tokens) this.tokens.update(data);
      else this.tokens = new Tokens(this.sources, data);
    }
  }

  Circuits.Answers = Answers;
})();
