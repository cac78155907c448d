// Small pieces of the live page: buttons, boxes, tables, bars.
const { make } = Circuits.views;

export function button(text, onClick) {
  const made = make("button", "lm-button", text);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
}

function labelled(text, control) {
  const label = make("label", "lm-label");
  label.append(control, ` ${text}`);
  return label;
}

export function checkbox(text, onChange) {
  const box = make("input");
  box.type = "checkbox";
  box.addEventListener("change", () => onChange(box.checked));
  return [labelled(text, box), box];
}

// A control with a text before it; `name` is what it is called where that text does not say enough.
export function field(text, control, name = text) {
  const label = make("label", "lm-label", text && `${text} `);
  control.setAttribute("aria-label", name);
  label.append(control);
  return label;
}

// A list to choose from; `options`: {value: text}.
export function select(options, onChange) {
  const made = make("select");
  for (const [value, text] of Object.entries(options)) made.append(new Option(text, value));
  made.addEventListener("change", () => onChange(made.value));
  return made;
}

// A box for a whole number from 0 to `most`.
export function whole(most, onChange) {
  const made = make("input");
  Object.assign(made, { type: "number", min: 0, max: most, step: 1 });
  made.addEventListener("change", () => {
    onChange(Math.max(0, Math.min(most, Math.round(Number(made.value)) || 0)));
  });
  return made;
}

export function table(caption, columns) {
  const made = make("table", "lm-table");
  made.append(make("caption", "", caption));
  const row = make("tr");
  columns.forEach((name) => {
    const cell = make(name ? "th" : "td", "", name);
    if (name) cell.scope = "col";
    row.append(cell);
  });
  const head = make("thead");
  head.append(row);
  const body = make("tbody");
  made.append(head, body);
  const box = make("div", "lm-scroll");
  box.append(made);
  return [box, body, made.caption];
}

export function bar(share, negative) {
  const made = make("span", negative ? "lm-bar lm-minus" : "lm-bar");
  made.style.width = `${(100 * Math.min(1, share)).toFixed(1)}%`;
  return made;
}

// Replace the rows of a table; a button that had the focus keeps it.
export function fill(body, rows) {
  const focused = [...body.rows].findIndex((row) => row.contains(document.activeElement));
  body.replaceChildren(
    ...rows.map((cells) => {
      const row = make("tr");
      cells.forEach((content, i) => {
        const cell = make(i ? "td" : "th");
        if (!i) cell.scope = "row";
        cell.append(content);
        row.append(cell);
      });
      return row;
    }),
  );
  if (focused >= 0) body.rows[focused]?.querySelector("button")?.focus();
}
