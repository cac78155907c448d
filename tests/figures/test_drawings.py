"""Drawings of the ideas: nothing lies on anything else, all can be read, and they say what they show."""

import itertools
import re
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from transformer_circuits.figures import drawings, theme
from transformer_circuits.figures.drawings import (
    heads,
    page,
    text_width,
)

FILES = sorted(page.FOLDER.glob("*.svg"))
VIRTUAL = {
    "read": "Mor", "waits": "de", "arrives": "cai", "earlier": "0.3", "later": "1.7",
    "attention": [0.81, 0.64], "product": 0.5184,
}  # fmt: skip
FILLED = {
    "virtual-head": VIRTUAL,
    "circuit-paths": {"n_vocab": 4096, "d_model": 256, "d_head": 64},
    "skip-trigram-bug": {
        "head": "0.1",
        "qk": [51.0, 40.0],
        "ov": [0.7, 0.67],
        "sums": [[0.36, 0.34], [0.28, 0.27]],
        "bars": [[84.0, 79.0], [65.0, 63.0]],
    },
    "every-head": {
        **{"title": "Where heads look", "near_copies": "0.2, 0.4", "near": "0.0"},
        **{"anywhere_copies": "0.1, 0.3, 0.5", "anywhere": "?"},
    },
    "tensor-product": {
        **{"x": [[1, 10], [2, 20], [3, 30]], "moved": [[1, 10], [1, 10], [2, 20]]},
        **{"A": np.eye(3), "W": np.eye(2), "result": [[10, 1], [10, 1], [20, 2]]},
        **{"shade": [0.05, 0.16, 0.3], "moved_shade": [0.05, 0.05, 0.16]},
        **{"A_tint": np.eye(3) / 3, "W_tint": np.eye(2) / 3},
    },
    "induction-steps": {
        "earlier": ["old", "king", "Mor", "de"],
        "later": ["people", "heard"],
        "note_taker": "0.3",
        "finder": "1.7",
        "percent": [100, 71],
        "predicted": "de",
    },
    "kronecker": dict.fromkeys(("A", "A_tint", "product", "tint"), np.eye(6)),
    "three-kinds": {"source": "source", "destination": "destination"},
    "residual-stream": {"token": "queen", "lengths": [3.2, 5.13, 7.4], "bars": [60.5, 97, 140]},
    "channel": {
        "token": "queen",
        "names": ["embedding", *(f"{layer}.{h} note-taker" for layer in (0, 1) for h in range(6))],
        "lengths": np.arange(13.0),
        "shares": np.arange(13) / 12,
    },
}
"""What is filled in where a file has room for it."""


def loaded(path):
    name = path.stem.removesuffix("-wide").removesuffix("-tall")
    return drawings.load(name, **FILLED.get(name, {}))


WORDS = ["Then", "the", "old", "man", "went", "down", "to", "the", "sea"]


DRAWINGS = {
    "head": heads.two_circuits(
        WORDS,
        [0.02] * 3 + [0.84] + [0.02] * 5,
        WORDS[::-1],
        [4.0] + [1.0] * 8,
        head="0.7",
        line="a line",
    ),
    "head, long tokens": heads.two_circuits(
        ["␣respectively", "␣following", "V"],
        [0.1, 0.2, 0.7],
        ["respective", "followed", "al"],
        [3.0, 2.0, 1.0],
        head="1.0",
    ),
} | {
    path.stem.removesuffix("-wide"): loaded(path)
    for path in FILES
    if not path.stem.endswith("-tall")
}


class Words(NamedTuple):
    """A piece of text and the box around it, as estimated with a wide font."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float


def tags(svg):
    """The elements of a drawing, each with its name and the place that its coordinates begin at."""

    def walk(element, x, y):
        for child in element:
            moved = re.findall(r"-?[\d.]+", child.get("transform", "0 0"))
            at = x + float(moved[0]), y + float(moved[1])
            yield child.tag.rpartition("}")[2], child, *at
            yield from walk(child, *at)

    yield from walk(ElementTree.fromstring(svg), 0.0, 0.0)


def curve(t, p, q, r, s):
    """A cubic curve at t, from 0 to 1, in one direction."""
    return (1 - t) ** 3 * p + 3 * (1 - t) ** 2 * t * q + 3 * (1 - t) * t * t * r + t**3 * s


def read(svg):
    """The words of a drawing, and the points on each line."""
    texts, lines = [], []
    for tag, element, dx, dy in tags(svg):
        if tag == "text":
            size, mono = float(element.get("font-size")), element.get("class") == "mono"
            pieces = [(element.text, size)] + [
                piece for part in element
                for piece in ((part.text, float(part.get("font-size", size))), (part.tail, size))
            ]  # fmt: skip
            bold = 1.1 if element.get("font-weight") else 1
            wide = bold * sum(
                text_width.width((text or "").strip("\u200b"), of, mono=mono) for text, of in pieces
            )
            before = {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor")]
            left = float(element.get("x")) + dx - wide * before
            y = float(element.get("y")) + dy - 0.35 * size
            text = "".join(text or "" for text, _ in pieces)
            texts.append(Words(text, left, y - 0.6 * size, left + wide, y + 0.6 * size, size))
        if tag == "path":
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", element.get("d"))]
            points = [(x + dx, y + dy) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
            if "C" in element.get("d"):
                points = [
                    tuple(curve(t / 24, *of) for of in zip(*points, strict=True)) for t in range(25)
                ]
            lines.append(points)
    return texts, lines


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_has_the_colours_and_the_type_of_the_theme_and_names_itself(path):
    layout, drawn = "wide" if path.stem.endswith("-wide") else "tall", loaded(path)
    root = ElementTree.fromstring(drawn.svgs[0 if layout == "wide" else -1])
    title, said, style = (root.findtext(f"{{*}}{tag}") for tag in ("title", "desc", "style"))
    assert root.get("class") == f"circuit-drawing {layout}" and root.get("aria-label") == said
    assert (title, said) == (drawn.record.title, drawn.record.text)
    assert style == theme.style("circuit-drawing")
    looks = "".join(value for element in root.iter() if element.get("style")
                    for value in element.attrib.values())  # fmt: skip
    assert {*re.findall(r"var\((.*?)\)", looks)} <= {"--on", *(f"--{name}" for name in theme.ROLES)}
    assert not re.search(r"#[0-9a-f]{3}|rgb", looks)


@pytest.mark.parametrize(
    ("name", "k"), [(name, k) for name, drawn in DRAWINGS.items() for k in range(len(drawn.svgs))]
)
def test_no_word_lies_on_another_on_a_line_or_beyond_the_edge(name, k):
    svg = DRAWINGS[name].svgs[k]
    texts, lines = read(svg)
    _, _, width, height = map(float, ElementTree.fromstring(svg).get("viewBox").split())
    wide = len(DRAWINGS[name].svgs) > 1 and k == 0
    assert texts and width == (theme.WIDE if wide else theme.TALL)
    for index, one in enumerate(texts):
        assert one.left >= -0.5 and one.right <= width + 0.5 and one.bottom <= height, one.text
        assert one.size >= 12, "as large on the page as here"
        for other in texts[index + 1 :]:
            beside = one.right <= other.left or other.right <= one.left
            assert beside or one.bottom <= other.top or other.bottom <= one.top, (one, other)
        for line in lines:
            for (x0, y0), (x1, y1) in itertools.pairwise(line):
                for share in range(41):
                    x, y = x0 + (x1 - x0) * share / 40, y0 + (y1 - y0) * share / 40
                    over = one.left < x < one.right and one.top + 1 < y < one.bottom - 1
                    assert not over, (one.text, line)


@pytest.mark.parametrize("layout", ["wide", "tall"])
def test_what_a_look_raises_is_written_in_full_and_so_are_the_tokens_where_there_is_room(layout):
    """On a phone, *respective* had lost its end, although there was room for it."""
    shown = {one.text for one in read(DRAWINGS["head, long tokens"].svgs[layout == "tall"])[0]}
    assert {"respective", "followed", "al", "following"} <= shown


def linear(colour):
    """Red, green and blue of a colour `#rrggbb`, from 0 to 1, as light adds up."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def tinted(colour, ground):
    """A colour laid over the ground as the fill of a box."""
    pairs = ((int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(theme.TINT * c + (1 - theme.TINT) * g):02x}" for c, g in pairs)


def contrast(one, other):
    """WCAG's contrast ratio of two colours, from 1 to 21; words need 4.5 and lines 3."""
    light = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in map(linear, (one, other))]
    return (max(light) + 0.05) / (min(light) + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_and_lines_stand_out_from_the_page_and_from_boxes(mode):
    ground = theme.GROUND[mode]
    for name, role in theme.ROLES.items():
        colour = getattr(role, mode)
        assert contrast(colour, ground) >= 4.5, name
        assert contrast(getattr(theme.ROLES["ink"], mode), tinted(colour, ground)) >= 4.5, name


OF_VOICE = {
    "../../_static/book.css": {
        name: theme.ROLES[name] for name in ("ink", "muted", "first", "second")
    },
    "../../website/stage/stage.css": {
        **{name: theme.ROLES[name] for name in ("query", "key", "value")},
        "more": theme.MORE, "less": theme.LESS, "likely": theme.LIKELY,
    },
}  # fmt: skip
"""The colours that a script or a style of the pages takes from the theme, by their variables."""


def test_scripts_and_styles_have_the_colours_of_the_theme():
    package = Path(theme.__file__).parents[1]
    for path, of in OF_VOICE.items():
        source = (package / path).read_text(encoding="utf-8")
        written = re.findall(r"--([\w-]+): ?(#[0-9a-f]{6})\b", source)
        for name, role in of.items():
            both = [*dict.fromkeys((role.light, role.dark))]
            assert [*dict.fromkeys(one for known, one in written if known == name)] == both, name


def test_pixels_of_heat_maps_have_the_dark_colours_on_a_dark_page():
    by = np.array(theme.darkening().split(), dtype=float).reshape(4, 5)
    for role in (*theme.SIGNS.values(), *(theme.ROLES[name] for name in theme.LAYERS)):
        light, dark = (to_rgba(colour, 0.5) for colour in (role.light, role.dark))
        assert by @ [*light, 1] == pytest.approx(dark, abs=1 / 255)


def test_the_table_of_the_theme_is_true():
    rows = re.findall(r"^(\w+) .*? (#\w+) +([\d.]+) +(#\w+) +([\d.]+) ",
                      theme.__doc__, re.MULTILINE)  # fmt: skip
    assert {name for name, *_ in rows} == theme.ROLES.keys()
    for name, light, of_light, dark, of_dark in rows:
        role = theme.ROLES[name]
        assert (light, dark) == (role.light, role.dark)
        for colour, ratio, mode in ((light, of_light, "light"), (dark, of_dark, "dark")):
            assert contrast(colour, theme.GROUND[mode]) == pytest.approx(float(ratio), abs=0.006)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_says_what_is_to_be_seen(name):
    drawn = DRAWINGS[name]
    shown = drawn._repr_mimebundle_()[0]["text/html"].replace("&#x27;", "'")
    assert len(drawn.record.text.split()) >= 12
    assert f">{drawn.record.title}</figcaption>" in shown
    for svg in drawn.svgs:
        assert svg.count('role="img"') == 1 and "<title>" in svg and "<desc>" in svg
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_what_is_filled_in_is_text_and_stays_in_its_box():
    drawn = drawings.load("virtual-head", **VIRTUAL | {"read": "a<b", "waits": "x" * 40})
    shown = [word.text for word in read(drawn.svgs[0])[0]]
    assert "a<b" in shown and "x" * 10 in shown
    assert 'from "a<b" to' in drawn.record.text
    assert drawn.record.numbers["attention"] == [0.81, 0.64]
