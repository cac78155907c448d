"""The plan, the slides and the notes for the speaker belong together."""

import re

import pytest

from transformer_circuits import files

SEMINAR = files.data_dir().parent / "seminar"
SLIDES = re.split(
    r"^(?=\(slides-)", (SEMINAR / "slides.md").read_text(encoding="utf-8"), flags=re.M
)
PLAN = (SEMINAR / "plan-90.md").read_text(encoding="utf-8")
PACE = 130
"""Words a minute, of somebody who speaks so that all can follow."""


def notes(slide):
    """What stands in the speaker's notes of a slide, by its first word."""
    (text,) = re.findall(r"^```\{revealjs-notes\}\n(.*?)^```$", slide, re.M | re.S)
    return dict(re.findall(r"^(Minutes|Say|Ask|Answer): (.*)$", text, re.M))


@pytest.mark.parametrize("slide", SLIDES, ids=lambda text: re.search(r"^##? (.*)$", text, re.M)[1])
def test_a_slide_says_what_to_say_and_ask_and_what_is_right(slide):
    found = notes(slide)
    assert found.keys() == {"Minutes", "Say", "Ask", "Answer"}
    said = len(" ".join(found.values()).split())
    assert said >= 40 and len(found["Say"].split()) <= PACE * int(found["Minutes"]) / 2
    shown = re.sub(r"^```.*?^```$|\$\$.*?\$\$|^:::.*?^:::$", "", slide, flags=re.M | re.S)
    assert len(shown.split()) <= 95, "readable from the last row"


def test_the_minutes_of_the_slides_are_those_of_the_plan():
    minutes = [int(notes(slide)["Minutes"]) for slide in SLIDES]
    planned, in_plan = 0, set()
    for begin, end, row in re.findall(r"^\| (\d+)–(\d+) \|(.*)\|$", PLAN, re.M):
        planned += int(end) - int(begin)
        if numbers := re.findall(r"\d+", row.split("|")[-1]):
            first, last = int(numbers[0]), int(numbers[-1])
            shown = {first, last} if "," in row.split("|")[-1] else {*range(first, last + 1)}
            assert sum(minutes[k - 1] for k in shown) == int(end) - int(begin), row
            in_plan |= shown
    assert planned == 90
    extra = sorted({*range(1, len(SLIDES) + 1)} - in_plan)
    assert f"Slides {extra[0]} to {extra[-1]}" in PLAN
    assert sum(minutes[k - 1] for k in extra) == 20, "two parts of ten minutes"
    assert [sum(minutes[k - 1] for k in part) for part in (extra[:3], extra[3:])] == [10, 10]


def test_the_handout_is_of_whole_sentences_and_names_no_button():
    """Where the book has no address, pages have no button for Colab."""
    text = (SEMINAR / "handout.md").read_text(encoding="utf-8")
    words = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S).split("\n")
    sentences = [line for line in words if re.match(r"[A-Z*]|\d\. |- ", line)]
    assert len(sentences) > 8 and "Colab" not in text
    assert [line for line in sentences if line[-1] not in ".:?"] == []


def test_a_slide_names_what_its_figure_measures():
    """Of an edge that is cut: the axis of the figure and the words below it."""
    (slide,) = [slide for slide in SLIDES if "Score of every edge, and what it does" in slide]
    chapter = files.data_dir().parent / "chapters" / "10-who-reads-whom.ipynb"
    assert 'y=\\"change of predictions' in chapter.read_text(encoding="utf-8")
    assert re.search("change of the model's predictions", slide) and "loss" not in slide
