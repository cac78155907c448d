"""No colour of a page has two meanings: whatever is not grey is one of the theme's, or a tint of it."""

import itertools

import pytest
from conftest import painted

from transformer_circuits.figures import theme

MEANT = {**theme.ROLES, "less": theme.LESS, "more": theme.MORE, "likely": theme.LIKELY}
GREYS = {"ink", "muted", "direct"}
"""Told apart by width and name; see `theme`."""
NEAR, GREY = 0.03, 0.025
"""How far colours are from each other that look the same, and from grey that look grey."""
USED = """() => {
    const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const seen = new Map(), read = new Map();
    const drawn = (colour) => {
        pen.clearRect(0, 0, 1, 1);
        pen.fillStyle = colour;
        pen.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
        return a < 40 ? "" : "#" + [r, g, b].map((part) => part.toString(16).padStart(2, "0")).join("");
    };
    for (const one of document.querySelectorAll("article *, .bd-header-article *")) {
        if (one.closest(".highlight, .katex-mathml, option, noscript, defs")) continue;
        const style = getComputedStyle(one), colours = [style.color, style.backgroundColor];
        if (parseFloat(style.borderLeftWidth)) colours.push(style.borderLeftColor);
        if (parseFloat(style.borderTopWidth)) colours.push(style.borderTopColor);
        if (one instanceof SVGElement) colours.push(style.fill, style.stroke);
        for (const colour of new Set(colours)) {
            if (!/^(rgb|color|ok)/.test(colour)) continue;
            if (!read.has(colour)) read.set(colour, drawn(colour));
            const hex = read.get(colour);
            if (hex && !seen.has(hex)) seen.set(hex, one.outerHTML.slice(0, 150));
        }
    }
    return [...seen];
}"""
"""Every colour in which something is drawn on a page, with what is drawn in it; not that of code."""


def oklab(colour):
    """Lightness, and how far from grey in two directions, as the eye sees them (Ottosson's OKLab)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def tinted(colour, ground, share):
    """A colour laid over the ground with the given opacity."""
    parts = (
        share * int(colour[i : i + 2], 16) + (1 - share) * int(ground[i : i + 2], 16)
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{round(part):02x}" for part in parts)


def apart(one, other):
    return sum((a - b) ** 2 for a, b in zip(oklab(one), oklab(other), strict=True)) ** 0.5


def known(colour, mode):
    """Whether a colour is grey, or lies between a colour of the theme and the page or ink."""
    _, a, b = oklab(colour)
    if (a * a + b * b) ** 0.5 < GREY:
        return True
    ends = theme.GROUND[mode], getattr(theme.ROLES["ink"], mode)
    whole = [getattr(role, mode) for role in MEANT.values()]
    # Scales are painted on a dark page as on a light one; those of views a little lighter.
    for role in (theme.LESS, theme.MORE, theme.LIKELY):
        whole += [role.light, tinted(role.light, "#ffffff", 0.85)]
    return any(
        apart(colour, tinted(of, end, share / 20)) < NEAR
        for of in whole for end in ends for share in range(1, 21)
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_colours_with_different_meanings_look_different(mode):
    for (one, a), (other, b) in itertools.combinations(MEANT.items(), 2):
        if not {one, other} <= GREYS:
            assert apart(getattr(a, mode), getattr(b, mode)) > 2 * NEAR, (one, other)


PAGES = [
    "a-name-comes-again", "11-induction-heads", "21-scorecard", "browser/live-model",
    "browser/train-here", "browser/hunt-here",
]  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("opened", [f"chapters/{name}" for name in PAGES], indirect=True)
def test_a_page_has_no_colour_that_the_theme_does_not_know(opened):
    opened.add_style_tag(content="* { transition: none !important }")  # else colours are half-way
    for mode in ("light", "dark"):
        opened.evaluate(f"document.documentElement.dataset.theme = '{mode}'")
        painted(opened)
        found = opened.evaluate(USED)
        assert len(found) > 2
        assert [(colour, what) for colour, what in found if not known(colour, mode)] == [], mode
    opened.evaluate("document.documentElement.dataset.theme = 'light'")
