// Small pieces of the stage: elements, words, and keys.

import { button, h } from "../live/parts.js";

export { button, h } from "../live/parts.js";
export { percent } from "./marks.js";
export { bare, readable } from "./names.js";

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export const group = (name, attributes, ...children) =>
  h("div", { role: "group", "aria-label": name, ...attributes }, ...children);

// A button that is pressed or not.
export const choice = (text, on, click, attributes = {}) =>
  button(text, click, { "aria-pressed": String(on), ...attributes });

// A row of a name, a bar for a share of one, and what it stands for.
export const bar = (name, share, said) => [
  h("b", {}, name),
  h("i", { style: `--p: ${100 * share}%` }),
  h("span", {}, said),
];

// A number of logits, with its sign.
export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;

// Words in a row: "a", "a and b", "a, b and c".
export const listed = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

export const toggled = (list, one) =>
  list.includes(one) ? list.filter((other) => other !== one) : [...list, one].sort();

// Arrow keys move among the buttons of a group, which is one stop of the Tab key. `columns`: how many
// stand beside each other, if they stand in rows.
export function roving(group, columns = null) {
  const buttons = () => [...group.querySelectorAll("button:enabled")];
  group.addEventListener("keydown", (event) => {
    const all = buttons();
    const from = all.indexOf(document.activeElement);
    const down = columns?.() ?? 1;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: down, ArrowUp: -down }[event.key];
    const to = all[from + step];
    if (from < 0 || !to) return;
    event.preventDefault();
    event.stopPropagation(); // a presentation would go on
    to.focus();
  });
  group.addEventListener("focusin", ({ target }) => {
    for (const one of buttons()) one.tabIndex = one === target ? 0 : -1;
  });
  // The stop stays; at first it is what is pressed.
  return () => {
    const all = buttons();
    const stops = all.filter((one) => one.tabIndex === 0);
    const pressed = all.find((one) => one.ariaPressed === "true");
    const stop = stops.length === 1 ? stops[0] : (pressed ?? all[0]);
    for (const one of all) one.tabIndex = one === stop ? 0 : -1;
  };
}
