"""What chapters call besides the analysis, and how chapters are executed.

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
    """The same start for every chapter: seed, plain printing, two threads at most.

    From here on `exercises` can be imported, the modules beside the chapters that check answers:
    in Colab, and in an executed copy, a chapter does not lie beside them.
    """
    chapters = str(files.data_dir().parent / "chapters")
    if chapters not in sys.path:
        sys.path.append(chapters)
    torch.manual_seed(seed)
    torch.set_printoptions(precision=3, sci_mode=False, linewidth=88)
    torch.set_num_threads(min(2, torch.get_num_threads()))


Figure = str | float | int | torch.Tensor | Sequence[float | int | torch.Tensor]
"""A figure of ours: in words, as a number (a 0-dim tensor, too), or one number per seed."""
_DIGITS = 2
"""The decimals of a figure, as it is shown."""


def in_words(ours: Figure) -> str:
    """A figure as it is shown; of several seeds: the book's, then their range."""
    if isinstance(ours, str):
        return ours
    if isinstance(ours, Sequence):
        of_seeds = [float(value) for value in ours]
        first, least, most = map(in_words, (of_seeds[0], min(of_seeds), max(of_seeds)))
        return f"{first} (seeds: {least} to {most})"
    return f"{round(float(ours), _DIGITS) + 0.0:.{_DIGITS}f}"  # + 0.0: no sign before a zero


@dataclass(frozen=True)
class _Line:
    """A line of a page: a tick and a finding that held, or a cross and what does not hold."""

    said: str
    metadata: Mapping[str, Any]
    """Its record, if it counts."""

    def __str__(self) -> str:
        return self.said

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        shown = {
            "text/html": f'<p class="claim">{html.escape(self.said)}</p>',
            "text/plain": self.said,
        }
        return shown, {**self.metadata}


def _show(said: str, metadata: Mapping[str, Any]) -> None:
    line = _Line(said, metadata)
    if "IPython" in sys.modules:
        from IPython.display import display

        display(line)
    else:
        print(line)


def fails(error: AssertionError | ValueError) -> None:
    """Stop a build at what does not hold in a chapter; under a reader's hands show it, and go on.

    Whoever puts in another name, seed or text finds other things than the book did. A cross leaves no
    record, so that it counts nowhere.
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
    """State a finding and show whether it holds, with our figure.

    With `claim`, the id of a row of `data/claims.toml`, it also counts on the scorecard. That is for
    claims about any weights and about what was built; the scorecard refuses a check for one about
    trained models, which its rule decides. `ours` is our figure, in words or numbers; several
    numbers are those of several seeds, the book's first.

    Raises:
        AssertionError: in a build, with the statement, if it does not hold: the chapter and the test
            suite stop there. Elsewhere a cross is shown, see `fails`.
        ValueError: if the condition is not one truth value (an array, say).
    """
    shape = tuple(getattr(condition, "shape", ()))
    if math.prod(shape) != 1:
        raise ValueError(f"check takes one truth value but got {shape}; use .all()")
    figure = "" if ours is None else in_words(ours)
    if not bool(condition):
        said = f"does not hold: {statement}" + (f" ({figure})" if figure else "")
        needed = _needed(sys._getframe(1))
        return fails(AssertionError(said + (f"; it would need {needed}" if needed else "")))
    numbers = {} if ours is None or isinstance(ours, str) else {"ours": _floats(ours)}
    record = Record("check", statement, figure, numbers, digits=_DIGITS, claim=claim or "")
    _show(f"✓ {statement}" + (f": {figure}" if figure else ""), record.metadata)


def _needed(cell: FrameType) -> str:
    """The condition of the call of `check` at which a cell has arrived, with the values of its sides.

    They are read from the source of the cell and computed again, so that no call has to hand them
    over; of a name, in what it was last assigned above. Empty where there is no source, or no
    comparison.
    """
    try:
        from executing import Source

        found = Source.executing(cell)
        condition = found.node.args[1]
        if isinstance(condition, ast.Name):
            *_, condition = (
                node.value
                for node in ast.walk(found.source.tree)
                if isinstance(node, ast.Assign) and node.lineno < found.node.lineno
                if ast.unparse(node.targets) == condition.id
            )
        said = ast.unparse(condition)
        sides = _Sides({**cell.f_globals, **cell.f_locals})
        needed = ast.unparse(sides.visit(ast.parse(said, mode="eval")))
        return "" if needed == said else needed
    except Exception:  # without it the cross says what does not hold, all the same
        return ""


class _Sides(ast.NodeTransformer):
    """Puts the values of both sides into every comparison, and into every `close`."""

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
"""In the text of an answer: the mark of a verdict, and the claim that it is of."""


@dataclass(frozen=True)
class Answer:
    """What a chapter comes to, in at most sixty words at its top, each mark a link to what decides it.

    A mark stands in brackets behind what rests on it, with the id of its claim: "[✓ gauge]". A test
    holds that it is what the rule came to when the book was last built.
    """

    text: str

    def __str__(self) -> str:
        return MARK.sub(r" \1", self.text)

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        link = "\u00a0" r'<a href="#claim-\2" title="decided below: \2">\1</a>'
        said = MARK.sub(link, html.escape(self.text, quote=False))
        shown = {"text/html": f'<p class="answer">{said}</p>', "text/plain": str(self)}
        return shown, Record("paragraph", "answer", str(self)).metadata


TOLERANCE = 1e-9
"""How far apart two entries may be that count as the same."""


def close(left: torch.Tensor, right: torch.Tensor, tolerance: float = TOLERANCE) -> bool:
    """Whether two arrays of one shape agree to `tolerance`, absolutely, in every entry.

    Raises:
        ValueError: if the shapes differ: broadcasting would hide an error.
    """
    if left.shape != right.shape:
        raise ValueError(f"shapes differ: {tuple(left.shape)} and {tuple(right.shape)}")
    return bool((left - right).abs().max() <= tolerance)
