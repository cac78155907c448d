// The bibliography's entries are no list items, so the list around them must not say it is one.
document.addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll(".citation-list").forEach((list) => list.removeAttribute("role")),
);

// From a file, a page cannot read the others: the search then shows titles without asking for more.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

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

// Story or code: with Story, every cell's code is folded under a line that opens it; with Code it lies
// open. One switch for the whole book, at the top of each page that has code, which is remembered.
// Answers to exercises stay as they are, and so does everything where scripts do not run.
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector("article.bd-article");
  const exercises = article?.querySelector("section[id$='-exercises'], section#exercises");
  const cells = [...(article?.querySelectorAll("div.cell > div.cell_input") ?? [])].filter(
    (cell) => !cell.closest("details") && !exercises?.contains(cell),
  );
  if (!cells.length) return;

  const folds = cells.map((cell) => {
    const n = cell.textContent.trim().split("\n").length;
    const line = n === 1 ? "Code, 1 line" : `Code, ${n} lines`;
    const fold = Book.element("details", { className: "code-fold" });
    cell.before(fold);
    fold.append(Book.element("summary", { textContent: line }), cell);
    return fold;
  });

  const box = Book.element("div", { className: "reading" });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "How to show the chapters");
  const ways = { Story: "Code is folded away", Code: "All code is shown" };
  const buttons = Object.entries(ways).map(([textContent, title]) => {
    const button = Book.element("button", { type: "button", textContent, title });
    button.addEventListener("click", () => {
      Book.keep("reading", textContent);
      show(textContent);
    });
    return button;
  });
  box.append(...buttons);
  article.querySelector("h1")?.after(box);

  function show(name) {
    buttons.forEach((button) => button.setAttribute("aria-pressed", button.textContent === name));
    folds.forEach((fold) => {
      fold.open = name === "Code";
    });
    document.documentElement.dataset.reading = name.toLowerCase();
  }
  show(Book.kept("reading") === "Code" ? "Code" : "Story");
  addEventListener(
    "storage",
    (event) => event.key === "reading" && show(event.newValue ?? "Story"),
  );

  // On paper a page is as it is on the screen. What a link leads to has moved since the page came.
  Book.linked()?.scrollIntoView();
});
