// The bibliography's entries are no list items, so the list around them must not say it is one.
document.addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll(".citation-list").forEach((list) => list.removeAttribute("role")),
);

// What both scripts of the pages need. A browser may refuse to keep anything, and not every address is
// well made, nor does each name a place.
const Book = {
  tried(work) {
    try {
      return work();
    } catch {
      return null;
    }
  },
  kept: (name) => Book.tried(() => localStorage.getItem(name)),
  keep: (name, value) => Book.tried(() => localStorage.setItem(name, value)),
  linked: () =>
    Book.tried(() => document.getElementById(decodeURIComponent(location.hash.slice(1)))),
  element: (tag, properties) => Object.assign(document.createElement(tag), properties),
};

// Paper is light, and so is a dark page while it is printed: by its theme, which styles and scripts follow.
// A browser says before and after that it prints; one that shows what paper would look like changes the medium.
const paper = matchMedia("print");
const onPaper = (on) => {
  const { dataset } = document.documentElement;
  if (on === "onScreen" in dataset) return;
  if (on) Object.assign(dataset, { onScreen: dataset.theme, theme: "light" });
  else {
    dataset.theme = dataset.onScreen;
    delete dataset.onScreen;
  }
};
paper.addEventListener("change", () => onPaper(paper.matches));
addEventListener("beforeprint", () => onPaper(true));
addEventListener("afterprint", () => onPaper(false));

// Story or code: in Story no code is shown, and a mark beside the title of a section opens that section's.
// One switch for the whole book, above each page that has code, which is remembered. The way to read is
// set before the page is drawn, so that nothing moves. Exercises keep their code,
// as does a cell tagged in-story, whose text is what the section shows. Without scripts every
// page is a story.
const reading = (name) => {
  document.documentElement.dataset.reading = name === "Code" ? "code" : "story";
};
reading(Book.kept("reading"));

document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector("article.bd-article");
  const sections = new Map();
  for (const input of article?.querySelectorAll(
    "div.cell > :is(.cell_input, details.above-input)",
  ) ?? []) {
    const cell = input.parentElement;
    if (cell.closest("section[id$='-exercises'], section#exercises, .admonition, .tag_in-story")) {
      cell.classList.add("always-code");
      continue;
    }
    const section = cell.closest("section");
    sections.set(section, [...(sections.get(section) ?? []), cell]);
  }
  sections.forEach((cells, section) => {
    const mark = Book.element("button", {
      type: "button",
      className: "code-mark",
      title: "The code of this section",
    });
    mark.ariaLabel = mark.title;
    mark.ariaExpanded = "false";
    mark.addEventListener("click", () => {
      const open = mark.ariaExpanded !== "true";
      mark.ariaExpanded = String(open);
      cells.forEach((cell) => {
        cell.classList.toggle("open-code", open);
        cell.querySelectorAll(":scope > details.above-input").forEach((fold) => (fold.open = open));
      });
    });
    const title = section.querySelector(":scope > :is(h1, h2, h3, h4)");
    title?.insertBefore(mark, title.querySelector(":scope > .headerlink"));
  });

  const buttons = [...document.querySelectorAll(".reading button")];
  const show = (name) => {
    reading(name);
    const now = name === "Code" ? "Code" : "Story";
    buttons.forEach((button) => (button.ariaPressed = String(button.textContent === now)));
    document.querySelectorAll("article details.above-input").forEach((fold) => {
      fold.open = now === "Code" || fold.parentElement.matches(".open-code");
    });
  };
  buttons.forEach((button) =>
    button.addEventListener("click", () => {
      Book.keep("reading", button.textContent);
      show(button.textContent);
    }),
  );
  show(Book.kept("reading"));
  addEventListener("storage", (event) => event.key === "reading" && show(event.newValue));
});

// One button above the exercises opens all solutions of the page, or folds them again.
document.addEventListener("DOMContentLoaded", () => {
  const solutions = [...document.querySelectorAll("article .solution.dropdown")];
  if (!solutions.length) return;
  const button = Book.element("button", { type: "button", className: "rest" });
  const offer = (open) => (button.textContent = `${open ? "Open" : "Fold"} all solutions`);
  const folded = (solution) => solution.classList.contains("toggle-hidden");
  button.addEventListener("click", () => {
    const open = solutions.some(folded);
    for (const solution of solutions) {
      if (folded(solution) === open) solution.querySelector(".admonition-title").click();
    }
    offer(!open);
  });
  offer(true);
  document.querySelector("article .exercise").before(button);
});

// A table that does not fit a phone, or only in narrow columns, is stacked: each row is a block, each cell has
// its column's name, and of more than six rows the rest comes at a press. The roles are said, since browsers
// forget those of a table that is laid out otherwise.
document.addEventListener("DOMContentLoaded", () => {
  const MOST_ROWS = 6; // as in book.css
  const TALLEST = 110; // of a row whose words still fit [pixels]
  const roles = { TABLE: "table", TR: "row", TH: "rowheader", TD: "cell" };
  const boxes = document.querySelectorAll("article div:has(> table.findings)");
  const fit = (box) => {
    const table = box.querySelector("table");
    table.classList.remove("stacked");
    if (box.nextElementSibling?.matches("button.rest")) box.nextElementSibling.remove();
    if (innerWidth > 640) return;
    const rows = [...table.tBodies[0].rows];
    const fits = box.scrollWidth <= box.clientWidth + 1;
    if (fits && rows.every((row) => row.offsetHeight < TALLEST)) return;
    const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const part of [table, ...table.querySelectorAll("tbody :is(tr, th, td)")]) {
      part.role = roles[part.tagName];
      if (part.tagName !== "TD") continue;
      part.dataset.of = names[part.cellIndex];
      part.classList.toggle("long", part.textContent.length > 9);
      part.classList.toggle("longer", part.textContent.length > 22);
    }
    table.classList.add("stacked");
    if (rows.length > MOST_ROWS && !table.classList.contains("in-full")) offerRest(box, table);
  };
  const offerRest = (box, of) => {
    const rest = Object.assign(document.createElement("button"), {
      className: "rest",
      type: "button",
      textContent: "Show all rows",
    });
    rest.onclick = () => {
      of.classList.add("in-full");
      rest.remove();
    };
    box.after(rest);
  };
  // Lines that open are too many for a phone, too.
  for (const lines of document.querySelectorAll("article .findings-lines")) {
    if (lines.querySelectorAll("details").length <= MOST_ROWS) continue;
    lines.classList.add("in-part");
    offerRest(lines, lines);
  }
  // Only another width asks again, or coming to sight: being stacked changes the height.
  const widths = new WeakMap();
  const seen = new ResizeObserver((changes) => {
    for (const { target, contentRect } of changes) {
      if (widths.get(target) === contentRect.width) continue;
      widths.set(target, contentRect.width);
      fit(target);
    }
  });
  boxes.forEach((box) => seen.observe(box));
  document.fonts.ready.then(() => boxes.forEach(fit));
});
