"""Two manifests side by side: what differs by more than `manifest.TOLERANCES` allow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from transformer_circuits.release.manifest import LEAST, PRECISION, tolerance
from transformer_circuits.release.numbers import STEPS, Shown


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
    yield from _of_figure(
        where, *(_said(of.get("why", ""), *of.get("ours", ())) for of in (was, came))
    )
    for group in ("seeds", "controls"):
        yield from _each(where, was.get(group, {}), came.get(group, {}), _of_estimate)


def _said(*texts: str) -> dict:
    """Sentences as the manifest keeps those of a figure: words, and numbers for themselves."""
    shown = Shown()
    for text in texts:
        shown.say(text)
    return shown.kept


def _of_estimate(where: str, was: Mapping, came: Mapping) -> Iterator[Difference]:
    yield from _same(f"{where}, n", was["n"], came["n"])
    within = tolerance(was)
    for part in ("mean", "low", "high"):
        yield from _near(f"{where}, {part}", [was[part]], [came[part]], within)


def _of_chapter(where: str, was: Mapping, came: Mapping) -> Iterator[Difference]:
    for group in ("figures", "checks"):
        yield from _each(where, was[group], came[group], _of_figure)


def _of_figure(where: str, was: Mapping, came: Mapping) -> Iterator[Difference]:
    yield from _same(f"{where}, words", was["words"], came["words"])
    for group, compare in (("printed", _printed), ("data", _series)):
        yield from _each(where, was.get(group, {}), came.get(group, {}), compare)


def _printed(where: str, was: str, came: str) -> Iterator[Difference]:
    """Numbers as they were printed, each with a tolerance of its own."""
    before, after = was.split(), came.split()
    if len(before) != len(after):
        yield Difference(where, f"{len(before)} numbers", f"{len(after)} numbers")
        return
    for place, (old, new) in enumerate(zip(before, after, strict=True), 1):
        value = float(old)
        decimals = len(old.partition(".")[2]) if "e" not in old else 0
        unit = 10.0**-decimals if decimals else 0.0
        within = max(unit, PRECISION * abs(value), LEAST)
        if not abs(float(new) - value) <= within * (1 + 1e-9):  # NaN is not near anything
            yield Difference(f"{where}, number {place}", old, new, within)


def _series(where: str, was: list | dict, came: list | dict) -> Iterator[Difference]:
    """A series of data, or its summary."""
    step = 1.0 if where.endswith(STEPS) else 0.0
    if isinstance(was, list) and isinstance(came, list):
        yield from _near(where, was, came, max(_within(was), step))
        return
    old, new = (of if isinstance(of, dict) else {"n": len(of)} for of in (was, came))
    if old["n"] != new["n"]:
        yield Difference(where, f"{old['n']} numbers", f"{new['n']} numbers")
    else:
        within = max(_within(old["range and mean"]), _last_place(old["some"]), step)
        for part in ("range and mean", "some"):
            yield from _near(f"{where}, {part}", old[part], new[part], within)


def _within(values: Sequence[float]) -> float:
    largest = max(map(abs, values), default=0.0)
    return max(PRECISION * largest, _last_place(values), LEAST)


def _last_place(values: Sequence[float]) -> float:
    """One unit of the last decimal place that some of the numbers have; 0 of whole numbers."""
    decimals = max(
        (len(f"{value:.9f}".rstrip("0").partition(".")[2]) for value in values), default=0
    )
    return 10.0**-decimals if decimals else 0.0


def _near(
    where: str, was: Sequence[float], came: Sequence[float], within: float
) -> Iterator[Difference]:
    if len(was) != len(came):
        yield Difference(where, f"{len(was)} numbers", f"{len(came)} numbers")
        return
    for place, (old, new) in enumerate(zip(was, came, strict=True), 1):
        if not abs(new - old) <= within * (1 + 1e-9):
            name = f"{where}, number {place}" if len(was) > 1 else where
            yield Difference(name, old, new, within)
