"""What participants get, of every chapter and of the seminar."""

import re
import symtable

import nbformat
import pytest

from transformer_circuits.book import notebooks
from website import editions

INCLUDED = re.compile(r"^`{3,}\{(?:literal)?include\} (\S+)", re.MULTILINE)


def sources(made):
    return ["".join(cell["source"]) for cell in made["cells"]]


@pytest.mark.parametrize("chapter", notebooks.numbered())
def test_what_is_tagged_is_the_solutions_and_nothing_else(chapter):
    """The edition for participants lacks what is tagged, so nothing of a solution may be without."""
    whole = notebooks.read(notebooks.path(chapter))
    tagged = "\n".join(sources({"cells": filter(editions.solves, whole["cells"])}))
    student = editions.without_solutions(whole)
    text = "\n".join(sources(student))
    assert ".solve(" not in text and "solution-" not in text and "# @title Solution" not in text
    labels = re.findall(r"^::::\{exercise\}[^\n]*\n:label: (\S+)", text, re.MULTILINE)
    solution = r":::\{solution-start\} (\S+)\n:class: dropdown\n:::\n.*?:::\{solution-end\}\n:::"
    assert re.findall(solution, tagged, re.DOTALL) == labels != []
    assert not re.sub(solution, "", tagged, flags=re.DOTALL).strip()
    # It runs without what solutions bound.
    lost = set()
    for cell in whole["cells"]:
        if cell["cell_type"] == "code":
            bound, read = names(symtable.symtable("".join(cell["source"]), "cell", "exec"))
            if not editions.solves(cell):
                assert not read & lost, "bound in a solution alone"
            lost = lost | bound if editions.solves(cell) else lost - bound


def names(table):
    """The global names that a piece of code binds, and those that it reads, its functions too."""
    symbols, top = table.get_symbols(), table.get_type() == "module"
    bound = {one.get_name() for one in symbols if top and one.is_assigned()}
    read = {one.get_name() for one in symbols if one.is_referenced() and (top or one.is_global())}
    return bound, read.union(*(names(inner)[1] for inner in table.get_children()))


def test_it_has_every_page_that_is_for_participants_and_none_for_those_who_teach(
    tmp_path, monkeypatch
):
    real = notebooks.root()
    for path in real.glob("[!.]*"):
        if path.name != "_build":
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.setattr(notebooks, "root", lambda: tmp_path)
    (tmp_path / "_build" / "student" / "source" / "old").mkdir(parents=True)
    folder = editions.write()
    assert not (folder / "old").exists(), "of an older build"
    assert not (folder / "data").exists(), "executed chapters, with their solutions"
    for chapter in notebooks.names():
        notebook = nbformat.read(folder / "chapters" / f"{chapter}.ipynb", as_version=4)
        nbformat.validate(notebook)
    pages = [*folder.glob("seminar/*.md"), *folder.glob("chapters/**/*.md")]
    for page in pages:
        for included in INCLUDED.findall(page.read_text(encoding="utf-8")):
            assert (page.parent / included).is_file(), f"{page} includes {included}"
    said = "".join(
        p.read_text() for p in [*pages, *folder.glob("chapters/*.ipynb"), folder / "_toc.yml"]
    )
    for page in editions.FOR_TEACHERS:
        assert (real / f"{page}.md").is_file() and not (folder / f"{page}.md").exists()
        assert not re.search(rf"{page.rpartition('/')[2]}(\.md|\n)", said)
    slides = (folder / "seminar" / "slides.md").read_text()
    assert slides.count("{chapter-figure}") > 10
    assert "speaker-notes" not in said and not re.search(r"book(-all)?\.zip", said)
