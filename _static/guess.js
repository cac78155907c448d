// Predict first: one box a chapter asks for a guess among numbered choices. What it asks about waits,
// in its place, until the reader has chosen or wants to see it without a guess; then it is compared with
// what the text below says came out. Nothing above it moves when it is. Whoever would rather see everything says so once, for the whole
// book. On paper, without scripts, and where a link leads into it, everything is there.
document.addEventListener("DOMContentLoaded", () => {
  const make = (tag, className, textContent = "") => Book.element(tag, { className, textContent });
  // What the box asks about: all outputs of the cells below it in its section, of which the first keeps
  // its place.
  function answers(box) {
    return [
      ...box.parentElement.querySelectorAll(":scope > .predict ~ div.cell > .cell_output"),
    ].filter((output) => output.childElementCount); // of a warning that is not shown, an empty one is left
  }

  // What is said from the first of them on, or from what came out: it speaks of what is not seen yet.
  function words(box, came, outputs) {
    const after = [...box.parentElement.children];
    const from = [came, ...outputs.map((output) => output.parentElement)].map((part) =>
      after.indexOf(part),
    );
    return after
      .slice(Math.min(...from))
      .filter((part) => !part.matches("div.cell, section, style, script"));
  }

  const waiting = [];
  document.querySelectorAll("article .admonition.predict").forEach((box) => {
    const choices = [...box.querySelectorAll(":scope > ol > li")];
    const [came] = [...box.parentElement.querySelectorAll(":scope > .predict ~ p")].filter((text) =>
      /^What came out: \d/.test(text.textContent),
    );
    if (!choices.length || !came) return;
    const right = Number(came.textContent.match(/\d/)[0]);
    // A number alone would read as an answer: what is compared is said in words.
    const inWords = choices.map((choice) => `“${choice.textContent.trim().replace(/\.$/, "")}”`);
    const outcome = `What came out: ${inWords[right - 1]}.`;
    came.querySelector("strong").textContent = outcome;
    if (Book.kept("guessing") === "off") {
      const again = make("button", "guess-always", "Let me guess first");
      again.type = "button";
      again.addEventListener("click", () => {
        Book.keep("guessing", "on");
        location.reload();
      });
      box.append(again);
      return;
    }
    const outputs = answers(box);
    const hidden = [...outputs, ...words(box, came, outputs)];
    const said = make("p", "guess-said");
    said.tabIndex = -1; // the keyboard goes on where the answer is
    const buttons = choices.map((choice, index) => {
      const button = make("button", "guess", choice.textContent.trim()); // a link has no place in it
      button.type = "button";
      button.addEventListener("click", () => show(index + 1));
      choice.replaceChildren(button);
      return button;
    });
    const skip = make("button", "guess-always", "Show what came out");
    const all = make("button", "guess-always", "Always show everything");
    for (const button of [skip, all]) button.type = "button";
    const others = make("p", "guess-others");
    others.append(skip, all);
    box.append(said, others); // what is said takes the place of the other ways
    hidden.forEach((output) => output.classList.add("awaits"));
    const entry = { hidden, show };
    waiting.push(entry);

    function show(guess) {
      hidden.forEach((output) => output.classList.remove("awaits"));
      for (const button of buttons) button.disabled = true;
      others.remove();
      if (guess) {
        buttons[guess - 1].classList.add("chosen");
        said.textContent =
          guess === right ? "You guessed right." : `You guessed ${inWords[guess - 1]}. ${outcome}`;
        said.focus({ preventScroll: true });
      }
      waiting.splice(waiting.indexOf(entry), 1);
    }
    skip.addEventListener("click", () => show());
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
