"""Texts of figures on a page that cover another, are cut off or too small."""

# It returns no promise: Chromium may lose one that makes as much garbage as this.
COLLISIONS = """() => {
  const LEGIBLE = 9; // pixels
  const SLACK = 1.5; // pixels: the box of a text is a little higher than its letters
  const SPARE = 0.13; // of the size of type, on either side: the book's faces have boxes of 1.42 of it
  const letters = (each) => {
    const { left, right, top, bottom } = each.getBoundingClientRect();
    if (each.tagName !== "text") return { left, right, top, bottom };
    const { a, b } = each.getScreenCTM();
    const spare = SPARE * parseFloat(getComputedStyle(each).fontSize) * Math.hypot(a, b);
    const [x, y] = Math.abs(b) > Math.abs(a) ? [spare, 0] : [0, spare]; // turned text, or not
    return { left: left + x, right: right - x, top: top + y, bottom: bottom - y };
  };
  const place = document.querySelector("article") ?? document.body;
  const found = [];
  const svgs = [...place.querySelectorAll("svg")];
  for (const svg of svgs) {
    const edge = svg.getBoundingClientRect();
    const boxes = (selector) =>
      [...svg.querySelectorAll(selector)]
        .filter((each) => each.getAttribute("opacity") !== "0")
        .map((each) => [each.textContent.trim() || "a dot", letters(each)]);
    for (const text of svg.querySelectorAll("text")) {
      const scale = Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b); // also of turned text
      const size = parseFloat(getComputedStyle(text).fontSize) * scale;
      if (text.textContent.trim() && size < LEGIBLE - 0.05)
        found.push(`"${text.textContent}" is ${size.toFixed(1)} px high`);
    }
    const dots = boxes('[id*="PathCollection"] use');
    const texts = boxes("text").filter(([text]) => text !== "a dot");
    texts.forEach(([text, a], i) => {
      if (Math.max(edge.left - a.left, a.right - edge.right, edge.top - a.top, a.bottom - edge.bottom) > SLACK)
        found.push(`"${text}" is cut off`);
      for (const [other, b] of [...texts.slice(i + 1), ...dots]) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (Math.min(across, down) > SLACK) found.push(`"${text}" covers "${other}"`);
      }
    });
  }
  return [svgs.length, found];
}"""


def collisions(page):
    """How many figures a page has, and what is wrong with their texts."""
    count, found = page.evaluate(COLLISIONS)
    return count, sorted(set(found))
