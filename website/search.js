// Under each page that the search finds, the words around what is searched for. The text of all pages has
// come with this one, so that it also works from a file, and no other page is asked for.
addEventListener("DOMContentLoaded", () => {
  const asked = new URLSearchParams(location.search).get("q")?.trim().toLowerCase() ?? "";
  const words = [asked, ...asked.split(/\s+/)].filter((word) => word.length > 1);
  const root = new URL(document.documentElement.dataset.content_root, location.href).pathname;

  function excerpt(text) {
    const low = text.toLowerCase();
    const word = words.find((each) => low.includes(each));
    if (!word) return [text.slice(0, 180), "", text.length > 180 ? " …" : ""];
    const at = low.indexOf(word);
    const begin = at < 90 ? 0 : low.indexOf(" ", at - 90) + 1;
    const end = at + word.length;
    const more = text.slice(end, end + 120).replace(/\s\S*$/, "");
    return [(begin ? "… " : "") + text.slice(begin, at), text.slice(at, end), `${more} …`];
  }

  function add(item) {
    const link = item.querySelector("a");
    const page = decodeURIComponent(new URL(link.href).pathname.slice(root.length));
    const text = Book.texts[page.replace(/\.html$/, "")];
    if (!text || item.querySelector(".excerpt, span")) return;
    const [before, found, after] = excerpt(text);
    const line = Book.element("p", { className: "excerpt" });
    line.append(before, Book.element("mark", { textContent: found }), after);
    item.append(line);
  }

  const results = document.getElementById("search-results");
  const look = () => results.querySelectorAll("li").forEach(add);
  new MutationObserver(look).observe(results, { childList: true, subtree: true });
  look();
});
