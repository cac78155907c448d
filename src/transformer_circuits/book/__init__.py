"""Functions for chapters besides the analysis, and the execution of chapters.

Of the package it imports `files` and `record` alone.
"""

import ast
import html
import math
import os
import re
import reprlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from transformer_circuits import files
from transformer_circuits.record import Record


def setup(seed: int = 0) -> None:
    """Set the same start for every chapter: seed, plain printing, two threads at most.

    From here on `exercises` can be imported, the modules beside the chapters that check answers: in
    Colab, and in an executed copy, a chapter does not lie beside them.
    """
    chapters = str(files.data_dir().parent / "chapters")
    if chapters not in sys.path:
        sys.path.append(chapters)
    torch.manual_seed(seed)
    torch.set_printoptions(precision=3, sci_mode=False, linewidth=88)
    torch.set_num_threads(min(2, torch.get_num_threads()))


Figure = str | float | int | torch.Tensor | Sequence[float | int | torch.Tensor]
"""Figure of ours: in words, as a number (a 0-dim tensor, too), or one number per seed."""
_DIGITS = 2
"""Decimals of a figure, as it is shown."""


def in_words(ours: Figure) -> str:
    """Text of a figure; of several seeds: the book's, then their range."""
    if isinstance(ours, str):
        return ours
    if isinstance(ours, Sequence):
        of_seeds = [float(value) for value in ours]
        first, least, most = map(in_words, (of_seeds[0], min(of_seeds), max(of_seeds)))
        return f"{first} (seeds: {least} to {most})"
    return f"{round(float(ours), _DIGITS) + 0.0:.{_DIGITS}f}"  # + 0.0: no sign before a zero


@dataclass(frozen=True)
class _Line:
    """Line of a page: a tick and a finding that held, or a cross and a statement that does not."""

    text: str
    metadata: Mapping[str, Any]
    """Record of the line, if it counts."""

    def __str__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        shown = {
            "text/html": f'<p class="claim">{html.escape(self.text)}</p>',
            "text/plain": self.text,
        }
        return shown, {**self.metadata}


def _show(text: str, metadata: Mapping[str, Any]) -> None:
    line = _Line(text, metadata)
    if "IPython" in sys.modules:
        from IPython.display import display

        display(line)
    else:
        print(line)


def fails(error: AssertionError | ValueError) -> None:
    """Raise an error in a build; under a reader's hands show it, and go on.

    A reader who puts in another name, seed or text finds other things than the book did. A cross
    leaves no record, so that it counts nowhere.
    """
    if os.environ.get(files.IN_BOOK):
        raise error
    _show(f"✗ {error}", {})


def check(
    statement: str,
    condition,
    *,
    claim: str | None = None,
    ours: Figure | None = None,
) -> None:
    """Show a finding with a tick if it holds, and our figure.

    With `claim`, the id of a row of `data/claims.toml`, it also counts on the scorecard. That is for
    claims about any weights and about what was built; the scorecard refuses a check for one about
    trained models, which its rule decides. `ours` is our figure, in words or numbers; several
    numbers are those of several seeds, the book's first.

    Raises:
        AssertionError: in a build, with the statement, if it does not hold: the chapter and the test
            suite stop there. Elsewhere a cross is shown, see `fails`.
        ValueError: if the condition is not one truth value (an array, say, or a number).
    """
    shape = tuple(getattr(condition, "shape", ()))
    if math.prod(shape) != 1:
        raise ValueError(f"check takes one truth value but got {shape}; use .all()")
    kind = str(getattr(condition, "dtype", type(condition).__name__)).removeprefix("torch.")
    if kind != "bool":  # of Python, NumPy or PyTorch
        raise ValueError(
            f"check takes a truth value, such as of a comparison, but got {condition!r}"
        )
    figure = "" if ours is None else in_words(ours)
    if not bool(condition):
        failure = f"does not hold: {statement}" + (f" ({figure})" if figure else "")
        needed = _needed(sys._getframe(1))
        return fails(AssertionError(failure + (f"; it would need {needed}" if needed else "")))
    numbers = {} if ours is None or isinstance(ours, str) else {"ours": _floats(ours)}
    record = Record("check", statement, figure, numbers, digits=_DIGITS, claim=claim or "")
    _show(f"✓ {statement}" + (f": {figure}" if figure else ""), record.metadata)


def _needed(cell: FrameType) -> str:
    """Condition of the running call of `check` in a cell, with the values of its sides.

    They are read from the source of the cell and computed again, so that no call has to pass them;
    a name stands for its last assignment above. Empty where there is no source, or no comparison.
    """
    try:
        from executing import Source

        running = Source.executing(cell)
        condition = running.node.args[1]
        if isinstance(condition, ast.Name):
            *_, condition = (
                node.value
                for node in ast.walk(running.source.tree)
                if isinstance(node, ast.Assign) and node.lineno < running.node.lineno
                if ast.unparse(node.targets) == condition.id
            )
        source = ast.unparse(condition)
        sides = _Sides({**cell.f_globals, **cell.f_locals})
        needed = ast.unparse(sides.visit(ast.parse(source, mode="eval")))
        return "" if needed == source else needed
    except Exception:  # without it the cross says what does not hold, all the same
        return ""


class _Sides(ast.NodeTransformer):
    """Transformer that puts the values of both sides into every comparison, and into every `close`."""

    def __init__(self, names: dict[str, Any]):
        self.names = names

    def _value(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "check", "eval"), self.names)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [ast.Name(_short(self._value(side))) for side in (node.left, *node.comparators)]
        return ast.Compare(sides[0], node.ops, sides[1:])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self._value(node.func) is not close:
            return node
        left, right, *tolerance = (self._value(side) for side in node.args)
        sides = _short((left - right).abs().max()), _short(*tolerance or [TOLERANCE])
        return ast.Name(" <= ".join(sides))


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        value = value.tolist() if value.numel() < 9 else f"{len(value)} rows"
    if isinstance(value, list) and len(value) < 9:
        return f"[{', '.join(map(_short, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else reprlib.repr(value)


def _floats(ours: float | torch.Tensor | Sequence) -> float | list[float]:
    return [float(value) for value in ours] if isinstance(ours, Sequence) else float(ours)


MARK = re.compile(r" ?\[(\S) ([a-z0-9-]+)\]")
"""Pattern of the mark of a verdict in an answer, with the id of its claim."""


@dataclass(frozen=True)
class Answer:
    """Answer of a chapter, in at most sixty words at its top, each mark a link to its decision.

    A mark stands in brackets behind the words that rest on it, with the id of its claim: "[✓
    gauge]". A test holds it to the rule's verdict when the book was last built.
    """

    text: str

    def __str__(self) -> str:
        return MARK.sub(r" \1", self.text)

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        link = "\u00a0" r'<a href="#claim-\2" title="decided below: \2">\1</a>'
        marked = MARK.sub(link, html.escape(self.text, quote=False))
        shown = {"text/html": f'<p class="answer">{marked}</p>', "text/plain": str(self)}
        return shown, Record("paragraph", "answer", str(self)).metadata


TOLERANCE = 1e-9
"""Largest difference of two entries that count as the same."""


def close(left: torch.Tensor, right: torch.Tensor, tolerance: float = TOLERANCE) -> bool:
    """True if two arrays of one shape agree to `tolerance`, absolutely, in every entry.

    Raises:
        ValueError: if the shapes differ: broadcasting would hide an error.
    """
    if left.shape != right.shape:
        raise ValueError(f"shapes differ: {tuple(left.shape)} and {tuple(right.shape)}")
    return bool((left - right).abs().max() <= tolerance)
