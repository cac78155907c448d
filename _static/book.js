// The bibliography's entries are no list items, so the list around them must not say it is one.
document.addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll(".citation-list").forEach((list) => list.removeAttribute("role")));
