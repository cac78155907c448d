"""Names that come again: which tokens of a line they are. `website/stage/names.js` finds the same."""

from collections.abc import Sequence

BEGIN = "◦"
"""Label of the token that opens every line."""


def bare(label: str) -> str:
    """A token's label without the mark of the space before it.

    >>> bare("␣king"), bare("al"), bare("␣")
    ('king', 'al', '␣')
    """
    return label.removeprefix("␣") or label


def words(labels: Sequence[str]) -> list[range]:
    """The places of each word: a token, and the tokens after it that go on with letters.

    >>> words(["◦", "␣V", "al", ","])
    [range(0, 1), range(1, 3), range(3, 4)]
    """
    starts = [
        place
        for place, label in enumerate(labels)
        if place < 2 or not (label[:1].isalpha() and labels[place - 1][-1:].isalpha())
    ]
    return [range(*both) for both in zip(starts, [*starts[1:], len(labels)], strict=True)]


def again(ids: Sequence[int], labels: Sequence[str]) -> tuple[int, int, int] | None:
    """Places where the last name begins that came before, where it ends, and where it began the first time.

    A name is a word of two tokens or more that stood on the line before, in the same tokens, but for
    the space before it. Where no word did, it is what ends the line, the more tokens the better, two at least. None if there
    is no such thing either. The place where it ends is the first that is not its own.
    """

    def earlier(begin: int, end: int) -> int | None:
        n = end - begin
        for k in range(1, begin - n + 1):
            if (
                bare(labels[k]) == bare(labels[begin])
                and ids[k + 1 : k + n] == ids[begin + 1 : end]
            ):
                return k
        return None

    for word in reversed(words(labels)[1:]):
        if len(word) > 1 and (first := earlier(word.start, word.stop)) is not None:
            return word.start, word.stop, first
    for begin in range(2, len(ids) - 1):
        if (first := earlier(begin, len(ids))) is not None:
            return begin, len(ids), first
    return None


def cut_differently(labels: Sequence[str]) -> bool:
    """True if the last word has the letters of an earlier one, or of its beginning, in other tokens.

    No head that looks for a token then finds where it stood.
    """
    spelt = [[bare(labels[place]) for place in word] for word in words(labels)[1:]]
    spelt = [word for word in spelt if word[0][:1].isalpha()]
    if not spelt:
        return False
    *before, last = spelt
    spelled = "".join(last)
    same = [
        word
        for word in before
        if "".join(word) == spelled
        or (word[0] == last[0] and len(last) > 1 and "".join(word).startswith(spelled))
    ]
    return bool(same) and all(word[: len(last)] != last for word in same)
