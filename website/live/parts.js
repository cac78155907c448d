// Small pieces of the two pages with models: elements, controls, tables, bars.

// An element with attributes and children. A function is a listener; null and false set nothing.
export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const button = (text, click, attributes = {}) =>
  h("button", { class: "lm-button", type: "button", ...attributes, click }, text);

export function checkbox(text, onChange, checked = false) {
  const change = () => onChange(box.checked);
  const box = h("input", { type: "checkbox", checked, change });
  return [h("label", { class: "lm-label" }, box, ` ${text}`), box];
}

// A control with a text before it; `name` is what it is called where that text does not say enough.
export function field(text, control, name = text) {
  control.setAttribute("aria-label", name);
  return h("label", { class: "lm-label" }, text && `${text} `, control);
}

// A list to choose from; `options`: {value: text}.
export function select(options, onChange) {
  const made = h("select", { change: () => onChange(made.value) });
  for (const [value, text] of Object.entries(options)) made.append(new Option(text, value));
  return made;
}

// A box for a whole number from 0 to `most`; of anything else the browser says what is wrong with it.
export function whole(most, onChange) {
  const change = () => made.reportValidity() && onChange(Number(made.value));
  const made = h("input", { type: "number", min: 0, max: most, step: 1, required: true, change });
  return made;
}

// A box to type in, with a button; `onSubmit` gets what was typed. What is to be said goes into `said`.
export function asking(text, action, onSubmit) {
  const input = h("input", { size: 10 });
  const said = h("span", { class: "lm-note", role: "status" });
  const submit = (event) => {
    event.preventDefault();
    onSubmit(input.value);
  };
  const label = h("label", {}, `${text} `, input);
  const ask = h("button", { class: "lm-button" }, action);
  return { form: h("form", { class: "lm-controls", submit }, label, ask, said), input, said };
}

export function table(columns) {
  const heads = columns.map((name) => h("th", { scope: "col" }, name));
  const [body, caption] = [h("tbody"), h("caption")];
  const made = h(
    "table",
    { class: "lm-table" },
    caption,
    h("thead", {}, h("tr", {}, ...heads)),
    body,
  );
  return { box: h("div", { class: "lm-scroll" }, made), body, caption };
}

export const number = (value, digits = 2) => value.toFixed(digits).replace("-", "−");

// `kind`: what it is a bar of, which its colour says (live.css).
export const bar = (share, kind) =>
  h("span", {
    class: `lm-bar lm-${kind}`,
    style: `width: ${(100 * Math.min(1, share)).toFixed(1)}%`,
  });

// What gives an answer away, and what lies over it until there is a guess: it says what will stand there.
export const veiled = (box, ...said) =>
  h("div", { class: "lm-veiled" }, box, h("p", { class: "lm-note lm-cover" }, ...said));

// Replace the rows of a table; a button that had the focus keeps it.
export function fill(body, rows) {
  const focused = [...body.rows].findIndex((row) => row.contains(document.activeElement));
  const cell = (content, i) => (i ? h("td", {}, content) : h("th", { scope: "row" }, content));
  body.replaceChildren(...rows.map((cells) => h("tr", {}, ...cells.map(cell))));
  if (focused >= 0) body.rows[focused]?.querySelector("button")?.focus();
}
