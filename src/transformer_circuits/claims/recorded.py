"""Results that are measured once and read from then on, while weights, text and code are the same.

Controls and plants of a rule: `data/controls.json`, made by `python -m tools controls` and by `make
reproduce`; a claim whose row does not match is measured again. And what several chapters need of one
model of the book (`for_all_chapters`): measured by the first, under `data/cache/kept/` for the rest.
"""

import ast
import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import safetensors
import safetensors.torch
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.book import dependencies
from transformer_circuits.claims import subjects
from transformer_circuits.claims.claim import Claim
from transformer_circuits.claims.rules import NOTHING, Draws, Interval
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.training import checkpoint

if TYPE_CHECKING:
    from transformer_circuits.claims.measurement import Measurement

MEASURES = ("analysis", "claims", "experiments", "model", "text", "training")
"""Folders of the package whose modules a measured number of the book's models depends on."""
BESIDE = ("claim.py", "findings.py", "recorded.py", "general.py")
"""Modules among them that only tell or keep results, or are for other people's models."""
Estimates = Mapping[str, Interval | None]
"""Values by the name in verdicts; None for one that cannot be measured."""
Made = dict[str, Tensor]
MADE_OF = "made of"
"""Key of the hash of a result's inputs, in both files."""


def path() -> Path:
    """Path of the record."""
    return files.data_dir() / "controls.json"


def beside(measurement: "Measurement", subject: Subject) -> Estimates:
    """`Measurement.beside` of a model of the book: from the record, or measured if that does not match."""
    if not matches(measurement):
        return measurement.beside(subject)
    estimates = read()[measurement.claim.id]["estimates"]
    return {name: _interval(estimate) for name, estimate in estimates.items()}


def matches(measurement: "Measurement") -> bool:
    """True if the record has a claim, measured with these weights, this text and this code."""
    row = read().get(measurement.claim.id, {})
    return row.get(MADE_OF) == made_of(measurement.function.__module__)


def row(measurement: "Measurement", estimates: Estimates) -> dict[str, Any]:
    """Row of a claim in the record: the hash of what it is made of (`made_of`), and its estimates by name."""
    as_json = {name: _as_json(estimate) for name, estimate in estimates.items()}
    return {MADE_OF: made_of(measurement.function.__module__), "estimates": as_json}


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


def for_all_chapters(make: Callable[[Subject], Made]) -> Callable[[Subject], Made]:
    """Wrap a function of a subject so that a build calls it once for each model of the book, as stored.

    For other subjects it is called once each, see `subjects.once`.
    """

    @subjects.once
    @functools.wraps(make)
    def made(subject: Subject) -> Made:
        folder = checkpoint.models_dir() / subject.name  # of an absolute name, the reader's own
        if folder.parent != checkpoint.models_dir() or not folder.is_dir():
            return make(subject)
        path = files.cache_dir() / "kept" / f"{make.__module__}.{make.__name__}.{subject.name}"
        key = _inputs(make, subject)
        result = _read(path, key)
        if result is None:
            result = {name: values.contiguous() for name, values in make(subject).items()}
            with files.atomic(path) as temporary:
                safetensors.torch.save_file(result, temporary, {MADE_OF: key})
        return result

    return made


def _read(path: Path, key: str) -> Made | None:
    """Result that is kept there; None if there is none, or its inputs were others."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            if (file.metadata() or {}).get(MADE_OF) == key:
                return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError):
        pass  # there is none, or it is damaged: it is made anew
    return None


def _inputs(make: Callable, subject: Subject) -> str:
    """Hash of the inputs of a function of a subject."""
    of = made_of(make.__module__), subject.longest, subject.instead, subject.model
    digest = hashlib.sha256(repr((of, subject.model.config)).encode())
    for values in (*subject.model.parameters(), *subject.model.buffers(), subject.text):
        digest.update(values.detach().contiguous().numpy())
    return digest.hexdigest()


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
