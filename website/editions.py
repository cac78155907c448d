"""Another edition of the book from the same source, for participants of a course: `make student`.

`student` has no solutions, neither on its pages nor in its notebooks, and nothing that is only for
teachers: their pages and sections, and the speaker's notes.
"""

import re
import shutil
from pathlib import Path

import nbformat
import yaml

from transformer_circuits import files
from transformer_circuits.book import first_cell, notebooks

STUDENT = "student"
CHANGED = ("_config.yml", "_toc.yml", "chapters", "seminar")
"""Files of which the edition has a changed copy; all others of the checkout it shares."""
NOT_SHARED = ("_build", "data", "node_modules")
"""Folders that no page includes anything of; in the first two lie chapters with their solutions."""
STUDENTS_ARCHIVE = "book-student"
"""Beginning of the names of archives for Colab with the notebooks of `student`."""
FOR_TEACHERS = (
    "seminar/instructor", "seminar/misconceptions", "seminar/plan-20", "seminar/plan-90", "seminar/plan-2x90", "seminar/for-students",
    "chapters/reference/publishing",
)  # fmt: skip
"""Pages that only teachers or publishers get."""
KEY = "seminar/inventory.toml"
"""File of the questions before and after with their right answers; pages have them without."""
SOLUTION = "solution"
"""Tag of the cells that make up a solution, from `{solution-start}` to `{solution-end}`."""
_TO_TEACHERS = (
    rf"\[[^\]]*\]\((?:[^)\s]*/)?(?:{'|'.join(Path(page).name for page in FOR_TEACHERS)})\.md\)"
)
LEFT_OUT = re.compile(
    rf"^```{{revealjs-notes}}\n.*?^```\n"
    rf"|^\([\w-]+-teacher\)=\n.*?(?=^\([\w-]+\)=\n|\Z)"
    rf"| \([^()\[]*{_TO_TEACHERS}\)|{_TO_TEACHERS}(?:, | )",
    re.MULTILINE | re.DOTALL,
)
"""Pattern of the speaker's notes, sections whose label ends in `-teacher`, and references to a page
of `FOR_TEACHERS`: in brackets, or in a list. A sentence is complete without it; Sphinx refuses any
other that is left.
"""


def solves(cell: dict) -> bool:
    """True if a cell is part of a solution."""
    return SOLUTION in cell["metadata"].get("tags", ())


def without_solutions(notebook: dict) -> dict:
    """Notebook without the cells of its solutions."""
    return notebook | {"cells": [cell for cell in notebook["cells"] if not solves(cell)]}


def write() -> Path:
    """Write the source of the edition into `_build/student/source`; nothing older stays there.

    All files that a page of the checkout includes are there, too: the unchanged ones are links.
    """
    root = notebooks.root()
    folder = root / "_build" / STUDENT / "source"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in root.glob("[!.]*"):
        if path.name not in CHANGED + NOT_SHARED:
            (folder / path.name).symlink_to(path)
    for name in CHANGED:
        copy = shutil.copytree if (root / name).is_dir() else shutil.copy
        copy(root / name, folder / name)
    for path in folder.glob("chapters/**/*.ipynb"):
        chapter = without_solutions(notebooks.read(path))
        # A clone, or the book's own archive, would bring the solutions.
        first_cell.put(chapter, first_cell.unpacking(path.stem, STUDENTS_ARCHIVE))
        _replace(path, nbformat.writes(nbformat.from_dict(chapter)) + "\n")
    _without_what_is_for_teachers(folder)
    return folder


def _without_what_is_for_teachers(folder: Path) -> None:
    """Take out teachers' pages and references to them, and the buttons that open the book's own notebooks."""
    for page in FOR_TEACHERS:
        (folder / f"{page}.md").unlink(missing_ok=True)
    (folder / KEY).unlink(missing_ok=True)
    toc = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))
    for part in toc["parts"]:
        part["chapters"] = [page for page in part["chapters"] if page["file"] not in FOR_TEACHERS]
    _replace(folder / "_toc.yml", yaml.safe_dump(toc, sort_keys=False))
    config = yaml.safe_load((folder / "_config.yml").read_text(encoding="utf-8"))
    config.pop("launch_buttons", None)
    config["html"]["use_repository_button"] = False
    _replace(folder / "_config.yml", yaml.safe_dump(config, sort_keys=False))
    for page in [*folder.glob("**/*.md"), *folder.glob("chapters/**/*.ipynb")]:
        text = page.read_text(encoding="utf-8")
        _replace(page, LEFT_OUT.sub("", text))


def _replace(path: Path, text: str) -> None:
    with files.atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
