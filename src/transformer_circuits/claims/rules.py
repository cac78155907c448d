"""Verdicts: one function of intervals, a threshold and controls."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.claims.claim import Claim
from transformer_circuits.figures.values import written

DRAWS = 2000
REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
MIXED, UNDECIDED, UNPOWERED = "mixed", "undecided", "unpowered"
DEPENDS, NO_CASE = "depends on the basis", "no case"
VERDICTS = (REPRODUCED, MIXED, UNDECIDED, NOT_REPRODUCED, DEPENDS, NO_CASE, UNPOWERED)
SYMBOLS = dict(zip(VERDICTS, "✓±~✗⇄○∅", strict=True))
"""Symbol of each verdict, wherever it is shown."""
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}
"""Student's t for 95 % two-sided, by the number of values."""
MOST = 100
"""Factor of more text from which *undecided* names no amount: we have none such."""


@dataclass(frozen=True)
class Interval:
    """Estimate, and its range in 95 of 100 draws of other units of the same kind."""

    mean: float
    low: float
    high: float
    n: int
    """Number of units; 1 for a single number, which has no spread; 0 for a claim without a case,
    whose other fields are not a number.
    """

    def __str__(self) -> str:
        mean, low, high = (written(x, ".3g") for x in (self.mean, self.low, self.high))
        if not self.n:
            return NO_CASE
        return mean if self.n == 1 else f"{mean} ({low} to {high})"


@dataclass(frozen=True)
class Draws(Interval):
    """Results on several draws of a control: their mean, the least and the greatest of them.

    `n` is the number of draws.
    """


NOTHING = Interval(math.nan, math.nan, math.nan, 0)
"""Interval of a value that does not exist."""


def interval(
    values: Float[Tensor, "*unit"], clusters: Int[Tensor, "*unit"] | None = None
) -> Interval:
    """Mean over units, with a percentile bootstrap over them; `NOTHING` if there are none.

    Units that are not a number (no place of the kind in this document) are left out; if one alone
    is left of several, its spread is unknown, and the result is `NOTHING`, too. Units of one of the
    `clusters` are drawn together, with all that they share. With few clusters such intervals are
    still somewhat too short.

    Raises:
        ValueError: if one is infinite.

    >>> interval(torch.tensor([0.5]))
    Interval(mean=0.5, low=0.5, high=0.5, n=1)
    """
    values = values.detach().double().flatten().cpu()
    there = ~values.isnan()
    values = values[there]
    if values.isinf().any():
        raise ValueError(f"an interval takes finite values but got {values}")
    if not len(values) or len(values) == 1 < len(there):
        return NOTHING
    if len(values) == 1:  # a fact of the weights
        return Interval(*[float(values)] * 3, n=1)
    together = None if clusters is None else clusters.flatten()[there]
    means = _means_of_draws(values[:, None], together).flatten()
    return Interval(float(values.mean()), *_ends(means), len(values))


def interval_of(
    measure: Callable[[Float[Tensor, " value"]], float],
    values: Float[Tensor, "unit *value"],
    clusters: Int[Tensor, " unit"] | None = None,
) -> Interval:
    """Interval of a function of means over units, such as a ratio or a count; `NOTHING` if not a number.

    A percentile bootstrap over units, those of one of the `clusters` drawn together.

    >>> interval_of(lambda mean: float(mean[0] / mean[1]), torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
    Interval(mean=0.5, low=0.5, high=0.5, n=2)
    """
    values = values.detach().double().flatten(1).cpu()
    point = measure(values.mean(dim=0))
    if math.isnan(point):
        return NOTHING
    means = _means_of_draws(values, clusters)
    of_draws = torch.tensor([measure(mean) for mean in means], dtype=torch.float64)
    return Interval(point, *_ends(of_draws), len(values))


def _means_of_draws(
    values: Float[Tensor, "unit value"], clusters: Int[Tensor, " unit"] | None
) -> Float[Tensor, "draw value"]:
    """Means over as many clusters as there are, drawn with repetition, `DRAWS` times.

    By default, and if all units are in one cluster, which alone tells nothing, every unit is a
    cluster.
    """
    index = torch.arange(len(values))
    if clusters is not None and (cluster_of := clusters.unique(return_inverse=True)[1]).max():
        index = cluster_of
    n = int(index.max()) + 1
    sums = torch.zeros(n, values.shape[1], dtype=torch.float64).index_add_(0, index, values)
    drawn = torch.randint(n, (DRAWS, n), generator=torch.Generator().manual_seed(0))
    # Of a draw only how often it has each cluster counts, so all draws are one product of matrices.
    times = torch.zeros(DRAWS, n, dtype=torch.float64)
    times.scatter_add_(1, drawn, torch.ones((), dtype=torch.float64).expand(DRAWS, n))
    return times @ sums / (times @ index.bincount().double())[:, None]


def _ends(of_draws: Float[Tensor, " draw"]) -> list[float]:
    """Ends of the middle 95 of 100 draws, without those that are not a number."""
    return of_draws.nanquantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()


def of_few(values: Sequence[float]) -> Interval:
    """Mean of one number per seed, with Student's interval; a bootstrap of so few is too short.

    Raises:
        ValueError: if there are less than two, or more than `STUDENT` knows.

    >>> of_few([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484..., high=4.484..., n=3)
    """
    if (n := len(values)) not in STUDENT:
        raise ValueError(f"there are {n} values but intervals for {[*STUDENT]}")
    mean, half = statistics.mean(values), STUDENT[n] * statistics.stdev(values) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def beyond(claim: Claim, estimate: Interval) -> bool:
    """True if an interval lies wholly on the claim's side of the threshold, which itself is not beyond."""
    return (
        estimate.low > claim.threshold if claim.side == "above" else estimate.high < claim.threshold
    )


def short_of(claim: Claim, estimate: Interval) -> bool:
    """True if an interval lies wholly on the other side of the threshold; on it is not there, either."""
    return (
        estimate.high < claim.threshold if claim.side == "above" else estimate.low > claim.threshold
    )


def holds(claim: Claim, control: Interval) -> bool:
    """True if a rule holds on a control: wholly beyond the threshold; of several draws, any."""
    if isinstance(control, Draws):
        end = control.high if claim.side == "above" else control.low
        control = Interval(end, end, end, n=1)
    return beyond(claim, control)


def of_draws(means: Sequence[float]) -> Interval:
    """Mean over the draws of a control, with the least and the greatest.

    Draws that are not a number are left out; `NOTHING`, if all are.
    """
    if not (there := [mean for mean in means if not math.isnan(mean)]):
        return NOTHING
    return Draws(statistics.mean(there), min(there), max(there), len(there))


@dataclass(frozen=True)
class Power:
    """Values of a rule on an effect that was planted in several sizes."""

    what: str
    """Effect, with a place for its size: "a bump of {} nats"."""
    counts: float
    """Smallest size that the claim could mean."""
    estimates: Mapping[float, Interval]
    """Values by size."""

    def smallest(self, claim: Claim) -> float | None:
        """Size from which on the rule sees every effect; None if it misses the largest."""
        seen = None
        for size in sorted(self.estimates, reverse=True):
            if not beyond(claim, self.estimates[size]):
                break
            seen = size
        return seen


ALONE = "this one model"
"""Name of the measured model, where there are not several seeds."""


def verdict(
    claim: Claim,
    seeds: Mapping[str, Interval],
    controls: Mapping[str, Interval],
    planted: Mapping[str, Interval] | None = None,
    power: Power | None = None,
    windows: int = 0,
    single: str = ALONE,
    unit: str = "units",
) -> tuple[str, str]:
    """Verdict, one of `VERDICTS` but `DEPENDS`, and its reason in words.

    `seeds`: values on the model trained from each seed.
    `controls`: values on subjects where the rule must fail, by name.
    `planted`: values on subjects with the claimed effect built in; a rule that misses it has no
    power.
    `windows`: number of windows of text that were measured; 0 if it was no text.
    `single`: the name of what is measured, if not several seeds. `unit`: what more of would decide.

    The first of these that holds: *no case*: some seed has no case of the claim. *Unpowered*: the
    rule misses the effect that was `planted`. *Reproduced*: the interval lies beyond the threshold
    in every seed; *undecided* instead, if a control, or one draw of it, lies there, too. *Not
    reproduced*: in every seed on the other side; *unpowered* instead, if `power` sees only larger
    effects than count. *Mixed*: wholly beyond it in one seed, wholly on the other side in another,
    both with an interval. *Undecided*: all else.
    """

    def told(n: int) -> str:
        return f"{n} of {len(seeds)} seeds" if len(seeds) > 1 else single

    if absent := sum(not estimate.n for estimate in seeds.values()):
        return NO_CASE, f"{told(absent)} without what it speaks of"
    for name, estimate in (planted or {}).items():
        if not beyond(claim, estimate):
            return UNPOWERED, f"the rule misses what was planted ({name}: {estimate})"
    over = [estimate for estimate in seeds.values() if beyond(claim, estimate)]
    under = [estimate for estimate in seeds.values() if short_of(claim, estimate)]
    if len(over) == len(seeds):
        if held := [name for name in controls if holds(claim, controls[name])]:
            return UNDECIDED, f"it holds for {', '.join(held)}, too"
        if (why := told(len(over))) == ALONE:
            why += " is beyond the threshold, no control is"
        return REPRODUCED, why
    if len(under) == len(seeds):
        if power and ((seen := power.smallest(claim)) is None or seen > power.counts):
            least = "none that was planted" if seen is None else power.what.format(f"{seen:g}")
            return UNPOWERED, f"it sees {least}, where {power.counts:g} would count"
        return NOT_REPRODUCED, f"{told(len(under))} on the other side"
    if any(estimate.n > 1 for estimate in over) and any(estimate.n > 1 for estimate in under):
        return MIXED, f"{told(len(over))}; {len(under)} on the other side"
    if all(estimate.n == 1 for estimate in seeds.values()):
        return UNDECIDED, f"{told(len(over))}, by one number each, without an interval"
    across = [
        estimate for estimate in seeds.values() if estimate not in over and estimate not in under
    ]
    why = f"across the threshold in {told(len(across))}"
    return UNDECIDED, "; ".join([why, *filter(None, [_needed(claim, across, windows, unit)])])


def _needed(claim: Claim, across: list[Interval], windows: int, unit: str) -> str:
    """Amount of text that would decide, if estimates stay and intervals shrink by 1/√n."""
    most = 0.0
    for estimate in across:
        off = estimate.mean - claim.threshold
        half = estimate.mean - estimate.low if off > 0 else estimate.high - estimate.mean
        most = max(most, (half / off) ** 2 if off else math.inf)
    what = "as much text" if windows else f"as many {unit}"
    if not most:
        return ""
    if most >= MOST:
        return f"no {MOST} times {what} would decide it, if estimates stay"
    most = max(most, 1.1)  # an interval may end just on the threshold
    amount = f", {round(most * windows, -1):.0f} windows," if windows else ""
    return f"about {most:.1f} times {what}{amount} would decide it, if estimates stay"


def in_both(
    first: tuple[str, str], other: tuple[str, str], way: str, *, of_basis: bool
) -> tuple[str, str]:
    """Verdict where a model is looked at in two ways, from that of each.

    `way`: the name of the second. `of_basis`: whether both are the same function of tokens in two
    bases. Then one *reproduced* and one *not reproduced* is `DEPENDS`. Two that differ otherwise
    leave the claim undecided, with both answers as the reason.
    """
    if first[0] == other[0]:
        return first[0], f"{first[1]} ({way}: the same)"
    as_it_is, otherwise = (f"{verdict} ({why})" for verdict, why in (first, other))
    flips = of_basis and {first[0], other[0]} == {REPRODUCED, NOT_REPRODUCED}
    return (
        DEPENDS if flips else UNDECIDED,
        f"{'as stored' if of_basis else 'as it is'} {as_it_is}; {way} {otherwise}",
    )
