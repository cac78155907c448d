"""Conditions of marked sentences: few kinds, each decided here and, on whatever state is shown, in the
page (`website/stage/marks.js`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from transformer_circuits.figures.values import percent
from transformer_circuits.stage import names
from transformer_circuits.stage.reading import Reading, of_label, two_layers


class Verdict(NamedTuple):
    """Outcome of a condition for one reading, with the compared value and its bound."""

    ok: bool | None
    """True if it holds; None where it does not apply: a head is off or not in this model, or a token not
    on the line."""
    value: float | None = None
    """Value that was compared: a share from 0 to 1, or a rank."""
    bound: float | None = None
    says: str = ""
    """Both in words: "43 %, should be above 50 %"; or why it does not apply."""


@dataclass(frozen=True)
class _Bounded:
    """A value and the bound on one side of it."""

    above: float | None
    below: float | None

    def _compared(self, values: list[float]) -> Verdict:
        """The value of several that is nearest to breaking the bound, or breaks it most."""
        if self.above is not None:
            value, bound, side = min(values), self.above, "above"
            ok = value > bound
        else:
            value, bound, side = max(values), self.below, "below"
            ok = value < bound
        return Verdict(ok, value, bound, f"{percent(value)}, should be {side} {percent(bound)}")

    @property
    def _bound(self) -> dict[str, float]:
        bounds = {"above": self.above, "below": self.below}
        return {side: bound for side, bound in bounds.items() if bound is not None}


EVERY, NONE, NEXT = "every piece", "no piece", "next"


@dataclass(frozen=True)
class Likely(_Bounded):
    """Condition on the probability or rank of tokens, predicted before they come; made by `likely`."""

    of: str
    rank: int | None

    @property
    def json(self) -> dict[str, Any]:
        """Condition as a JSON-ready dict, as `website/stage/marks.js` decides it."""
        rank = {} if self.rank is None else {"rank": self.rank}
        return {"kind": "likely", "of": self.of} | self._bound | rank

    def decide(self, reading: Reading) -> Verdict:
        """Verdict on a reading: probability or rank against the bound; `ok` is None without a token."""
        told = self._told(reading)
        if not told:
            return Verdict(None, says=self._why(reading))
        p, ranks = zip(*told, strict=True)
        if self.rank is not None:
            return self._ranked(ranks)
        if self.of == EVERY:
            return self._compared([min(p)])
        return self._compared([max(p)])

    def _ranked(self, ranks: tuple[int, ...]) -> Verdict:
        assert self.rank is not None
        first = "first" if self.rank == 1 else f"among the first {self.rank}"
        if self.of == NONE:
            best = min(ranks)
            return Verdict(best > self.rank, best, self.rank, f"rank {best}, should not be {first}")
        worst = max(ranks)
        return Verdict(worst <= self.rank, worst, self.rank, f"rank {worst}, should be {first}")

    def _why(self, reading: Reading) -> str:
        """Why there is no token in question."""
        if self.of in (EVERY, NONE):
            return "no name comes twice" if len(reading.ids) > 1 else "nothing is on the line"
        return "the line ends here" if self.of == NEXT else f"“{self.of}” is no token"

    def _told(self, reading: Reading) -> list[tuple[float, int]]:
        """Probability and rank of each token in question."""
        following = [(place, reading.ids[place + 1]) for place in reading.places]
        if self.of in (EVERY, NONE):
            asked = following
        elif self.of == NEXT:
            after = reading.at + 1
            asked = [(reading.at, reading.ids[after])] if after < len(reading.ids) else []
        elif self.of in reading.pieces:
            asked = [following[len(following) - 1 - reading.pieces[::-1].index(self.of)]]
        else:
            token = of_label(self.of)
            asked = [] if token is None else [(reading.at, token)]
        return [reading.told(*one) for one in asked]


def likely(
    of: str, *, above: float | None = None, below: float | None = None, rank: int | None = None
) -> Likely:
    """Condition on the probability of tokens before they come, with a bound, or on their rank.

    `of`: "every piece" of the name that comes again, the least likely of which is compared; "no piece",
    the likeliest; the label of one piece of it; "next", the token that stands after the place looked
    from; or any other token, as its label says it (" king" with its space), as what comes next
    there. `rank`: the token is among so many likeliest; of "no piece", none is.

    Raises:
        ValueError: if not exactly one of the three is given, or it is out of its range.
    """
    _require_one({"above": above, "below": below, "rank": rank})
    if rank is not None and (type(rank) is not int or rank < 1):
        raise ValueError(f"rank is {rank} but must be a whole number from 1 on")
    return Likely(above, below, of, rank)


@dataclass(frozen=True)
class Looks(_Bounded):
    """Condition on the attention that heads pay to one place; made by `looks`."""

    heads: tuple[str, ...]
    to: str
    at: str | int | None

    @property
    def json(self) -> dict[str, Any]:
        """Condition as a JSON-ready dict, as `website/stage/marks.js` decides it."""
        return {"kind": "looks", "heads": [*self.heads], "to": self.to, "at": self.at} | self._bound

    def decide(self, reading: Reading) -> Verdict:
        """Verdict on a reading: the heads' attention against the bound; `ok` is None as for `Verdict`."""
        for head in self.heads:
            if head not in reading.line.heads:
                return Verdict(None, says=f"{reading.line.model} has no {head}")
        off = [head for head in self.heads if head in reading.line.off]
        if off:
            return Verdict(None, says=f"{' and '.join(off)} off")
        try:
            at = reading.at if self.at is None else reading.place(self.at)
        except ValueError:
            return Verdict(None, says=not_there(self.at))
        to = self._to(reading, at)
        if to is None:
            return Verdict(None, says=not_there(self.to))
        looks = [reading.look(head, at) for head in self.heads]
        return self._compared([float(row[to]) if to <= at else 0.0 for row in looks])

    def _to(self, reading: Reading, at: int) -> int | None:
        if self.to == "itself":
            return at
        if self.to == "before":
            return at - 1 if at else None
        labels = [names.bare(token) for token in reading.tokens]
        return labels.index(self.to) if self.to in labels else None


def looks(
    *heads: str,
    to: str,
    at: str | int | None = None,
    above: float | None = None,
    below: float | None = None,
) -> Looks:
    """Condition that the attention of each of some heads to a place is above or below a bound.

    `to`: a token's label, its first occurrence; "◦", the sign that opens the line; "itself", the place
    that looks; "before", one back. `at`: the place that looks, as for a `Reading`; else that of the
    state. A head cannot look ahead: there it pays nothing.

    Raises:
        ValueError: if not exactly one bound from 0 to 1 is given, or no head of the book's models.
    """
    _require_one({"above": above, "below": below})
    if not heads:
        raise ValueError('looks names one head at least: looks("1.0", to="al", above=0.5)')
    for head in heads:
        two_layers.line.require(head)
    return Looks(above, below, heads, to, at)


Condition = Likely | Looks
"""Condition of a marked sentence, of either kind."""


def not_there(place: str | int | None) -> str:
    """Words that say a line has no such token or place."""
    if place == "before":
        return "nothing comes before it"
    return f"{f'“{place}”' if isinstance(place, str) else f'place {place}'} is not on this line"


def _require_one(bounds: Mapping[str, float | None]) -> None:
    given = [name for name, bound in bounds.items() if bound is not None]
    if len(given) != 1:
        raise ValueError(f"exactly one of {[*bounds]} must be given, not {given or 'none'}")
    [name] = given
    if name != "rank" and not 0 <= (bound := bounds[name]) <= 1:
        raise ValueError(f"{name} is {bound} but must be from 0 to 1: 50 % is {name}=0.5")
