"""Sphinx extension: pages of the library, each with every module of one folder of the package.

A page is `chapters/reference/library/FOLDER.md`; on it the line `MODULES` stands for them.
"""

from pathlib import Path

import transformer_circuits

SOURCE = Path(transformer_circuits.__file__).parent
PAGES = "chapters/reference/library/"
"""What the names of these pages begin with."""
BASICS = "basics"
"""The page of the modules that lie in no folder."""
MODULES = "{modules}"


def modules(folder: str) -> list[str]:
    """The modules of a folder by the names that import them, without `transformer_circuits`.

    Raises:
        ValueError: if there is none.
    """
    here = SOURCE if folder == BASICS else SOURCE / folder
    paths = here.glob("*.py") if folder == BASICS else here.rglob("*.py")
    found = sorted(
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for path in paths
        if path.stem != "__main__" and (path.stem != "__init__" or "\ndef " in path.read_text())
    )
    if not found:
        raise ValueError(f"{PAGES}{folder} is a page of the library, but {here} has no modules")
    return found


def _list(app, docname: str, source: list[str]) -> None:
    if docname.startswith(PAGES):
        folder = docname.removeprefix(PAGES)
        listed = "\n".join(
            f"## {name}\n\n```{{eval-rst}}\n.. automodule:: transformer_circuits.{name}\n"
            "   :members:\n```\n"
            for name in modules(folder)
        )
        source[0] = source[0].replace(MODULES, listed)


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.connect("source-read", _list)
    return {"parallel_read_safe": True}
