"""What participants get, and what those who teach get, of every chapter."""

import re
import symtable

import nbformat
import pytest

from transformer_circuits.book import notebooks
from transformer_circuits.website import editions

INCLUDED = re.compile(r"^`{3,}\{(?:literal)?include\} (\S+)", re.MULTILINE)
SOLVED = [
    ("markdown", "Before.\n\n:::{solution-start} ex-a\n:class: dropdown\n:::\n\nBecause."),
    ("code", "# @title Solution\na.solve(1)"),
    ("markdown", ":::{solution-end}\n:::\n\n::::{exercise} B\n::::"),
    ("code", "b = ..."),
    ("markdown", ":::{solution-start} ex-b\n:class: dropdown\n:::\n"),
    ("code", "# @title Solution\nb.solve(2)"),
    ("markdown", ":::{solution-end}\n:::"),
]


def notebook(cells):
    return {"cells": [{"cell_type": k, "source": s, "metadata": {}} for k, s in cells]}


def sources(made):
    return ["".join(cell["source"]) for cell in made["cells"]]


def test_nothing_of_a_solution_stays_and_nothing_else_goes():
    left = sources(editions.without_solutions(notebook(SOLVED)))
    assert left == ["Before.", "::::{exercise} B\n::::", "b = ..."]


@pytest.mark.parametrize("gone", [0, 2, 4, 6])
def test_marks_that_do_not_pair_are_refused(gone):
    cells = [cell for k, cell in enumerate(SOLVED) if k != gone]
    with pytest.raises(ValueError, match="solution-"):
        editions.without_solutions(notebook(cells))


def test_open_solutions_are_neither_folded_nor_hidden():
    made = notebook(SOLVED)
    made["cells"][1]["metadata"] = {"cellView": "form", "jupyter": {"source_hidden": True}}
    opened = editions.with_open_solutions(made)
    assert "dropdown" not in "".join(sources(opened))
    assert opened["cells"][1]["metadata"] == {}
    assert "Because." in sources(opened)[0]


@pytest.mark.parametrize("chapter", notebooks.numbered())
def test_a_chapter_of_the_student_edition_runs_without_what_solutions_bound(chapter):
    whole = notebooks.read(notebooks.path(chapter))
    student = editions.without_solutions(whole)
    text = "\n".join(sources(student))
    assert ".solve(" not in text and "{solution" not in text
    count = re.compile(r"^::::\{exercise\}", re.MULTILINE)
    assert len(count.findall(text)) == len(count.findall("\n".join(sources(whole)))) > 0
    kept = {cell["id"] for cell in student["cells"]}
    lost = set()
    for cell in whole["cells"]:
        if cell["cell_type"] == "code":
            bound, read = names(symtable.symtable("".join(cell["source"]), "cell", "exec"))
            if cell["id"] in kept:
                assert not read & lost, "bound in a solution alone"
                lost -= bound
            else:
                lost |= bound


def names(table):
    """The global names that a piece of code binds, and those that it reads, its functions too."""
    symbols, top = table.get_symbols(), table.get_type() == "module"
    bound = {one.get_name() for one in symbols if top and one.is_assigned()}
    read = {one.get_name() for one in symbols if one.is_referenced() and (top or one.is_global())}
    return bound, read.union(*(names(inner)[1] for inner in table.get_children()))


@pytest.mark.parametrize("edition", editions.EDITIONS)
def test_an_edition_has_every_page_that_is_for_its_readers(tmp_path, monkeypatch, edition):
    real = notebooks.root()
    for path in real.glob("[!.]*"):
        if path.name != "_build":
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.setattr(notebooks, "root", lambda: tmp_path)
    (tmp_path / "_build" / edition / "source").mkdir(parents=True)
    (tmp_path / "_build" / edition / "source" / "old.md").write_text("of an older build")
    folder = editions.write(edition)
    assert not (folder / "old.md").exists()
    assert not (folder / "data").exists(), "executed chapters, with their solutions"
    before = {path.relative_to(real) for path in real.glob("chapters/**/*.ipynb")}
    before = {path for path in before if ".ipynb_checkpoints" not in path.parts}
    assert {path.relative_to(folder) for path in folder.glob("chapters/**/*.ipynb")} >= before
    for path in before:
        nbformat.validate(nbformat.read(folder / path, as_version=4))
    for page in folder.glob("**/*.md"):
        for included in INCLUDED.findall(page.read_text(encoding="utf-8")):
            assert (page.parent / included).is_file(), f"{page} includes {included}"
    instructors = f"{editions.FOR_INSTRUCTORS}.md"
    assert (folder / instructors).exists() == (edition == "solutions")
    everything = "".join(p.read_text() for p in [*folder.glob("**/*.md"), folder / "_toc.yml"])
    assert ("instructor.md" in everything or "instructor\n" in everything) == (
        edition == "solutions"
    )
    assert notebooks.read(real / next(iter(before)))["cells"], "the source stays as it is"


def test_there_is_no_third_edition():
    with pytest.raises(ValueError, match="no edition 'teacher'; there are"):
        editions.write("teacher")
