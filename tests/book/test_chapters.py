"""What a chapter must be for those who read, run and teach it, as far as a program can tell."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
import yaml

from transformer_circuits.book import first_cell
from transformer_circuits.book.notebooks import FOUND, GUIDES, SHORT

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
EVIDENCE = [path for path in CHAPTERS if path.stem not in (*SHORT, FOUND, *GUIDES)]
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["solution"]}
"""Solutions are folded away in Colab, by the title in their first line, and in JupyterLab."""


def cells(path):
    return nbformat.read(path, 4).cells


def prose(path):
    return "\n\n".join(cell.source for cell in cells(path) if cell.cell_type == "markdown")


def n_words(path):
    """Words of a page up to its exercises, or to what is for referees, whichever comes first."""
    ends = r"^(?:\([a-z0-9-]+\)=\n)?## (?:Exercises|For referees)$"
    return len(re.split(ends, prose(path), flags=re.MULTILINE)[0].split())


def of(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)


def test_every_page_is_in_the_table_of_contents():
    """A page that is not is left out of the book, and nobody is told."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    folders = ("chapters", "chapters/browser", "chapters/reference", "seminar")
    pages = [path for folder in folders for path in (ROOT / folder).iterdir()]
    names = [
        path.relative_to(ROOT).with_suffix("").as_posix()
        for path in pages
        if path.suffix in (".ipynb", ".md")
    ]
    assert sorted([toc["root"], *listed]) == sorted(names)


@of(CHAPTERS)
def test_only_the_source_is_committed_and_the_first_cell_runs_anywhere(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert path.read_text(encoding="utf-8") == nbformat.writes(notebook) + "\n"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert code[0].source == first_cell.text(ROOT / "_config.yml", path.stem)
    for cell in code:
        if cell.source.startswith("# @title Solution"):
            assert cell.metadata == FOLDED


def test_pages_are_as_short_as_they_may_be():
    for name in SHORT:
        assert len(prose(ROOT / "chapters" / f"{name}.ipynb").split()) < 1200, name
    assert sum(map(n_words, EVIDENCE)) <= 28_000


@of(EVIDENCE)
def test_a_chapter_has_four_exercises_and_each_a_checker_and_a_solution(path):
    text = "\n".join(cell.source for cell in cells(path))
    labels = re.findall(r":label: (ex-\d\d-[\w-]+)\n", text)
    assert len(labels) >= 4 and re.findall(r"solution-start\} ([\w-]+)\n", text) == labels
    assert len(re.findall(r"^# @title Solution$", text, re.MULTILINE)) == len(labels)
    assert len(re.findall(r"^\w+ = ch\d\d\.\w+\(", text, re.MULTILINE)) == len(labels)


@of([path for path in CHAPTERS if ":class: tip predict" in prose(path)])
def test_a_guess_is_compared_with_one_of_its_choices(path):
    """Below the box stands what came out, for `guess.js` to compare."""
    boxes = re.findall(r":class: tip predict\n(.*?)^:::", prose(path), re.MULTILINE | re.DOTALL)
    came = re.findall(r"^\*\*What came out: (\d)\.\*\* \S", prose(path), re.MULTILINE)
    assert all(re.findall(r"^(\d)\. ", box, re.MULTILINE) == ["1", "2", "3"] for box in boxes)
    assert len(came) == len(boxes) and {*came} <= {"1", "2", "3"}


@of(CHAPTERS)
def test_nothing_is_fetched_and_what_is_to_be_shown_is_what_a_cell_ends_with(path):
    """A figure or a table is shown as the value of its cell: anywhere else nobody would see it."""
    shows = ("tables", "plots", "charts", "drawings", "views", "marks")
    for cell in [cell for cell in cells(path) if cell.cell_type == "code"][1:]:
        assert not re.search(r"(^|\s)(import \*|\.\./|requests|urllib)", cell.source), cell.source
        tree = ast.parse(cell.source)
        for statement in ast.walk(tree):
            if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
                shown = ast.unparse(call.func).partition(".")[0] in shows
                assert not shown or statement is tree.body[-1], f"not shown: {cell.source[:200]}"
