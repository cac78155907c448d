"""What is claimed of models of several widths, from the records of the study of size, `data/study`."""

import itertools

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.claims import registry
from transformer_circuits.claims.controls import another_seed_unchanged
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.subjects import ANOTHER_SEED, Subject
from transformer_circuits.experiments import study


@decides("size-nearer", controls=[another_seed_unchanged], mean_of="claims of the paper")
def nearer_when_wide(subject: Subject) -> Float[Tensor, " claim"]:
    """How often the wider of two models lies nearer to what the paper claims, or farther beyond it.

    For each claim of the paper whose rule the study measured, the share of all pairs of a narrowest
    and a widest model, each with at least `study.ENOUGH_HEADS` heads in a layer and trained on the
    fewest tokens; a tie is half a pair. In the white basis, where a claim reads the basis. Half is
    luck. All claims are measured on the same few models, so their interval is too short. Where a
    seed is in the place of the choice, the first of the narrowest models against the others.
    """
    subject.require(not subject.own, "trainings of other widths beside it")
    every = study.read()
    fewest = min(one.tokens for one in every)
    models = [
        one
        for one in every
        if one.tokens == fewest and not one.crowded and one.n_heads >= study.ENOUGH_HEADS
    ]
    of_width = study.by_width(models)
    narrow, wide = of_width[min(of_width)], of_width[max(of_width)]
    if subject.instead == ANOTHER_SEED:
        narrow, wide = narrow[1:], narrow[:1]
    shares = []
    for name, rule in registry.rules().items():
        if registry.read()[name].source != "paper":
            continue
        in_white = narrow[0].interval(name, study.WHITE) is not None
        basis = study.WHITE if in_white else study.STORED
        low, high = ([one.interval(name, basis) for one in of] for of in (narrow, wide))
        pairs = [(a[0], b[0]) for a, b in itertools.product(low, high) if a and b]
        if not pairs:
            continue
        sign = 1 if rule.side == "above" else -1
        nearer = [(sign * (b - a) > 0) + (a == b) / 2 for a, b in pairs]
        shares.append(sum(nearer) / len(nearer))
    return torch.tensor(shares, dtype=torch.float64)
