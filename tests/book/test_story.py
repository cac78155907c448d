"""The short book and the evidence are one story: one line, one cast, two pages that face each other."""

import ast
import re
from urllib.parse import unquote

import pytest

from transformer_circuits import stage
from transformer_circuits.book import notebooks
from transformer_circuits.book.notebooks import SHORT

LINE = "The old king Valdemar spoke, and the people heard Valdemar"
MADE_UP = r"The old king ([A-Z][a-z]+) spoke, and the people heard \1"
ONE_LAYER = "The old king Valdemar (his name"
CAST = {
    "note-taker": "previous-token head",
    "finder": "induction head",
    "re-coder": "current-token head",
}


def source(page, kind):
    cells = notebooks.read(notebooks.path(page))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def prose(page):
    return "\n\n".join(source(page, "markdown"))


def opening(page):
    return source(page, "markdown")[0]


def faces():
    """The map on the page that says how to read, story first."""
    rows = re.findall(r"^\| \d\. \[.*?\]\(([\w-]+)\.ipynb\) \| \[.*?\]\(([\w-]+)\.ipynb\) \|$", prose("00-how-to-read"), re.M)  # fmt: skip
    return dict(rows)


def calls(page, name):
    """The calls of a function in the code of a page."""
    for cell in source(page, "code"):
        yield from (
            node
            for node in ast.walk(ast.parse(cell))
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(name)
        )


def steps(page):
    """The text of each paragraph that sets the stage, and the names of its marks."""
    for call in calls(page, "stage.step"):
        yield (
            ast.literal_eval(call.args[1]),
            {given.arg for given in call.keywords if isinstance(given.value, ast.Call)},
        )


def read_aloud(page):
    """All that a reader reads: the prose of a page, and the paragraphs that set the stage."""
    return "\n\n".join([prose(page), *(text for text, _ in steps(page))])


def test_each_page_has_its_chapter_and_both_lead_to_each_other_at_their_top():
    assert list(faces()) == [*SHORT]
    for story, evidence in faces().items():
        assert re.search(rf"^The evidence: \[.*\]\({evidence}\.ipynb\)\.$", opening(story), re.M)
        assert re.search(rf"^\*\*The story:\*\* \[.*\]\({story}\.ipynb\)", opening(evidence), re.M)


@pytest.mark.parametrize("page", SHORT)
def test_a_page_asks_shows_and_lets_one_break_it(page):
    text = prose(page)
    assert text.count("## Try to break it") == 1
    assert text.count(":::{dropdown} Without a computer") == 1
    assert page == SHORT[0] or re.search(r"^\*\*.*\?\*\*", opening(page), re.M), "one question"
    assert page in (SHORT[0], SHORT[-1]) or text.count("\n**Next:** ") == 1, "one door"
    found = list(steps(page))
    assert found
    for said, marks in found:
        assert marks == {*re.findall(r"\]\{(\w+)\}", said)} != set(), said


@pytest.mark.parametrize("page", SHORT)
def test_there_is_one_line(page):
    """What is read is the line, the line with a made-up name, or, without notes, one with a bracket."""
    texts = [
        node.value
        for cell in source(page, "code")[1:]
        for node in ast.walk(ast.parse(cell))
        if isinstance(node, ast.Constant) and str(node.value).startswith("The old king")
    ]
    texts = [text for text in texts if "{" not in text and text != "The old king "]
    assert texts
    assert all(text in (LINE, ONE_LAYER) or re.fullmatch(MADE_UP, text) for text in texts)


def test_each_part_has_two_names_said_once_on_the_first_page():
    first = opening(SHORT[0]) + prose(SHORT[0])
    glossary = (notebooks.root() / "chapters/reference/glossary.md").read_text(encoding="utf-8")
    for ours, theirs in CAST.items():
        assert re.search(rf"^\| .*\*\*{ours}s?\*\*.*\| {theirs}s? \|$", first, re.M)
        assert f"\n{ours}\n  " in glossary and f"\n{theirs}\n  " in glossary


def test_it_is_short():
    words = {page: len(read_aloud(page).split()) for page in SHORT}
    assert max(words.values()) <= 1200 and sum(words.values()) <= 7000, words


@pytest.mark.parametrize("page", SHORT)
def test_a_link_to_the_live_page_is_a_line_of_code_that_runs(page):
    names = {name: getattr(stage, name) for name in ("zero_layers", "one_layer", "two_layers")}
    text = "\n".join(source(page, "markdown"))
    links = re.findall(r"browser/live-model\.html(#[^\"]*)?\"", text)
    for link in filter(None, links):
        assert link.startswith("#stage="), link
        code = unquote(link.removeprefix("#stage="))
        assert eval(code, {"__builtins__": {}}, names).code == code
