// The bibliography's entries are no list items, so the list around them must not say it is one.
document.addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll(".citation-list").forEach((list) => list.removeAttribute("role")),
);

// From a file, a page cannot read the others: the search then shows titles without asking for more.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// What the address leads to on this page. Not every address is well made, nor does each name a place.
function linked() {
  try {
    return document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return null;
  }
}

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

  const recall = () => {
    try {
      return localStorage.getItem("reading");
    } catch {
      return null;
    }
  };
  const remember = (value) => {
    try {
      localStorage.setItem("reading", value);
    } catch {
      /* not kept */
    }
  };

  const folds = cells.map((cell) => {
    const fold = document.createElement("details");
    fold.className = "code-fold";
    const line = document.createElement("summary");
    const n = cell.textContent.trim().split("\n").length;
    line.textContent = n === 1 ? "Code, 1 line" : `Code, ${n} lines`;
    cell.before(fold);
    fold.append(line, cell);
    return fold;
  });

  const box = document.createElement("div");
  box.className = "reading";
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "How to show the chapters");
  const buttons = ["Story", "Code"].map((name) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.title = name === "Story" ? "Code is folded away" : "All code is shown";
    button.addEventListener("click", () => {
      remember(name);
      show(name);
    });
    box.append(button);
    return button;
  });
  article.querySelector("h1")?.after(box);

  function show(name) {
    buttons.forEach((button) => button.setAttribute("aria-pressed", button.textContent === name));
    folds.forEach((fold) => {
      fold.open = name === "Code";
    });
  }
  show(recall() === "Code" ? "Code" : "Story");
  addEventListener(
    "storage",
    (event) => event.key === "reading" && show(event.newValue ?? "Story"),
  );

  // On paper a page is as it is on the screen. What a link leads to has moved since the page came.
  linked()?.scrollIntoView();
});
