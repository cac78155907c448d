"""Drawings of the ideas: nothing lies on anything else, all can be read, and they say what they show."""

import itertools
import math
import re
from pathlib import Path

import pytest
import torch

from transformer_circuits.figures import voice
from transformer_circuits.figures.drawings import (
    composition,
    heads,
    induction,
    later_openings,
    openings,
    paths,
    stream,
    superposition,
    trigrams,
)

LINE = ["Then", "Mor", "de", "cai", "spoke", ",", "and", "the", "king", "heard", "Mor"]
WORDS = ["Then", "the", "old", "man", "went", "down", "to", "the", "sea"]
ROW = {(): -0.84, ("0.3",): 1.9, ("0.7",): -0.3, ("0.1",): 0.45, ("0.2",): 0.02}
BOTH = ROW | {("1.5",): 3.4, ("1.1",): -0.6, ("0.3", "1.5"): 0.45, ("0.2", "1.6"): 0.2} | {
    (f"0.{k}", "1.1"): 0.05 for k in range(5)
}  # fmt: skip


def ring(n):
    angle = torch.arange(n) * math.tau / n + 0.3
    return torch.stack([angle.cos(), angle.sin()], dim=1)


DRAWINGS = {
    "stream": stream.residual_stream("queen", [3.2, 5.13, 7.4]),
    "norm": stream.layer_norm(),
    "head": heads.two_circuits(WORDS, [0.02] * 3 + [0.84] + [0.02] * 5, WORDS[::-1], head="0.7"),
    "circuits": heads.circuit_paths(4096, 256, 64),
    "one layer": paths.path_sum(ROW, what="logit of queen above the mean", unit="logits"),
    "two layers": paths.path_sum(BOTH, what="logit of queen above the mean", unit="logits"),
    "kinds": composition.three_kinds("0.3", "1.7", {"Q": 0.081, "K": 0.173, "V": 0.062}),
    "virtual": composition.virtual_head(["Mor", "de", "cai"], ["0.3", "1.7"], [0.81, 0.64]),
    "induction": induction.induction_steps(
        LINE, 10, 2, heads=["0.3", "1.7"], weights=[0.93, 0.71], predicted="de"
    ),
    "bug": trigrams.skip_trigram_bug(
        "keep", ["in", "at"], ["mind", "bay"], [0.62, 0.48], [2.4, 1.9]
    ),
    "superposition": superposition.superposition(
        {"2 features": ring(4)[:2], "3 features": ring(3), "5 features": ring(5)}
    ),
    "opens 1": openings.notation(),
    "opens 3": openings.attention_heads(),
    "opens 4": openings.zero_layers(),
    "opens 5b": later_openings.skip_trigrams_at_work(),
    "opens 6": openings.copying(),
    "opens 6b": openings.every_head(),
    "opens 7b": later_openings.who_reads_whom(),
    "opens 8": openings.induction(),
    "opens 9": later_openings.formation(),
    "opens 10": openings.hand_built(),
    "opens 11b": later_openings.taken_away(),
    "opens 12": later_openings.left_out(),
    "opens 13": later_openings.features(),
    "opens 14": later_openings.over_text(),
    "opens 15": later_openings.two_runs(),
}
LAYOUTS = [(name, layout) for name in DRAWINGS for layout in ("wide", "tall")]


@pytest.mark.parametrize("name, layout", LAYOUTS)
def test_no_word_lies_on_another_on_a_line_or_beyond_the_edge(name, layout):
    canvas = getattr(DRAWINGS[name], layout)
    for index, one in enumerate(canvas.words):
        assert one.left >= -0.5 and one.right <= canvas.width + 0.5, one.text
        assert one.size >= 12, "as large on the page as here"
        for other in canvas.words[index + 1 :]:
            beside = one.right <= other.left or other.right <= one.left
            assert beside or one.bottom <= other.top or other.bottom <= one.top, (one, other)
        for line in canvas.strokes:
            for (x0, y0), (x1, y1) in itertools.pairwise(line):
                for share in torch.linspace(0, 1, 41).tolist():
                    x, y = x0 + (x1 - x0) * share, y0 + (y1 - y0) * share
                    over = one.left < x < one.right and one.top + 1 < y < one.bottom - 1
                    assert not over, (one.text, line)


@pytest.mark.parametrize("name, layout", LAYOUTS)
def test_what_looks_is_dotted_and_goes_back_and_what_moves_is_solid_and_goes_on(name, layout):
    """Text runs to the right, in a column downwards; a head looks back in it and moves on in it."""
    canvas = getattr(DRAWINGS[name], layout)
    if name not in ("stream", "circuits", "superposition"):  # without a line of text
        for arrow in canvas.arrows:
            on = arrow.end[0] - arrow.start[0] or arrow.end[1] - arrow.start[1]
            assert arrow.role == "ink" or arrow.looks == (on < 0), arrow
    for words in canvas.words:
        named = words.role not in ("ink", "muted")
        for word, looks in (("looks", True), ("moves", False)):
            if named and re.search(rf"\b{word}\b", words.text) and canvas.arrows:
                its = {arrow.looks for arrow in canvas.arrows if arrow.role == words.role}
                assert looks in its, (words.text, its)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_and_lines_stand_out_from_the_page_and_from_boxes(theme):
    ground = voice.GROUND[theme]
    for name, role in voice.ROLES.items():
        colour = getattr(role, theme)
        assert voice.contrast(colour, ground) >= 4.5, name
        box = voice.tinted(colour, ground)
        assert voice.contrast(getattr(voice.ROLES["ink"], theme), box) >= 4.5, name


OF_VOICE = {
    "figures/scripts/views.js": {
        "up": voice.MORE, "down": voice.LESS,
        **{f"c{k}": voice.ROLES[name] for k, name in enumerate(voice.CURVES[:3])},
    },
    "website/live/live.css": {"up": voice.MORE, "down": voice.LESS},
    "website/train/train.css": {
        f"train-{name}": voice.ROLES[role]
        for name, role in (("first", "first"), ("second", "second"), ("control", "muted"))
    },
}  # fmt: skip
"""The colours that a script or a style of the pages takes from the voice, by their variables."""


@pytest.mark.parametrize("path", OF_VOICE)
def test_scripts_and_styles_have_the_colours_of_the_voice(path):
    source = Path(voice.__file__).parents[1] / path
    written = re.findall(r"--([\w-]+): ?(#[0-9a-f]{6})\b", source.read_text(encoding="utf-8"))
    for name, role in OF_VOICE[path].items():
        assert [colour for known, colour in written if known == name] == [role.light, role.dark]


def test_python_writes_no_colour_of_a_role_beside_the_voice():
    package = Path(voice.__file__).parents[1]
    roles = (*voice.ROLES.values(), voice.LESS, voice.MORE)
    known = {colour for role in roles for colour in (role.light, role.dark)}
    for path in set(package.rglob("*.py")) - {Path(voice.__file__)}:
        assert not known & set(re.findall(r"#[0-9a-f]{6}\b", path.read_text(encoding="utf-8"))), (
            path
        )


def test_the_table_of_the_voice_is_true():
    rows = re.findall(r"^(\w+) .*? (#\w+) +([\d.]+) +(#\w+) +([\d.]+) ",
                      voice.__doc__, re.MULTILINE)  # fmt: skip
    assert {name for name, *_ in rows} == voice.ROLES.keys()
    for name, light, of_light, dark, of_dark in rows:
        role = voice.ROLES[name]
        assert (light, dark) == (role.light, role.dark)
        for colour, ratio, theme in ((light, of_light, "light"), (dark, of_dark, "dark")):
            assert voice.contrast(colour, voice.GROUND[theme]) == pytest.approx(
                float(ratio), abs=0.006
            )


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_says_what_is_to_be_seen(name):
    shown = DRAWINGS[name]._repr_mimebundle_()[0]
    assert len(DRAWINGS[name].record.text.split()) >= 12
    for svg in DRAWINGS[name].svgs:
        assert svg.count('role="img"') == 1 and "<title>" in svg and "<desc>" in svg
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert f">{DRAWINGS[name].record.title}</figcaption>" in shown["text/html"].replace(
        "&#x27;", "'"
    )


def test_bars_add_up_and_what_has_no_row_shares_one():
    drawn = paths.path_sum(BOTH, what="x", unit="logits", most=4)
    shown = [word.text for word in drawn.wide.words]
    assert f"{sum(BOTH.values()):+.2f}" in shown
    assert f"{len(BOTH) - 5} more" in shown
    rest = sorted(BOTH.items(), key=lambda item: -abs(item[1]) if item[0] else -9)[5:]
    assert f"{sum(value for _, value in rest):+.2f}" in shown


def test_a_bug_is_a_product():
    shown = [word.text for word in DRAWINGS["bug"].wide.words]
    for weight in (0.62, 0.48):
        for raised in (2.4, 1.9):
            assert f"{weight * raised:+.2f}" in shown


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda: paths.path_sum({}, what="x", unit="y"), "no paths"),
        (lambda: paths.path_sum({("1.0", "0.0"): 1}, what="x", unit="y"), "in this order"),
        (lambda: stream.residual_stream("a", [1.0]), "1 or 2 layers"),
        (lambda: heads.two_circuits(["a"], [2.0], ["b"], head="0.0"), "probabilit"),
        (lambda: superposition.superposition({}), "room for 1 to 3"),
    ],
)
def test_data_that_cannot_be_drawn_is_refused_in_words(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
