// Small pieces of the pages with models: elements and controls.

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
  h("button", { type: "button", ...attributes, click }, text);

export function checkbox(text, onChange, checked = false) {
  const change = () => onChange(box.checked);
  const box = h("input", { type: "checkbox", checked, change });
  return [h("label", {}, box, ` ${text}`), box];
}

// A control with a text before it; `name` is what it is called where that text does not say enough.
export function field(text, control, name = text) {
  control.setAttribute("aria-label", name);
  return h("label", {}, text && `${text} `, control);
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
