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
FOLDERS = ("chapters", "chapters/browser", "chapters/reference", "seminar")
PAGES = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).iterdir())
    if path.suffix in (".ipynb", ".md")
]
TAGS = {"hide-input", "hide-output", "remove-cell", "solution"}
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["solution"]}
"""Solutions are folded away in Colab, by the title in their first line, and in JupyterLab."""


PACE = 115
"""Words a minute, of somebody who reads and looks at every figure."""


def body(cells):
    """What a chapter says, without its exercises."""
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return re.split(r"^(?:\([a-z0-9-]+\)=\n)?## Exercises$", text, flags=re.MULTILINE)[0]


formed = pytest.mark.parametrize("path", FORMED, ids=lambda path: path.stem, indirect=True)


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def cells(path):
    return nbformat.read(path, 4).cells


def test_every_page_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    pages = [path.relative_to(ROOT).with_suffix("").as_posix() for path in PAGES]
    assert sorted([toc["root"], *listed]) == sorted(pages)


def test_only_the_source_is_committed(path, cells):
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
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None


def test_the_first_cell_is_the_same_everywhere(cells):
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert code[0].source == first_cell.text(ROOT / "_config.yml")


@pytest.mark.parametrize("name", SHORT)
def test_a_page_of_the_short_book_is_short_and_leads_on(name):
    """One question, something to break, an exercise without Python, and a door to the evidence."""
    cells = nbformat.read(ROOT / "chapters" / f"{name}.ipynb", 4).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert len(text.split()) < 1200
    assert text.count("## Try to break it") == 1
    assert text.count(":::{dropdown} Without a computer: ") == 1
    assert re.search(r"\d\d-[\w-]+\.ipynb", text)
    if name != SHORT[0]:
        assert re.search(r"^:::\{container\} lead\n\*\*[^*]+\?\*\* ", text, re.MULTILINE)


def test_lines_of_code_fit_into_the_column(cells):
    for cell in cells:
        if cell.cell_type == "code":
            assert max(map(len, cell.source.splitlines())) <= 88


def test_prose_stands_before_code(cells):
    """At most two code cells (evidence, then its check) follow each other."""
    kinds = "".join(cell.cell_type[0] for cell in cells)
    assert kinds.startswith("m") and "cccc" not in kinds and kinds.endswith("m")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem != "api"], ids=lambda page: page.stem
)
def test_every_section_has_a_name_that_outlives_its_title(page):
    """Links and translations hold on to labels; sections of the library are named by modules."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = nbformat.read(page, 4).cells
        assert all(cell.source.strip() for cell in cells)
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    titles = re.findall(r"^## .*$", text, re.MULTILINE)
    labels = re.findall(r"^\(([a-z0-9-]+)\)=\n## ", text, re.MULTILINE)
    assert len(labels) == len(titles)


@formed
def test_every_section_has_a_check(path, cells):
    """But on the scorecard, which shows what others have checked."""
    section, checked = "opening", True
    for cell in cells:
        if cell.cell_type == "markdown":
            for title in re.findall(r"^## (.*)$", cell.source, re.MULTILINE):
                assert (
                    checked
                    or section.startswith(("What", "Three", "To keep"))
                    or path.stem == SCORECARD
                ), f"no check in: {section}"
                section, checked = title, False
        elif "book.check(" in cell.source or ".decide()" in cell.source:
            checked = True
    assert section == ("To keep" if path.stem in GUIDES else "Exercises")


@formed
def test_a_chapter_opens_with_its_question_and_says_the_rest_in_one_line(path, cells):
    """What one needs, can do afterwards and is asked opens at a click; two questions are recall."""
    if path.stem == "00-how-to-read":
        return
    opening = cells[0].source
    assert re.search(r"^# .*\n\n:::\{container\} question\n[^\n]*\?[^\n]*\n:::\n", opening)
    (line, box) = re.search(
        r"^::::\{dropdown\} ([^\n]*)\n(.*?)^::::$", opening, re.MULTILINE | re.DOTALL
    ).groups()
    minutes = int(re.search(r"(\d+) minutes$", line)[1])
    for mark in (
        r"\*\*After this (chapter|page) you can\*\*",
        r"\*\*You need\*\*",
        rf"\*\*Minutes:\*\* about {minutes} to read",
    ):
        assert len(re.findall(mark, box)) == 1, mark
    recall = path.stem[:2] not in ("01", "21") and path.stem not in GUIDES
    assert len(re.findall(r"^:::\{dropdown\} .*\?$", box, re.MULTILINE)) in (2 * recall, 3 * recall)
    assert abs(minutes - len(body(cells).split()) / PACE) <= 5


@formed
def test_a_chapter_says_what_to_keep_and_where_to_go_on(path, cells):
    if path.stem != "00-how-to-read":
        text = body(cells)
        assert re.findall(r"^## (.*)$", text, re.MULTILINE)[-1] == "To keep"
        assert text.partition("## To keep\n")[2].count("**Where to go on:**") == 1


@formed
def test_a_chapter_asks_for_one_guess_among_choices(path, cells):
    """Below what was asked about stands what came out, for `guess.js` to compare."""
    if path.stem == "00-how-to-read":
        return
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


def test_the_evidence_is_at_most_42000_words_without_its_exercises():
    of_evidence = [nbformat.read(path, 4).cells for path in FORMED if path.stem not in GUIDES]
    assert sum(len(body(cells).split()) for cells in of_evidence) <= 42_000


def test_the_routes_are_as_long_as_they_are_said_to_be():
    page = body(nbformat.read(ROOT / "chapters" / "00-how-to-read.ipynb", 4).cells)
    routes = re.findall(r"^\|.*?\| (.*?) \| ([\d,]+) \| (\d+) min \|$", page, re.MULTILINE)
    assert len(routes) == 4
    for pages, said, minutes in routes:
        words = 0
        for link in re.findall(r"\]\(([\w/.-]+)\)", pages):
            path = ROOT / "chapters" / link
            text = path.read_text() if path.suffix == ".md" else body(nbformat.read(path, 4).cells)
            words += len(text.split())
        assert abs(int(said.replace(",", "")) / words - 1) < 0.05, f"{words} words: {pages}"
        assert abs(int(minutes) - words / PACE) <= 10, f"{words / PACE:.0f} minutes: {pages}"


@formed
def test_every_exercise_is_whole(path, cells):
    """Question, level, minutes, hint; a check that refuses wrong answers; a solution that is run."""
    if path.stem in GUIDES:
        return
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


def test_no_two_exercises_have_one_name():
    names = [
        name
        for path in (ROOT / "chapters").glob("*.ipynb")
        for name in re.findall(r":label: (ex-[\w-]+)", path.read_text(encoding="utf-8"))
    ]
    assert len(names) == len(set(names)) >= 4 * (len(FORMED) - len(GUIDES))


def test_chapters_only_call_the_library(cells):
    for cell in cells[2:]:
        if cell.cell_type == "code":
            for word in (
                "import *",
                "../",
                "%",
                "requests",
                "urllib",
                ".cuda",
                "warnings",
            ):
                assert not re.search(rf"(^|\s){re.escape(word)}", cell.source), (word, cell.source)


def test_figures_have_a_title_and_alternative_text(cells):
    for cell in cells:
        if cell.cell_type == "code":
            if re.search(r"(plots|charts|diagrams|explorers)\.\w+\(", cell.source):
                assert "title=" in cell.source and "alt=" in cell.source
            assert not re.search(r"views\.\w+\(", cell.source) or "label=" in cell.source


def test_what_is_to_be_shown_is_what_a_cell_ends_with(cells):
    """A figure or a table is shown as the value of its cell: anywhere else nobody would see it."""
    shows = ("tables", "plots", "charts", "diagrams", "explorers", "drawings", "views", "marks")
    for cell in cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source)
            for statement in ast.walk(tree):
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                    function = ast.unparse(statement.value.func)
                    if function.partition(".")[0] in shows:
                        assert statement is tree.body[-1], f"not shown: {cell.source[:200]}"


def test_a_title_that_counts_is_checked(cells):
    """What a figure's title says of most, few or more, a check of the chapter states, too."""
    titles, statements = [], []
    for call in (
        node
        for cell in cells
        if cell.cell_type == "code"
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call)
    ):
        if ast.unparse(call.func) == "book.check":
            statements.append(ast.unparse(call.args[0]).strip("'\"").lower())
        titles += [ast.unparse(k.value).strip("'\"") for k in call.keywords if k.arg == "title"]
    for title in titles:
        if re.search(r"\b(most|half|few|some|more)\b", title, re.IGNORECASE):
            assert any(s.startswith(title.lower()) for s in statements), f"not checked: {title}"


def test_the_token_that_a_view_opens_on_is_checked(cells):
    """A view of attention that keeps a token from the start shows what the text speaks of there."""
    calls = [
        node
        for cell in cells
        if cell.cell_type == "code"
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call)
    ]
    checked = {
        name.id
        for call in calls
        if ast.unparse(call.func) == "book.check"
        for name in ast.walk(call.args[1])
        if isinstance(name, ast.Name)
    }
    for call in calls:
        opens = [k.value for k in call.keywords if k.arg == "token"]
        if ast.unparse(call.func) == "views.attention" and opens:
            (at,) = opens
            assert isinstance(at, ast.Name) and at.id in checked, f"not checked: {ast.unparse(at)}"


def test_what_a_claim_asks_of_a_figure_is_decided_there(cells):
    """“If the claim holds, the curve …” is a criterion: code decides it before the prose goes on."""
    for index, cell in enumerate(cells):
        stated = re.findall(
            r"[^.?!]*\b[Ii]f (?:the|this|that) (?:claim|theory|rule)[^.,]* (?:holds|is right)[^.]*",
            cell.source
            if cell.cell_type == "markdown" and "solution-start" not in cell.source
            else "",
        )
        after = itertools.takewhile(lambda cell: cell.cell_type == "code", cells[index + 1 :])
        code = "\n".join(cell.source for cell in after)
        assert not stated or ".decide()" in code or "book.check(" in code, stated


def test_prose_states_no_number_that_a_cell_must_print(cells):
    """Decimals in prose are results; results belong to cells, those of others to quotations."""
    for cell in cells:
        if cell.cell_type == "markdown":
            words = re.sub(
                r"\$[^$]*\$|`[^`]*`|\(http[^)]*\)|head \d\.\d|\d\.\d+ (nats of|in the)|^> .*$",
                "",
                cell.source,
                flags=re.MULTILINE,
            )
            words = re.sub(r"[Hh]eads? \d\.\d|and \d\.\d", "", words)
            assert not re.search(r"\b\d+\.\d+\b", words), re.findall(r".*\b\d+\.\d+\b.*", words)


def test_the_configuration_can_be_read():
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert config["repository"]["url"] in first_cell.text(ROOT / "_config.yml")
    assert config["execute"]["execute_notebooks"] == "off", "the pages show the executed copies"
