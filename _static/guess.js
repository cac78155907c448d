// Predict first: under each such box, what it asks about waits until the reader has typed a guess or
// says that there is none to be typed. Whoever would rather see everything says so once, for the whole
// book. On paper, without scripts, and where a link leads into it, everything is there.
document.addEventListener("DOMContentLoaded", () => {
  const make = (tag, className, textContent = "") => Book.element(tag, { className, textContent });
  // What the box asks about: the outputs after it, up to the first picture or table. The scorecard's
  // marks, to which other pages lead, wait for nobody.
  function answers(box) {
    const outputs = [];
    for (
      let next = box.nextElementSibling;
      next && !next.matches("section, .predict");
      next = next.nextElementSibling
    ) {
      const output = next.matches("div.cell") && next.querySelector(":scope > .cell_output");
      if (!output) continue;
      if (output.querySelector("table.marks")) return [];
      outputs.push(output);
      if (output.querySelector("figure, table, img, svg, .circuit-view")) return outputs;
    }
    return [];
  }

  const waiting = [];
  const boxes = [...document.querySelectorAll("article .admonition.predict")];
  if (Book.kept("guessing") === "off") {
    boxes
      .filter((box) => answers(box).length)
      .forEach((box) => {
        const again = make("button", "guess-always", "Let me guess first");
        again.type = "button";
        again.addEventListener("click", () => {
          Book.keep("guessing", "on");
          location.reload();
        });
        box.append(again);
      });
    return;
  }
  boxes.forEach((box, number) => {
    const hidden = answers(box);
    if (!hidden.length) return;
    const form = make("form", "guess");
    const label = make("label", "", "Your guess ");
    const input = make("input", "");
    input.name = `guess-${number}`;
    input.autocomplete = "off";
    label.append(input);
    const shown = make("button", "", "Show what came out");
    const all = make("button", "guess-always", "Always show everything");
    all.type = "button";
    form.append(label, shown, all);
    box.append(form);
    const said = make("p", "guess-said");
    hidden.at(-1).before(said);
    hidden.forEach((output) => output.classList.add("awaits"));
    const entry = { hidden, show };
    waiting.push(entry);

    function show() {
      hidden.forEach((output) => output.classList.remove("awaits"));
      said.textContent = input.value.trim() ? `Your guess: ${input.value.trim()}` : "";
      form.remove();
      waiting.splice(waiting.indexOf(entry), 1);
    }
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      show();
      said.tabIndex = -1; // the keyboard goes on where the answer is
      said.focus({ preventScroll: true });
      said.scrollIntoView({ block: "nearest" });
    });
    all.addEventListener("click", () => {
      Book.keep("guessing", "off");
      [...waiting].forEach((one) => one.show());
    });
  });

  function follow() {
    const target = Book.linked();
    const found =
      target && waiting.find(({ hidden }) => hidden.some((output) => output.contains(target)));
    if (!found) return;
    found.show();
    target.scrollIntoView();
  }
  follow();
  addEventListener("hashchange", follow);
});
