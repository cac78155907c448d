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
from transformer_circuits.book import notebooks

CHANGED = ("_config.yml", "_toc.yml", "chapters", "seminar")
"""What an edition has a copy of, to change it; everything else of the checkout it shares."""
NOT_SHARED = ("_build", "data", "node_modules")
"""No page includes anything of these, and in the first two lie chapters with their solutions."""
FOR_INSTRUCTORS = "seminar/instructor"
"""The page that only those who teach get."""
_MARK = re.compile(
    r"^:::\{solution-(start|end)\}[^\n]*\n(?::[a-z]+:[^\n]*\n)*:::[ ]*\n?", re.MULTILINE
)
_FOLDED = re.compile(r"(:::\{solution-start\}[^\n]*\n):class: dropdown\n")
_REFERENCE = re.compile(r" \(\[[^\]]*\]\([^)\s]*instructor\.md\)\)")
"""In brackets, so that the sentence is whole without it; Sphinx refuses any other that is left."""


def without_solutions(notebook: dict) -> dict:
    """The notebook without its solutions: everything from `{solution-start}` to `{solution-end}`.

    Raises:
        ValueError: if the marks of start and end do not alternate, so that it is not clear what is
            a solution.
    """
    inside, kept = False, []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text, inside = _outside("".join(cell["source"]), inside)
            if text.strip():
                kept.append(cell | {"source": text.strip("\n")})
        elif not inside:
            kept.append(cell)
    if inside:
        raise ValueError("the last solution-start has no solution-end")
    return notebook | {"cells": kept}


def _outside(text: str, inside: bool) -> tuple[str, bool]:
    """What of a text is outside solutions; and whether a solution is open at its end."""
    kept, place = [], 0
    for mark in _MARK.finditer(text):
        if (mark[1] == "end") is not inside:
            raise ValueError(f"solution-{mark[1]} where the solution is already {mark[1]}ed")
        if not inside:
            kept.append(text[place : mark.start()])
        inside, place = not inside, mark.end()
    return "".join(kept) + ("" if inside else text[place:]), inside


def with_open_solutions(notebook: dict) -> dict:
    """The notebook with every solution unfolded, its code too."""
    opened = []
    for cell in notebook["cells"]:
        source, metadata = "".join(cell["source"]), cell["metadata"]
        if cell["cell_type"] == "markdown":
            source = _FOLDED.sub(r"\1", source)
        elif source.startswith("# @title Solution"):
            metadata = {k: v for k, v in metadata.items() if k not in ("cellView", "jupyter")}
        opened.append(cell | {"source": source, "metadata": metadata})
    return notebook | {"cells": opened}


EDITIONS: dict[str, Callable[[dict], dict]] = {
    "student": without_solutions,
    "solutions": with_open_solutions,
}
"""What becomes of each chapter in each edition."""


def write(edition: str) -> Path:
    """Write what an edition is built from into `_build/EDITION/source`; nothing older stays there.

    Whatever a page of the checkout includes is there, too: what is not changed is linked to.

    Raises:
        ValueError: if there is no such edition.
    """
    if edition not in EDITIONS:
        raise ValueError(f"there is no edition {edition!r}; there are {sorted(EDITIONS)}")
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
        _replace(path, nbformat.writes(nbformat.from_dict(chapter)) + "\n")
    if edition == "student":
        _without_page_for_instructors(folder)
    return folder


def _without_page_for_instructors(folder: Path) -> None:
    """Take out that page and what refers to it, and the buttons that open the book's own notebooks."""
    (folder / f"{FOR_INSTRUCTORS}.md").unlink()
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
