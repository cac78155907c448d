"""Two more editions of the book from the same source: for participants, and for those who teach.

`student` has no solutions, neither on its pages nor in its notebooks, and no page for instructors.
`solutions` has every solution open. `make student` and `make solutions` build them.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import yaml

from transformer_circuits import files
from transformer_circuits.book import first_cell, notebooks

CHANGED = ("_config.yml", "_toc.yml", "chapters", "seminar")
"""What an edition has a copy of, to change it; everything else of the checkout it shares."""
NOT_SHARED = ("_build", "data", "node_modules")
"""No page includes anything of these, and in the first two lie chapters with their solutions."""
STUDENTS_ARCHIVE = "book-student"
"""How archives for Colab are called that have the notebooks of `student`: so they begin."""
FOR_INSTRUCTORS = "seminar/instructor"
"""The page that only those who teach get."""
KEY = "seminar/inventory.toml"
"""The questions before and after with their right answers; pages have them without."""
SOLUTION = "solution"
"""The tag of the cells that make up a solution, from `{solution-start}` to `{solution-end}`."""
_REFERENCE = re.compile(r" \(\[[^\]]*\]\([^)\s]*instructor\.md\)\)")
"""In brackets, so that the sentence is whole without it; Sphinx refuses any other that is left."""


def solves(cell: dict) -> bool:
    """Whether a cell is part of a solution."""
    return SOLUTION in cell["metadata"].get("tags", ())


def without_solutions(notebook: dict) -> dict:
    """The notebook without the cells of its solutions."""
    return notebook | {"cells": [cell for cell in notebook["cells"] if not solves(cell)]}


def with_open_solutions(notebook: dict) -> dict:
    """The notebook with every solution unfolded, its code too."""
    cells = []
    for cell in notebook["cells"]:
        if solves(cell):
            source = "".join(cell["source"]).replace(":class: dropdown\n", "")
            cell = cell | {"source": source, "metadata": {"tags": [SOLUTION]}}
        cells.append(cell)
    return notebook | {"cells": cells}


EDITIONS: dict[str, Callable[[dict], dict]] = {
    "student": without_solutions,
    "solutions": with_open_solutions,
}
"""What becomes of each chapter in each edition."""


def write(edition: str) -> Path:
    """Write what an edition is built from into `_build/EDITION/source`; nothing older stays there.

    Whatever a page of the checkout includes is there, too: what is not changed is linked to.
    """
    root = notebooks.root()
    folder = root / "_build" / edition / "source"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in root.glob("[!.]*"):
        if path.name not in CHANGED + NOT_SHARED:
            (folder / path.name).symlink_to(path)
    for name in CHANGED:
        copy = shutil.copytree if (root / name).is_dir() else shutil.copy
        copy(root / name, folder / name)
    for path in folder.glob("chapters/**/*.ipynb"):
        chapter = EDITIONS[edition](notebooks.read(path))
        if edition == "student":  # a clone, or the book's own archive, would bring the solutions
            first_cell.put(chapter, first_cell.unpacking(path.stem, STUDENTS_ARCHIVE))
        _replace(path, nbformat.writes(nbformat.from_dict(chapter)) + "\n")
    if edition == "student":
        _without_page_for_instructors(folder)
    return folder


def _without_page_for_instructors(folder: Path) -> None:
    """Take out that page and what refers to it, and the buttons that open the book's own notebooks."""
    (folder / f"{FOR_INSTRUCTORS}.md").unlink()
    (folder / KEY).unlink(missing_ok=True)
    toc = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))
    for part in toc["parts"]:
        part["chapters"] = [page for page in part["chapters"] if page["file"] != FOR_INSTRUCTORS]
    _replace(folder / "_toc.yml", yaml.safe_dump(toc, sort_keys=False))
    config = yaml.safe_load((folder / "_config.yml").read_text(encoding="utf-8"))
    del config["launch_buttons"]
    config["html"]["use_repository_button"] = False
    _replace(folder / "_config.yml", yaml.safe_dump(config, sort_keys=False))
    for page in [*folder.glob("**/*.md"), *folder.glob("chapters/**/*.ipynb")]:
        text = page.read_text(encoding="utf-8")
        _replace(page, _REFERENCE.sub("", text))


def _replace(path: Path, text: str) -> None:
    with files.atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
