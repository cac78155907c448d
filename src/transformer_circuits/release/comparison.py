"""Two manifests side by side: what differs by more than `manifest.TOLERANCES` allow."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer_circuits.release.manifest import LEAST, PRECISION, tolerance

_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\d)")
_HEAD = re.compile(r"(?<!\()(?<!to )[01]\.[0-7](?! to)")
"""A head is called by its layer and its place there, 1.4, and that is no number. An end of an
interval, (0.5 to 0.7), is."""


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was."""

    name: str
    """Which, from the whole to the part: chapter, figure, column, place."""
    committed: object
    """None of what was not there; so is `now`."""
    now: object
    tolerance: float = 0.0
    """By how much the two may differ; 0 of what must be the same."""

    def __str__(self) -> str:
        if self.committed is None:
            return f"{self.name}: came out, but is not in the committed manifest"
        if self.now is None:
            return f"{self.name}: is in the committed manifest, but did not come out"
        must = f"may differ by {self.tolerance:.2g}" if self.tolerance else "must be the same"
        return f"{self.name}: {self.committed} was committed, {self.now} came out; {must}"


Compare = Callable[[str, object, object], Iterator[Difference]]
"""Says what differs in two things of a name."""


def differences(committed: Mapping, now: Mapping) -> list[Difference]:
    """Where two manifests differ beyond tolerance: files, then models, claims and chapters.

    Machine, versions and minutes may differ.
    """
    return [
        *_each("file", committed["files"], now["files"], _same),
        *_each("model", committed["models"], now["models"], _same),
        *_each("claim", committed["claims"], now["claims"], _of_claim),
        *_each("", committed["chapters"], now["chapters"], _of_chapter),
    ]


def n_compared(committed: Mapping) -> dict[str, int]:
    """How many files, claims, figures and checks a manifest has."""
    chapters = committed["chapters"].values()
    return {
        "files": len(committed["files"]),
        "claims": len(committed["claims"]),
        "figures and tables": sum(len(of["figures"]) for of in chapters),
        "checks": sum(len(of["checks"]) for of in chapters),
    }


def _each(where: str, was: Mapping, came: Mapping, compare: Compare) -> Iterator[Difference]:
    """What differs in what both have by a name; and what only one of them has."""
    for name in dict.fromkeys([*was, *came]):
        whole = ": ".join(filter(None, (where, name)))
        if name in was and name in came:
            yield from compare(whole, was[name], came[name])
        else:
            yield Difference(whole, was.get(name), came.get(name))


def _same(where: str, was: object, came: object) -> Iterator[Difference]:
    if was != came:
        yield Difference(where, was, came)


def _of_claim(where: str, was: Mapping, came: Mapping) -> Iterator[Difference]:
    yield from _same(where, was["verdict"], came["verdict"])
    for part in ("kind", "chapter"):
        yield from _same(f"{where}, {part}", was.get(part), came.get(part))
    yield from _sentence(where, *("\n".join([of.get("why", ""), *of.get("ours", ())])
                                  for of in (was, came)))  # fmt: skip
    for group in ("seeds", "controls"):
        yield from _each(where, was.get(group, {}), came.get(group, {}), _of_estimate)


def _of_estimate(where: str, was: Mapping, came: Mapping) -> Iterator[Difference]:
    yield from _same(f"{where}, n", was["n"], came["n"])
    for part in ("mean", "low", "high"):
        yield from _near(f"{where}, {part}", was[part], came[part], tolerance(was))


def _of_chapter(where: str, was: Mapping, came: Mapping) -> Iterator[Difference]:
    for group in ("figures", "checks"):
        yield from _each(where, was[group], came[group], _of_record)


def _of_record(where: str, was: Mapping, came: Mapping) -> Iterator[Difference]:
    """What the manifest keeps of a figure, a table or a check."""
    for part in ("digits", "units"):
        yield from _same(f"{where}, {part}", was.get(part), came.get(part))
    yield from _sentence(where, was.get("text", ""), came.get("text", ""))
    shown = 10.0 ** -was["digits"] if "digits" in was else 0.0

    def numbers(name: str, before: object, after: object) -> Iterator[Difference]:
        yield from _numbers(name, before, after, shown)

    for group, compare in (("words", _words), ("numbers", numbers)):
        yield from _each(where, was.get(group, {}), came.get(group, {}), compare)


def _words(where: str, was: Sequence[str], came: Sequence[str]) -> Iterator[Difference]:
    yield from _sentence(where, "\n".join(was), "\n".join(came))


def _sentence(where: str, was: str, came: str) -> Iterator[Difference]:
    """The same words, and each number near to what was printed before."""
    (said, before), (says, after) = map(_apart, (was, came))
    yield from _same(f"{where}, words", said, says)
    if said == says:
        decimals = [len(old.partition(".")[2]) if "e" not in old else 0 for old in before]
        units = [10.0**-n if n else 0.0 for n in decimals]
        old, new = (np.array([*map(float, texts)]) for texts in (before, after))
        yield from _near(where, old, new, np.maximum(units, PRECISION * abs(old)))


def _apart(text: str) -> tuple[str, list[str]]:
    """A text with # for every number, and the numbers."""
    numbers = []

    def take(found: re.Match) -> str:
        if _HEAD.match(found.string, found.start()) and len(found[0]) == 3:
            return found[0]
        numbers.append(found[0].replace("−", "-"))
        return "#"

    return _NUMBER.sub(take, text), numbers


def _numbers(where: str, was: object, came: object, shown: float) -> Iterator[Difference]:
    """A number, an array or a summary, see `record.kept`; `shown`: a unit of its last decimal."""
    full = [not isinstance(each, Mapping) for each in (was, came)]
    if all(full):
        yield from _near(where, was, came, max(PRECISION * _largest(was), shown))
    elif any(full):
        yield Difference(where, *("numbers in full" if each else "a summary" for each in full))
    elif was["shape"] != came["shape"]:
        yield Difference(where, f"shape {was['shape']}", f"shape {came['shape']}")
    else:
        within = max(PRECISION * _largest([was["min"], was["max"]]), shown)
        for part in ("mean", "sd", "min", "max", "some"):
            yield from _near(f"{where}, {part}", was[part], came[part], within)


def _largest(values: object) -> float:
    return float(np.nanmax(np.abs(np.array(values, dtype=float)), initial=0.0))


def _near(
    where: str, was: object, came: object, within: float | np.ndarray
) -> Iterator[Difference]:
    """The first of some numbers that is too far off."""
    old, new = (np.array(values, dtype=float) for values in (was, came))
    if old.shape != new.shape:
        yield Difference(where, f"shape {old.shape}", f"shape {new.shape}")
        return
    within = np.broadcast_to(np.maximum(within, LEAST), old.shape)
    near = abs(new - old) <= within * (1 + 1e-9)  # NaN is near to nothing
    far = ~(near | (np.isnan(old) & np.isnan(new)))
    if far.any():
        place = int(far.argmax())
        name = f"{where}, number {place + 1}" if old.size > 1 else where
        name += f" (and {far.sum() - 1} of its other numbers)" if far.sum() > 1 else ""
        yield Difference(name, *(each.flat[place].item() for each in (old, new, within)))
