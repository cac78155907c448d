"""What chapters call besides the analysis, and how chapters are executed.

Of the package it imports `files` and `record` alone.
"""

import html
import sys
from collections.abc import Sequence
from dataclasses import dataclass

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
class _Passed:
    """A finding that held. Jupyter shows it with a tick, and its output's metadata has its record."""

    record: Record

    def __str__(self) -> str:
        ours = self.record.text
        return f"✓ {self.record.title}" + (f": {ours}" if ours else "")

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        shown = {
            "text/html": f'<p class="claim">{html.escape(str(self))}</p>',
            "text/plain": str(self),
        }
        return shown, self.record.metadata


def check(
    statement: str,
    condition,
    *,
    claim: str | None = None,
    ours: Figure | None = None,
) -> None:
    """State a finding and show that it holds, with our figure.

    With `claim`, the id of a row of `data/claims.toml`, it also counts on the scorecard. That is for
    claims about any weights and about what was built; the scorecard refuses a check for one about
    trained models, which its rule decides. `ours` is our figure, in words or numbers; several
    numbers are those of several seeds, the book's first.

    Raises:
        AssertionError: with the statement, if it does not hold: the chapter, the test suite and
            the build of the book stop there.
        ValueError: if the condition is not one truth value (an array, say).
    """
    if isinstance(condition, torch.Tensor) and condition.numel() != 1:
        raise ValueError(
            f"check takes one truth value but got {tuple(condition.shape)}; use .all()"
        )
    figure = "" if ours is None else in_words(ours)
    if not bool(condition):
        raise AssertionError(f"does not hold: {statement}" + (f" ({figure})" if figure else ""))
    numbers = {} if ours is None or isinstance(ours, str) else {"ours": _floats(ours)}
    record = Record("check", statement, figure, numbers, digits=_DIGITS, claim=claim or "")
    passed = _Passed(record)
    if "IPython" in sys.modules:
        from IPython.display import display

        display(passed)
    else:
        print(passed)


def _floats(ours: float | torch.Tensor | Sequence) -> float | list[float]:
    return [float(value) for value in ours] if isinstance(ours, Sequence) else float(ours)


def close(left: torch.Tensor, right: torch.Tensor, tolerance: float = 1e-9) -> bool:
    """Whether two arrays of one shape agree to `tolerance`, absolutely, in every entry.

    Raises:
        ValueError: if the shapes differ: broadcasting would hide an error.
    """
    if left.shape != right.shape:
        raise ValueError(f"shapes differ: {tuple(left.shape)} and {tuple(right.shape)}")
    return bool((left - right).abs().max() <= tolerance)
