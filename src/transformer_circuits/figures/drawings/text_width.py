"""Width of words, and breaking and cutting by it, without asking a browser."""

from transformer_circuits.figures.theme import SMALL, TEXT, Px


def width(words: str, size: Px = TEXT, *, mono: bool = False) -> float:
    """Width of a text in pixels, about as wide as DejaVu Sans, which is wider than most."""
    if mono:
        return 0.603 * size * len(words)
    return sum(map(_advance, words)) * size


def _advance(c: str) -> float:
    """Width of a character over the size of the type."""
    if c in "iljI.,:;'|! ()[]ft/‘’":
        return 0.4 if c in "()[]ft" else 0.33
    if c in "mwMW@%…→←∘×÷=+−–~":
        return 0.95 if c in "mwMW@%…" else 0.84
    return 0.72 if c.isupper() else 0.625


BEGIN = "◦"
"""Sign for the token that opens every line."""


def plain(label: str) -> str:
    """Text of a token as a person writes it, where spaces between tokens show the starts of words.

    >>> plain("␣king"), plain("<begin>"), plain("␣")
    ('king', '◦', '␣')
    """
    return BEGIN if label == "<begin>" else label.replace("␣", " ").strip() or label


def wrap(words: str, room: Px) -> list[str]:
    """Lines of a note no wider than the room, broken at spaces."""
    lines = [""]
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width(longer, SMALL) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def cut(token: str, room: Px, size: Px = TEXT) -> str:
    """Text of a token in the monospaced face, its end replaced by … if there is no room for all of it."""
    most = max(1, int(room / (0.603 * size)))
    return token if len(token) <= most else f"{token[: most - 1]}…"
