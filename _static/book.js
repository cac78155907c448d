// The bibliography's entries are no list items, so the list around them must not say it is one.
document.addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll(".citation-list").forEach((list) => list.removeAttribute("role")));

// From a file, a page cannot read the others: the search then shows titles without asking for more.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
