// The questions before and after (website/inventory.py): shows one form at a time, keeps what was
// chosen in this browser, and saves it as one file. Nothing is sent anywhere.
(() => {
  const root = document.querySelector("[data-inventory]");
  if (!root) return;
  const KEY = "circuits-inventory";
  const forms = [...root.querySelectorAll("form")];
  root.querySelector(".inventory-none").remove();

  // A page from a file may have no storage; then answers last as long as the page.
  const kept = Book.tried(() => JSON.parse(Book.kept(KEY))) ?? { inventory: 1, who: "", forms: {} };
  if (!kept.who)
    kept.who = [...crypto.getRandomValues(new Uint8Array(8))].map((n) => n.toString(36)).join("");
  const keep = () => Book.keep(KEY, JSON.stringify(kept));

  const make = (tag, textContent, parent) => parent.appendChild(Book.element(tag, { textContent }));
  const bar = root.insertBefore(document.createElement("p"), forms[0]);
  bar.className = "inventory-bar";
  const buttons = forms.map((form) => {
    const button = make("button", `Form ${form.dataset.form}`, bar);
    button.type = "button";
    button.addEventListener("click", () => show(form));
    return button;
  });
  const below = root.appendChild(document.createElement("p"));
  const save = make("button", "Save as a file", below);
  save.type = "button";
  const said = make("span", "", below);
  said.setAttribute("role", "status");

  function show(form) {
    forms.forEach((each, k) => {
      each.hidden = each !== form;
      buttons[k].setAttribute("aria-pressed", String(each === form));
    });
    count(form);
  }

  function count(form) {
    const all = form.querySelectorAll("fieldset").length;
    const done = form.querySelectorAll("input:checked").length;
    said.textContent = ` ${done} of ${all} answered. ${done < all ? "Guess where you do not know." : "Save the file, and send it to whoever teaches."}`;
  }

  for (const form of forms) {
    const name = form.dataset.form;
    for (const [concept, option] of Object.entries(kept.forms[name]?.answers ?? {})) {
      const chosen = form.querySelector(`input[name="${name}-${concept}"][value="${option}"]`);
      if (chosen) chosen.checked = true;
    }
    form.addEventListener("change", ({ target }) => {
      kept.forms[name] ??= { began: new Date().toISOString(), answers: {} };
      kept.forms[name].answers[target.name.slice(2)] = Number(target.value);
      keep();
      count(form);
    });
  }

  save.addEventListener("click", () => {
    keep();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(
      new Blob([`${JSON.stringify(kept, null, 1)}\n`], { type: "application/json" }),
    );
    link.download = `answers-${kept.who.slice(0, 6)}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  show(forms.find((form) => kept.forms[form.dataset.form]) ?? forms[0]);
})();
