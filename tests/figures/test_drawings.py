"""Drawings of the ideas: all can be read, and they say what they show; `test_built_book` sees that no word
lies on another."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from transformer_circuits.figures import drawings, theme
from transformer_circuits.figures.drawings import heads, page

FILES = sorted(page.FOLDER.glob("*.svg"))
VIRTUAL = {
    "read": "Mor", "waits": "de", "arrives": "cai", "earlier": "0.3", "later": "1.7",
    "attention": [0.81, 0.64], "product": 0.5184,
}  # fmt: skip


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
    "with data": drawings.load("virtual-head", **VIRTUAL),
    "in two layouts": drawings.load("induction"),
}
"""Those that code draws, and two of the files; chapters fill in the others, in every build."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_has_the_colours_and_the_type_of_the_theme_and_names_itself(path):
    layout, root = (
        "wide" if path.stem.endswith("-wide") else "tall",
        ElementTree.parse(path).getroot(),
    )
    title, said, style = (root.findtext(f"{{*}}{tag}") for tag in ("title", "desc", "style"))
    assert root.get("class") == f"circuit-drawing {layout}" and root.get("aria-label") == said
    assert title and style == theme.style("circuit-drawing")
    looks = "".join(value for element in root.iter() if element.get("style")
                    for value in element.attrib.values())  # fmt: skip
    assert {*re.findall(r"var\((.*?)\)", looks)} <= {"--on", *(f"--{name}" for name in theme.ROLES)}
    assert not re.search(r"#[0-9a-f]{3}|rgb", looks)


def texts(svg):
    """What is written in a drawing."""
    return {
        "".join(each.itertext())
        for each in ElementTree.fromstring(svg).iter()
        if each.tag.endswith("}text")
    }


@pytest.mark.parametrize("layout", ["wide", "tall"])
def test_what_a_look_raises_is_written_in_full_and_so_are_the_tokens_where_there_is_room(layout):
    """On a phone, *respective* had lost its end, although there was room for it."""
    shown = texts(DRAWINGS["head, long tokens"].svgs[layout == "tall"])
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
    shown = texts(drawn.svgs[0])
    assert "a<b" in shown and "x" * 10 in shown
    assert 'from "a<b" to' in drawn.record.text
    assert drawn.record.numbers["attention"] == [0.81, 0.64]


def test_the_table_of_the_theme_is_true():
    rows = re.findall(r"^(\w+) .*? (#\w+) +([\d.]+) +(#\w+) +([\d.]+) ",
                      theme.__doc__, re.MULTILINE)  # fmt: skip
    assert {name for name, *_ in rows} == theme.ROLES.keys()
    for name, light, of_light, dark, of_dark in rows:
        role = theme.ROLES[name]
        assert (light, dark) == (role.light, role.dark)
        for colour, ratio, mode in ((light, of_light, "light"), (dark, of_dark, "dark")):
            assert contrast(colour, theme.GROUND[mode]) == pytest.approx(float(ratio), abs=0.006)
