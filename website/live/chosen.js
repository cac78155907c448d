// What is looked at in a model, and what is taken out of it, on every page that shows its heads.
export const KINDS = { Q: "queries", K: "keys", V: "values" };
export const HOWS = {
  zero: "nothing",
  mean: "its mean over this text",
  frozen: "nothing; later patterns stay",
};
export const SHOWS = {
  attention: "attention",
  weighted: "attention × length of value",
  logits: "logits through the head",
  loss: "loss of each token",
};

export class Chosen {
  constructor(model) {
    Object.assign(this, {
      model,
      off: new Set(),
      how: "zero",
      cut: null,
      head: null,
      token: null,
      looked: null, // `looked`: the token pointed at, before the one kept
      show: "attention",
      asSource: false,
    });
  }

  get shape() {
    return Circuits.models[this.model].config;
  }

  get heads() {
    const { n_layers, n_heads } = this.shape;
    return Array.from(
      { length: n_layers * n_heads },
      (_, i) => `${Math.floor(i / n_heads)}.${i % n_heads}`,
    );
  }

  // A head by its number, and by its name in the story if it has one.
  called(head) {
    const name = Circuits.models[this.model].team[head];
    if (!name) return this.heads[head];
    return `${this.heads[head]}, ${name === "finder" ? "a" : "the"} ${name}`; // there are several
  }

  // What is done to the run, as model.js takes it.
  get spec() {
    const off = [...this.off].sort((a, b) => a - b);
    return { off, how: this.how, cuts: this.cut ? [this.cut] : [] };
  }

  // Where the answers are about: the token looked at or kept, else the last.
  at(n) {
    return Math.min(this.looked ?? this.token ?? Infinity, n - 1);
  }
}
