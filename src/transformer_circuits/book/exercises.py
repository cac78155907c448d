"""Exercises that tell right from wrong without holding the answer.

Every exercise of a chapter is one `Exercise`. Its test is a property of the answer, or a
computation of it in another way by the library; and it has to refuse wrong answers in front of the
reader. The type of an answer (list, array, tensor, NumPy number) does not matter: `as_tensor`,
`agrees` and `whole_number` convert it.
"""

import copy
import math
import reprlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.overrides import TorchFunctionMode

from transformer_circuits.book import fails

NONSENSE = (None, "", (), object(), True, False)
"""Answers that no exercise may accept."""


class Exercise:
    """Question whose answer is tested by `right`, a function of the answer.

    `right` gets a single number as a Python number, whatever its type was. If it gets a function,
    that function works on copies of its arguments, so that it cannot change them. `wrong`: typical
    wrong answers. Each is tried when the exercise is made, and must be refused. An answer on which
    `right` raises an error is wrong, too.

    Raises:
        ValueError: if there are not at least two wrong answers; in a build also if `right` accepts
            one of them, which shows a cross elsewhere, see `book.fails`.
    """

    def __init__(self, right: Callable[[Any], Any], *, wrong: Sequence[Any]):
        if len(wrong) < 2:
            raise ValueError(f"{len(wrong)} wrong answers given but there must be at least 2")
        self._right = right
        accepted = [answer for answer in (*wrong, *NONSENSE) if self.accepts(answer)]
        if accepted:
            fails(ValueError(f"the exercise accepts wrong answers: {accepted}"))

    def accepts(self, answer: Any) -> bool:
        """True if the answer is right."""
        return self._tried(answer)[0]

    def _tried(self, answer: Any) -> tuple[bool, str]:
        """Truth of "the answer is right"; and the trouble, if it cannot even be used."""
        try:
            return bool(self._right(_on_copies(answer) if callable(answer) else _plain(answer))), ""
        except Exception as error:  # whatever an answer does, it is an answer, and a wrong one
            kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
            return False, f": {kind}{error}"

    def check(self, answer: Any) -> None:
        """Print whether a reader's answer is right.

        `...`, or a function that returns it, means: not answered yet.
        """
        returned = []

        def noted(*arguments):
            returned.append(answer(*arguments))
            return returned[-1]

        right, trouble = self._tried(noted if callable(answer) else answer)
        if answer is ... or any(value is ... for value in returned):
            print("… no answer yet")
        else:
            print("✓ right" if right else f"✗ not yet{trouble}")

    def solve(self, *answers: Any) -> None:
        """Test the book's own answers with the exercise, or several that are equally right.

        Raises:
            AssertionError: in a build, if one is wrong, which shows a cross elsewhere, see `book.fails`.
        """
        refused = [answer for answer in answers if not self.accepts(answer)]
        for answer in refused:
            fails(AssertionError(f"the solution is refused by its own exercise: {answer!r}"))
        if not refused:
            print("✓ right")


def as_tensor(answer: Any, shape: Sequence[int]) -> Float64[Tensor, "..."]:
    """Answer in float64: from a tensor, an array, or lists of numbers or of either.

    Raises:
        ValueError: in words, if it is no such thing, not real, or not of this shape.
    """
    needed = f"numbers of shape {list(shape)} are needed" if shape else "a number is needed"
    try:
        made = answer if isinstance(answer, Tensor) else torch.from_numpy(np.array(answer))
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{needed} but got {reprlib.repr(answer)}") from None
    if made.is_complex() and bool(made.imag.abs().max() <= 1e-4 * made.abs().max()):
        made = made.real
    if not shape and made.numel() == 1:
        made = made.reshape(())
    if made.shape != tuple(shape) or made.is_complex():
        kind = "complex numbers" if made.is_complex() else "numbers"
        raise ValueError(f"{needed} but got {kind} of shape {list(made.shape)}")
    return made.detach().cpu().double()


def agrees(answer: Any, right: float | int | Float[Tensor, "..."], tolerance: float = 1e-4) -> bool:
    """True if the answer is `right`, entry by entry, to `tolerance` times the largest of its entries.

    The default passes results in float32 and no other value.

    Raises:
        ValueError: if the answer is not numbers of the same shape.
    """
    wanted = torch.as_tensor(right, dtype=torch.float64)
    off = (as_tensor(answer, wanted.shape) - wanted).abs().max()
    return bool(off <= tolerance * wanted.abs().max())


def whole_number(answer: Any, below: int | None = None) -> int:
    """Answer as an int, if it is a whole number of any type; with `below`, one of 0, …, below - 1.

    Raises:
        ValueError: if it is something else: a fraction, a truth value, too large, or negative.
    """
    number = _plain(answer)
    is_whole = type(number) in (int, float) and float(number).is_integer()
    if not is_whole or (below is not None and not 0 <= number < below):
        needed = "a whole number" if below is None else f"a whole number from 0 to {below - 1}"
        raise ValueError(f"{needed} is needed but got {reprlib.repr(answer)}")
    return int(number)


def watched(function: Callable[..., Any], side: int) -> Callable[..., Any]:
    """Function that raises a ValueError when the given one builds a matrix that is too large.

    Too large is a tensor with more than `side` rows and more than `side` columns. Matrices built in
    NumPy are not seen, so leaving PyTorch raises a ValueError, too.
    """

    def under_watch(*arguments):
        with _Watch(side):
            return function(*arguments)

    return under_watch


class _Watch(TorchFunctionMode):
    def __init__(self, side: int):
        super().__init__()
        self.side = side

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for part in made if isinstance(made, tuple) else (made,):
            if isinstance(part, np.ndarray):
                raise ValueError("what NumPy builds is not seen here: stay with tensors")
            if isinstance(part, Tensor) and sum(n > self.side for n in part.shape) > 1:
                raise ValueError(f"this builds a matrix {list(part.shape)}, which is too large")
        return made


def _plain(value: Any) -> Any:
    """Tensor or array of one entry as Python's own number or truth value; other values as they are."""
    held = isinstance(value, Tensor | np.ndarray | np.generic)
    return value.item() if held and math.prod(value.shape) == 1 else value


def _on_copies(function: Callable[..., Any]) -> Callable[..., Any]:
    """Function that calls the given one with copies of its arguments and returns single numbers plainly."""

    def apart(*arguments):
        copies = [x.clone() if isinstance(x, Tensor) else copy.deepcopy(x) for x in arguments]
        return _plain(function(*copies))

    return apart
