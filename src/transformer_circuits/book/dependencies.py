"""Dependencies of a result: the modules that code imports, and theirs in turn, and the data."""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from transformer_circuits import files

DATA_FILES = ("data/models/*/*", f"data/models/*/checkpoints/{files.SUMS}", "data/corpus.toml",
              "data/tokenizer.json", "data/registered.toml", "requirements.txt")  # fmt: skip
"""Data that any chapter may depend on besides code; the text is pinned by hashes in `corpus.toml`."""
READ_BY = {
    "experiments/trainings.py": "data/trainings/*",
    "figures/matplotlib_figure.py": "src/transformer_circuits/figures/book.mplstyle",
    "figures/drawings/__init__.py": "chapters/drawings/*.svg",
}
"""Data that only those chapters depend on that import the module which reads it."""
_SOURCE = Path(__file__).parents[2]


@dataclass(frozen=True)
class Module:
    """File of code, and the names of all that is imported anywhere in it."""

    path: Path
    imports: set[str]


def every_module() -> dict[str, Module]:
    """Modules of this package and those beside the chapters, by the names that import them."""
    by_name = {}
    for place in (_SOURCE, files.data_dir().parent / "chapters"):
        for file in sorted(place.rglob("*.py")):
            name = ".".join(file.relative_to(place).with_suffix("").parts)
            by_name[name.removesuffix(".__init__")] = Module(
                file, _imports(file.read_text("utf-8"))
            )
    return by_name


def _imports(source: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):  # of a module, or of a package with modules in it
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def modules(cells: Iterable[str], known: Mapping[str, Module]) -> list[Path]:
    """Files among `known` (from `every_module`) that code imports, and theirs in turn.

    A UserError names the cell, if one is not plain Python.
    """
    reached, todo = {}, set()
    for number, cell in enumerate(cells, 1):
        try:
            todo |= _imports(cell)
        except SyntaxError as error:
            line = f"line {error.lineno} of code cell {number}"
            raise files.UserError(f"{line} is not plain Python: {error.msg}") from error
    while todo:
        name = todo.pop()
        if name in known and name not in reached:
            reached[name] = known[name].path
            todo |= {*known[name].imports, name.rpartition(".")[0]}  # and the package it lies in
    return sorted(reached.values())
