"""Values of rules on controls and plants, measured once: `data/controls.json`.

A chapter measures its models anew each time it runs. Controls and plants are measured when the
record is made (`python -m tools controls`, and by `make reproduce`), and shown from there while it
matches weights, text and code; a claim whose row does not match is measured again.
"""

import ast
import dataclasses
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer_circuits import files
from transformer_circuits.book import dependencies
from transformer_circuits.claims.claim import Claim
from transformer_circuits.claims.rules import NOTHING, Draws, Interval

if TYPE_CHECKING:
    from transformer_circuits.claims.measurement import Measurement
    from transformer_circuits.claims.subjects import Subject

MEASURES = ("analysis", "claims", "experiments", "model", "text", "training")
"""Folders of the package whose modules a measured number of the book's models depends on."""
BESIDE = ("claim.py", "findings.py", "kept.py", "recorded.py", "general.py")
"""Modules among them that only tell or keep results, or are for other people's models."""
Estimates = Mapping[str, Interval | None]
"""Values by the name in verdicts; None for one that cannot be measured."""


def path() -> Path:
    """Path of the record."""
    return files.data_dir() / "controls.json"


def beside(measurement: "Measurement", subject: "Subject") -> Estimates:
    """`Measurement.beside` of a model of the book: from the record, or measured if that does not match."""
    if not matches(measurement):
        return measurement.beside(subject)
    estimates = read()[measurement.claim.id]["estimates"]
    return {name: _interval(estimate) for name, estimate in estimates.items()}


def matches(measurement: "Measurement") -> bool:
    """Whether the record has a claim, measured with these weights, this text and this code."""
    row = read().get(measurement.claim.id, {})
    return row.get("made of") == made_of(measurement.function.__module__)


def row(measurement: "Measurement", estimates: Estimates) -> dict[str, Any]:
    """Row of the record."""
    as_json = {name: _as_json(estimate) for name, estimate in estimates.items()}
    return {"made of": made_of(measurement.function.__module__), "estimates": as_json}


def write(rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the record, a line for each claim."""
    lines = ",\n".join(
        f"{files.as_json(name)}: {files.as_json(fields, ensure_ascii=False)}"
        for name, fields in rows.items()
    )
    with files.atomic(path()) as temporary:
        temporary.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    read.cache_clear()


@cache
def read() -> dict[str, dict[str, Any]]:
    """Record, by claim; empty where there is no file.

    Raises:
        UserError: if the file is damaged.
    """
    if not path().is_file():
        return {}
    try:
        return json.loads(path().read_text(encoding="utf-8"))
    except ValueError as error:
        raise files.damaged(path(), f"is not JSON: {error}") from error


@cache
def made_of(module: str) -> str:
    """Hash of weights, text and packages, and of the code that a module measures with."""
    root, package = files.data_dir().parent, Path(__file__).parents[1]
    modules = dependencies.modules([f"import {module}"], _modules())
    measuring = [
        file
        for file in modules
        if file.parent.relative_to(package).parts[:1] in _FOLDERS and file.name not in BESIDE
    ]
    patterns = (*dependencies.DATA_FILES, *dependencies.READ_BY.values())
    data = {
        file
        for pattern in patterns
        if pattern.startswith(("data/", "requirements"))
        for file in root.glob(pattern)
        if file.is_file()
    }
    hashes = [*map(_code, measuring), *map(_sha256, sorted(data))]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]


@cache
def _code(file: Path) -> str:
    """Hash of a module's code, without its comments and docstrings, and the words of its claims."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "claim":
            node.args = node.args[:1]
            node.keywords = [keyword for keyword in node.keywords if keyword.arg not in _SAID]
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [part for part in body if not _is_text(part)]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


_SAID = {field.name for field in dataclasses.fields(Claim)} - {"of"} | {
    "above",
    "below",
    "moved_by",
}
_FOLDERS = {(folder,) for folder in MEASURES}
_modules = cache(dependencies.every_module)
_sha256 = cache(files.sha256)


def _as_json(estimate: Interval | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    if not estimate.n:
        return {"n": 0}
    return dataclasses.asdict(estimate) | {"draws": isinstance(estimate, Draws)}


def _interval(estimate: Mapping[str, Any] | None) -> Interval | None:
    if estimate is None:
        return None
    if not estimate["n"]:
        return NOTHING
    kind = Draws if estimate["draws"] else Interval
    return kind(estimate["mean"], estimate["low"], estimate["high"], estimate["n"])
