"""The rules for chapters, as far as a program can tell."""

import ast
import itertools
import re
from pathlib import Path

import nbformat
import pytest
import yaml

from transformer_circuits.book import first_cell
from transformer_circuits.book.notebooks import FOUND, GUIDES, SCORECARD, SHORT

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
FORMED = [path for path in CHAPTERS if path.stem not in (*SHORT, FOUND)]
"""All but the pages of the short book and the one of findings, which have forms of their own."""
OPENING = "00-how-to-read"
PAGES = [
    path
    for folder in (
        "chapters",
        "chapters/browser",
        "chapters/reference",
        "seminar",
    )
    for path in sorted((ROOT / folder).iterdir())
    if path.suffix in (".ipynb", ".md")
]
TAGS = {"hide-input", "hide-output", "in-story", "remove-cell", "solution"}
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["solution"]}
"""Solutions are folded away in Colab, by the title in their first line, and in JupyterLab."""
PACE = 115
"""Words a minute, of somebody who reads and looks at every figure."""


def prose(cells):
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def body(cells):
    """What a chapter says, without its exercises."""
    return re.split(r"^(?:\([a-z0-9-]+\)=\n)?## Exercises$", prose(cells), flags=re.MULTILINE)[0]


def calls(code):
    """Every call in some cells, by the function's name."""
    nodes = (node for cell in code for node in ast.walk(ast.parse(cell.source)))
    return [(ast.unparse(node.func), node) for node in nodes if isinstance(node, ast.Call)]


def of(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem, indirect=True)


formed = of(FORMED)
but_the_opening = of([path for path in FORMED if path.stem != OPENING])


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def cells(path):
    return nbformat.read(path, 4).cells


@pytest.fixture
def code(cells):
    return [cell for cell in cells if cell.cell_type == "code"]


def test_every_page_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    pages = [path.relative_to(ROOT).with_suffix("").as_posix() for path in PAGES]
    assert sorted([toc["root"], *listed]) == sorted(pages)


def test_only_the_source_is_committed(path, cells, code):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert path.read_text(encoding="utf-8") == nbformat.writes(notebook) + "\n"
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert len({cell.id for cell in cells}) == len(cells)
    for cell in cells:
        if cell.source.startswith("# @title Solution"):
            assert cell.metadata == FOLDED
        else:
            assert set(cell.metadata) <= {"tags"} and set(cell.metadata.get("tags", ())) <= TAGS
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert code[0].source == first_cell.text(ROOT / "_config.yml", path.stem)


@pytest.mark.parametrize("name", SHORT)
def test_a_page_of_the_short_book_is_short_and_leads_on(name):
    """One question, something to break, an exercise without Python, and a door to the evidence."""
    text = prose(nbformat.read(ROOT / "chapters" / f"{name}.ipynb", 4).cells)
    assert len(text.split()) < 1200
    assert text.count("## Try to break it") == 1
    assert text.count(":::{dropdown} Without a computer: ") == 1
    assert re.search(r"\d\d-[\w-]+\.ipynb", text)
    if name != SHORT[0]:
        assert re.search(r"^:::\{container\} lead\n\*\*[^*]+\?\*\* ", text, re.MULTILINE)


def test_prose_stands_before_code(cells):
    """At most three code cells (evidence, then its check) follow each other, in narrow lines."""
    kinds = "".join(cell.cell_type[0] for cell in cells)
    assert kinds.startswith("m") and "cccc" not in kinds and kinds.endswith("m")
    for cell in cells:
        if cell.cell_type == "code":
            assert max(map(len, cell.source.splitlines())) <= 88


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_section_has_a_name_that_outlives_its_title(page):
    """Links and translations hold on to labels."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = prose(nbformat.read(page, 4).cells)
    titles = re.findall(r"^## .*$", text, re.MULTILINE)
    assert len(re.findall(r"^\(([a-z0-9-]+)\)=\n## ", text, re.MULTILINE)) == len(titles)


@formed
def test_every_section_has_a_check(path, cells):
    """But on the scorecard, which shows what others have checked."""
    section, checked = "opening", True
    for cell in cells:
        if cell.cell_type == "markdown":
            for title in re.findall(r"^## (.*)$", cell.source, re.MULTILINE):
                free = section.startswith(("What", "Three", "To keep")) or path.stem == SCORECARD
                assert checked or free, f"no check in: {section}"
                section, checked = title, False
        elif "book.check(" in cell.source or ".decide()" in cell.source:
            checked = True
    assert section == ("To keep" if path.stem in GUIDES else "Exercises")


@but_the_opening
def test_a_chapter_opens_with_its_question_and_ends_with_what_to_keep(path, cells):
    """What one needs, can do afterwards and is asked opens at a click; two questions are recall."""
    opening, text = cells[0].source, body(cells)
    assert re.search(r"^# .*\n\n:::\{container\} question\n[^\n]*\?[^\n]*\n:::\n", opening)
    (line, box) = re.search(
        r"^::::\{dropdown\} ([^\n]*)\n(.*?)^::::$", opening, re.MULTILINE | re.DOTALL
    ).groups()
    minutes = int(re.search(r"(\d+) minutes$", line)[1])
    for mark in ("After this (chapter|page) you can", "You need"):
        assert len(re.findall(rf"\*\*{mark}\*\*", box)) == 1, mark
    assert f"**Minutes:** about {minutes} to read" in box
    recall = path.stem[:2] not in ("01", "21") and path.stem not in GUIDES
    assert len(re.findall(r"^:::\{dropdown\} .*\?$", box, re.MULTILINE)) in (2 * recall, 3 * recall)
    assert abs(minutes - len(text.split()) / PACE) <= 5
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[-1] == "To keep"
    assert text.partition("## To keep\n")[2].count("**Where to go on:**") == 1


@of([path for path in FORMED if path.stem not in (OPENING, "21-scorecard")])
def test_a_chapter_asks_for_one_guess_among_choices(cells):
    """Below what was asked about stands what came out, for `guess.js` to compare; the scorecard's
    marks, to which other pages lead, wait for nobody."""
    asked = ":class: tip predict\n"
    (at,) = (k for k, c in enumerate(cells) if c.cell_type == "markdown" and asked in c.source)
    box, end = re.search(
        r"^:{3,4}\{admonition\} Predict first\n:class: tip predict\n(.*?)^:{3,4}(.*)",
        cells[at].source,
        re.MULTILINE | re.DOTALL,
    ).groups()
    assert end == "" and cells[at + 1].cell_type == "code"
    (choices,) = re.fullmatch(r"[^\n]*\?\n\n((?:\d\. [^\n]*\n)+)", box).groups()
    numbers = re.findall(r"^(\d)\. ", choices, re.MULTILINE)
    (came,) = re.findall(r"^\*\*What came out: (\d)\.\*\* \S", body(cells[at:]), re.MULTILINE)
    assert numbers == ["1", "2", "3"] and came in numbers


def test_the_evidence_and_the_routes_are_as_long_as_they_are_said_to_be():
    def n_words(path):
        whole = path.read_text() if path.suffix == ".md" else body(nbformat.read(path, 4).cells)
        return len(whole.split())

    assert sum(n_words(path) for path in FORMED if path.stem not in GUIDES) <= 42_000
    page = body(nbformat.read(ROOT / "chapters" / f"{OPENING}.ipynb", 4).cells)
    routes = re.findall(r"^\| .*? \(([\d,]+) words, (\d+)\smin\) \| (.*) \|$", page, re.MULTILINE)
    assert len(routes) == 4
    for said, minutes, pages in routes:
        links = re.findall(r"\]\(([\w/.-]+)\)", pages)
        words = sum(n_words(ROOT / "chapters" / link) for link in links)
        assert abs(int(said.replace(",", "")) / words - 1) < 0.05, f"{words} words: {pages}"
        assert abs(int(minutes) - words / PACE) <= 10, f"{words / PACE:.0f} minutes: {pages}"


@of([path for path in FORMED if path.stem not in GUIDES])
def test_every_exercise_is_whole(path, cells):
    """Question, level, minutes, hint; a check that refuses wrong answers; a solution that is run."""
    first = next(k for k, cell in enumerate(cells) if "\n## Exercises" in "\n" + cell.source)
    parts = "\n\n".join(
        cell.source if cell.cell_type == "markdown" else f"<<code>>\n{cell.source}\n<<end>>"
        for cell in cells[first:]
    ).split("::::{exercise} ")[1:]
    assert len(parts) >= 4
    for part in parts:
        label = re.search(r":label: (ex-\d\d-[\w-]+)\n", part)[1]
        assert label.startswith(f"ex-{path.stem[:2]}-")
        question, check, solution = re.fullmatch(
            r"(.*?)::::\n\n(<<code>>.*<<end>>)\n\n(:::\{solution-start\}.*?:::\{solution-end\}\n:::\s*)",
            part,
            re.DOTALL,
        ).groups()
        assert re.search(r"^\*[●○]{3} (easy|middling|hard), about \d+ minutes\*$", question, re.M)
        assert ":::{dropdown} Hint\n" in question
        name = re.search(rf"^(\w+) = ch{path.stem[:2]}\.\1\(", check, re.MULTILINE)[1]
        assert f"{name}.check(" in check and "..." in check
        assert f"{{solution-start}} {label}\n:class: dropdown" in solution
        assert "<<code>>\n# @title Solution\n" in solution and f"{name}.solve(" in solution


def test_chapters_only_call_the_library(code):
    for cell in code[1:]:
        for word in ("import *", "../", "%", "requests", "urllib", ".cuda", "warnings"):
            assert not re.search(rf"(^|\s){re.escape(word)}", cell.source), (word, cell.source)


def test_what_is_to_be_shown_is_what_a_cell_ends_with(code):
    """A figure or a table is shown as the value of its cell: anywhere else nobody would see it."""
    shows = ("tables", "plots", "charts", "diagrams", "explorers", "drawings", "views", "marks")
    for cell in code:
        tree = ast.parse(cell.source)
        for statement in ast.walk(tree):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                function = ast.unparse(statement.value.func)
                if function.partition(".")[0] in shows:
                    assert statement is tree.body[-1], f"not shown: {cell.source[:200]}"


def test_the_story_points_at_nothing_that_it_hides(cells):
    """Code is hidden there: what a colon announces is something that a cell shows."""
    for index, cell in enumerate(cells):
        if "## Exercises" in cell.source:
            break
        if cell.cell_type != "markdown":
            continue
        text = cell.source.rstrip()
        pointed = re.findall(r"\b(?:next|previous) cells?\b|\bcells? (?:above|below)\b", text)
        assert not pointed, pointed
        after = [*itertools.takewhile(lambda cell: cell.cell_type == "code", cells[index + 1 :])]
        shown = any(
            re.search(r"\bprint\(|book\.check\(|\.decide\(", each.source)
            or isinstance(ast.parse(each.source).body[-1], ast.Expr)
            for each in after
        )
        hides = text.endswith(":") and not text.endswith("::")
        assert shown or not hides, text[-200:]


def test_what_a_figure_counts_or_opens_on_is_checked(code):
    """A title of most, few or more, and the token that a view of attention keeps from the start."""
    checks = [call for name, call in calls(code) if name == "book.check"]
    statements = [ast.unparse(check.args[0]).strip("'\"").lower() for check in checks]
    checked = {n.id for check in checks for n in ast.walk(check.args[1]) if isinstance(n, ast.Name)}
    for name, call in calls(code):
        given = {keyword.arg: ast.unparse(keyword.value).strip("'\"") for keyword in call.keywords}
        title = given.get("title", "")
        if re.search(r"\b(most|half|few|some|more)\b", title, re.IGNORECASE):
            assert any(s.startswith(title.lower()) for s in statements), f"not checked: {title}"
        if name == "views.attention" and "token" in given:
            assert given["token"] in checked, f"not checked: {given['token']}"


def test_what_a_claim_asks_of_a_figure_is_decided_there(cells):
    """“If the claim holds, the curve …” is a criterion: code decides it before the prose goes on."""
    for index, cell in enumerate(cells):
        if cell.cell_type != "markdown" or "solution-start" in cell.source:
            continue
        stated = re.findall(
            r"[^.?!]*\b[Ii]f (?:the|this|that) (?:claim|theory|rule)[^.,]* (?:holds|is right)[^.]*",
            cell.source,
        )
        after = itertools.takewhile(lambda cell: cell.cell_type == "code", cells[index + 1 :])
        decided = "\n".join(cell.source for cell in after)
        assert not stated or ".decide()" in decided or "book.check(" in decided, stated


def test_prose_states_no_number_that_a_cell_must_print(cells):
    """Decimals in prose are results; results belong to cells, those of others to quotations. What a
    check of the page says, prose may say, too."""
    checked = " ".join(
        " ".join(re.findall(r'"(.*?)"', title))
        for cell in cells
        for title in re.findall(r'book\.check\(\s*((?:"[^"]*"\s*)+),', cell.source)
    )
    said = {*re.findall(r"\b\d+\.\d+\b", checked)}
    for cell in cells:
        if cell.cell_type == "markdown":
            words = re.sub(
                r"\$[^$]*\$|`[^`]*`|\(http[^)]*\)|head \d\.\d|\d\.\d+ (nats of|in the)|^> .*$",
                "",
                cell.source,
                flags=re.MULTILINE,
            )
            words = re.sub(r"[Hh]eads? \d\.\d|and \d\.\d", "", words)
            assert {*re.findall(r"\b\d+\.\d+\b", words)} <= said, words


def test_the_pages_show_the_executed_copies():
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert config["execute"]["execute_notebooks"] == "off"
