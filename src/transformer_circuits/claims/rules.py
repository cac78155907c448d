"""One function for every verdict: from intervals, a threshold and controls."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.claims.registry import Rule

DRAWS = 2000
REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
MIXED, UNDECIDED, UNPOWERED = "mixed", "undecided", "unpowered"
VERDICTS = (REPRODUCED, MIXED, UNDECIDED, NOT_REPRODUCED, UNPOWERED)


@dataclass(frozen=True)
class Interval:
    """An estimate, and where it lies in 95 of 100 draws of other units of the same kind."""

    mean: float
    low: float
    high: float
    n: int
    """How many units it was measured on; 1 for a fact of the weights, which has no spread."""

    def __str__(self) -> str:
        mean, low, high = (f"{value:.3g}" for value in (self.mean, self.low, self.high))
        return mean if self.n == 1 else f"{mean} ({low} to {high})"


def interval(values: Float[Tensor, "*unit"], confidence: float = 0.95) -> Interval:
    """The mean over units, with a percentile bootstrap over them.

    Units that are not a number (no place of the kind in this document) are left out.

    Raises:
        ValueError: if there is no unit, or one is infinite.

    >>> interval(torch.tensor([0.5]))
    Interval(mean=0.5, low=0.5, high=0.5, n=1)
    """
    values = values.detach().double().flatten().cpu()
    values = values[~values.isnan()]
    if not len(values) or not values.isfinite().all():
        raise ValueError(f"an interval takes finite values of at least one unit but got {values}")
    if len(values) == 1:
        return Interval(*[float(values)] * 3, n=1)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(len(values), (DRAWS, len(values)), generator=generator)
    means = values[drawn].mean(dim=1)
    tail = (1 - confidence) / 2
    low, high = means.quantile(torch.tensor([tail, 1 - tail], dtype=torch.float64)).tolist()
    return Interval(float(values.mean()), low, high, len(values))


def beyond(rule: Rule, found: Interval) -> bool:
    """Whether an interval lies wholly where the claim says."""
    return found.low > rule.threshold if rule.side == "above" else found.high < rule.threshold


def short_of(rule: Rule, found: Interval) -> bool:
    """Whether an interval lies wholly on the other side of the threshold, or on it."""
    return found.high <= rule.threshold if rule.side == "above" else found.low >= rule.threshold


def verdict(
    rule: Rule,
    seeds: Mapping[str, Interval],
    controls: Mapping[str, Interval],
    planted: Mapping[str, Interval] | None = None,
) -> tuple[str, str]:
    """One of `VERDICTS`, and in words how it came about.

    `seeds`: what was measured on the model trained from each seed.
    `controls`: the same where the rule must fail, by name.
    `planted`: the same where what is claimed was built in; a rule that misses it has no power.

    *Reproduced*: the interval lies beyond the threshold in every seed, and in no control. *Not
    reproduced*: in every seed on the other side. *Mixed*: beyond it in some seeds, not in all.
    *Undecided*: across the threshold, or beyond it as much with a control.

    Raises:
        ValueError: if there is no seed.
    """
    if not seeds:
        raise ValueError("a verdict takes at least one seed")
    of = f"of {len(seeds)}"
    for name, found in (planted or {}).items():
        if not beyond(rule, found):
            return UNPOWERED, f"the rule misses what was planted ({name}: {found})"
    n_beyond = sum(beyond(rule, found) for found in seeds.values())
    n_short = sum(short_of(rule, found) for found in seeds.values())
    if n_beyond == len(seeds):
        if held := [name for name in controls if beyond(rule, controls[name])]:
            return UNDECIDED, f"it holds for {', '.join(held)}, too"
        return REPRODUCED, f"{n_beyond} {of} seeds"
    if n_short == len(seeds):
        return NOT_REPRODUCED, f"{n_short} {of} seeds on the other side"
    if n_beyond:
        return MIXED, f"{n_beyond} {of} seeds"
    return UNDECIDED, f"across the threshold in {len(seeds) - n_short} {of} seeds"
