"""Exercises that tell right from wrong without holding the answer.

Every exercise of a chapter is one `Exercise`. Its test is a property of the answer, or what the
library computes in another way; and it has to refuse wrong answers in front of the reader.
"""

from collections.abc import Callable, Sequence
from typing import Any

NONSENSE = (None, "", (), object())
"""Refused by every exercise that can tell anything."""


class Exercise:
    """A question whose answer is tested by `right`, a function of the answer.

    `wrong`: answers that others have given, or would: each is tried at once. An answer that makes
    `right` raise is wrong.

    Raises:
        ValueError: if there are not at least two wrong answers, or `right` accepts one of them.
    """

    def __init__(self, right: Callable[[Any], Any], *, wrong: Sequence[Any]):
        if len(wrong) < 2:
            raise ValueError(f"{len(wrong)} wrong answers given but there must be at least 2")
        self._right = right
        accepted = [answer for answer in (*wrong, *NONSENSE) if self.accepts(answer)]
        if accepted:
            raise ValueError(f"the exercise accepts wrong answers: {accepted}")

    def accepts(self, answer: Any) -> bool:
        """Whether the answer is right."""
        return self._tried(answer)[0]

    def _tried(self, answer: Any) -> tuple[bool, str]:
        """Whether the answer is right; and what went wrong, if it cannot even be used."""
        try:
            return bool(self._right(answer)), ""
        except Exception as error:  # whatever an answer does, it is an answer, and a wrong one
            return False, f": {type(error).__name__}: {error}"

    def check(self, answer: Any) -> None:
        """Say whether a reader's answer is right; `...`, or a function that returns it, is none yet."""
        returned = []

        def watched(*given):
            returned.append(answer(*given))
            return returned[-1]

        right, trouble = self._tried(watched if callable(answer) else answer)
        if answer is ... or any(value is ... for value in returned):
            print("… no answer yet")
        else:
            print("✓ right" if right else f"✗ not yet{trouble}")

    def solve(self, answer: Any) -> None:
        """Show the book's own answer.

        Raises:
            AssertionError: if it is wrong: the chapter and the test suite stop there.
        """
        if not self.accepts(answer):
            raise AssertionError(f"the solution is refused by its own exercise: {answer!r}")
        print("✓ right")
