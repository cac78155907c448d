"""Reproduction, `make reproduce`: this machine's findings beside the repository's, within tolerances."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from tools import controls, manifest
from tools.manifest import LEAST, PRECISION
from transformer_circuits import files
from transformer_circuits.claims import recorded

MOST_LISTED = 100
"""Differences that are listed one by one; of more, only the number."""
_GROUPS = ("chapters", "figures", "checks", "numbers", "seeds", "controls", "other")
"""Levels of a manifest that a difference need not name."""
_LEFT_OUT = ("seconds", "tolerance")
"""Fields not compared: the seconds of a chapter, and the tolerance, which follows from its interval."""
_COUNTS = ("n", "digits", "shape", "step")
"""Whole numbers that must be the same."""
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\d)")
_HEAD = re.compile(r"(?<!\()(?<!to )[01]\.[0-7](?! to)")
"""Pattern of a head, called by its layer and its place there, 1.4, which is no number. An end of an
interval, (0.5 to 0.7), is one.
"""


def reproduce(root: Path, *, write: bool = False) -> str:
    """Compare the executed chapters with the committed manifest; returns the line that says they agree.

    This machine's own manifest is written to `manifest.REPRODUCED`. With `write`, or if none was
    committed yet, it is written into `results/`, too, and nothing is compared.
    """
    now, committed = manifest.made(), root / manifest.COMMITTED
    reproduced = root / manifest.REPRODUCED
    places = [reproduced, committed] if write or not committed.is_file() else [reproduced]
    for path in places:
        manifest.write(path, now)
    if committed in places:
        return f"written: {committed}"
    was = manifest.read(committed)
    try:
        differing = differences(was, now)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise files.damaged(committed, f"is not a manifest: {error!r}") from error
    if differing:
        n_more = len(differing) - MOST_LISTED
        rest = [f"and {n_more} more"] if n_more > 0 else []
        raise files.UserError(
            f"not as committed in {committed}; this machine's own is {reproduced}\n"
            + "\n".join([*differing[:MOST_LISTED], *rest])
            + f"\ndifferences beyond tolerance: {len(differing)}"
        )
    return f"reproduced: what came out agrees with {committed}, within its tolerances"


def require_same_controls() -> str:
    """Measure `data/controls.json` anew; return a line that it agrees, or raise an error with the
    differences.
    """
    was, now = controls.estimates(recorded.read()), {}
    for rows in controls.renewed(everything=True):
        now = controls.estimates(rows)
    if differing := [*_compared(("controls",), was, now, 0.0)]:
        raise files.UserError(
            f"not as committed in {recorded.path()}:\n" + "\n".join(differing[:MOST_LISTED])
        )
    return f"controls and plants of {len(now)} rules agree with {recorded.path()}"


def differences(committed: Mapping, now: Mapping) -> list[str]:
    """Differences of two manifests beyond tolerance, each named from the outer part to the inner.

    Machine, versions and seconds may differ.
    """
    parts = {"files": None, "claims": 0.0, "chapters": 0.0}
    return [
        line
        for part, within in parts.items()
        for line in _compared((part,), committed[part], now[part], within)
    ]


def _difference(where: tuple[str, ...], was: object, came: object, within: float = 0.0) -> str:
    must = f"may differ by {within:.2g}" if within else "must be the same"
    return f"{_name(where)}: {was} was committed, {came} came out; {must}"


def _name(where: tuple[str, ...]) -> str:
    return ": ".join(part for part in where if part not in _GROUPS)


def _compared(
    where: tuple[str, ...], was: object, came: object, within: float | None
) -> Iterator[str]:
    """Differences of two parts of a manifest beyond `within` and a thousandth.

    `within`: None if they must be the same.
    """
    if isinstance(was, Mapping) and isinstance(came, Mapping):
        inside = None if within is None else max(within, _within(was))
        for name in dict.fromkeys([*was, *came]):
            if name in _LEFT_OUT:
                continue
            if name not in was:
                yield f"{_name((*where, name))}: came out, but is not in the committed manifest"
            elif name not in came:
                yield f"{_name((*where, name))}: is in the committed manifest, but did not come out"
            else:
                exact = name in _COUNTS
                yield from _compared(
                    (*where, name), was[name], came[name], None if exact else inside
                )
    elif within is None:
        if was != came:
            yield _difference(where, was, came)
    elif (kinds := [_kind(was), _kind(came)]) == ["text", "text"]:
        yield from _sentences(
            where, *("\n".join([text] if isinstance(text, str) else text) for text in (was, came))
        )
    elif kinds == ["numbers", "numbers"]:
        largest = np.abs(np.nan_to_num(np.array(was, dtype=float))).max(initial=0.0)
        yield from _numbers(where, was, came, max(within, PRECISION * largest))
    else:
        yield _difference(where, *kinds)


def _kind(part: object) -> str:
    if isinstance(part, Mapping):
        return "a group"
    values = part if isinstance(part, list) else [part]
    return "text" if any(isinstance(value, str) for value in values) else "numbers"


def _within(part: Mapping) -> float:
    """Difference that the numbers in an interval, a summary or a record may have in any case."""
    if "low" in part:
        return manifest.tolerance(part)
    if "some" in part:
        return PRECISION * max(abs(part["min"]), abs(part["max"]))
    return 10.0 ** -part["digits"] if "digits" in part else 0.0


def _sentences(where: tuple[str, ...], was: str, came: str) -> Iterator[str]:
    """Difference of two texts: of their words, or of a number beyond what was printed before."""
    (old_words, before), (new_words, after) = map(_apart, (was, came))
    if old_words != new_words:
        yield _difference(where, old_words, new_words)
    else:
        places = [len(old.partition(".")[2]) if "e" not in old else 0 for old in before]
        units = np.array([10.0**-n if n else 0.0 for n in places])
        old, new = (np.array([*map(float, texts)]) for texts in (before, after))
        yield from _numbers(where, old, new, np.maximum(units, PRECISION * abs(old)))


def _apart(text: str) -> tuple[str, list[str]]:
    """Text with # for every number, and the numbers."""
    numbers = []

    def take(match: re.Match) -> str:
        if len(match[0]) == 3 and _HEAD.match(match.string, match.start()):
            return match[0]
        numbers.append(match[0].replace("−", "-"))
        return "#"

    return _NUMBER.sub(take, text), numbers


def _numbers(
    where: tuple[str, ...], was: object, came: object, within: float | np.ndarray
) -> Iterator[str]:
    """Difference of the first of some numbers that is too far off."""
    old, new = (np.array(values, dtype=float) for values in (was, came))
    if old.shape != new.shape:
        yield _difference(where, f"shape {old.shape}", f"shape {new.shape}")
        return
    within = np.broadcast_to(np.maximum(within, LEAST), old.shape)
    far = ~np.isclose(new, old, rtol=0, atol=within * (1 + 1e-9), equal_nan=True)
    if far.any():
        k = int(far.argmax())
        at = [f"number {k + 1} of {old.size}, with {far.sum() - 1} others"] if old.size > 1 else []
        yield _difference((*where, *at), *(values.flat[k].item() for values in (old, new, within)))
