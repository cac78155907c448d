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


@decides("size-nearer", controls=[another_seed_unchanged], mean_of="claims")
def nearer_when_wide(subject: Subject) -> Float[Tensor, " claim"]:
    """How often the wider of two models lies nearer to what is claimed, or farther beyond it. 0 to 1.

    For each claim of the paper that it did not take back and that the study measured on all of these
    models: the share of all pairs of a narrowest and a widest model, each with at least
    `study.ENOUGH_HEADS` heads in a layer and trained on the fewest tokens; a tie is half a pair. In
    the white basis, where the claim was measured in it. Half is luck. All claims rest on the same few
    models, so their interval is rather too short. Where a seed is in the place of the choice, each
    narrowest model against that of the next seed.
    """
    subject.require(not subject.own, "trainings of other widths beside it")
    fewest, *_ = study.in_width_alone().values()
    of_width = study.by_width([model for model in fewest if model.n_heads >= study.ENOUGH_HEADS])
    narrow, models = of_width[min(of_width)], [*of_width[min(of_width)], *of_width[max(of_width)]]
    n = len(narrow)
    pairs = [*itertools.product(range(n), range(n, len(models)))]
    if subject.instead == ANOTHER_SEED:
        pairs = [(k, (k + 1) % n) for k in range(n)]
    shares = []
    for name, rule in registry.rules().items():
        claim = registry.read()[name]
        if claim.source != "paper" or claim.retracted:
            continue
        in_white = any(model.interval(name, study.WHITE) for model in models)
        intervals = [
            model.interval(name, study.WHITE if in_white else study.STORED) for model in models
        ]
        means = [values[0] for values in intervals if values]
        if len(means) == len(models):
            sign = 1 if rule.side == "above" else -1
            gains = [sign * (means[b] - means[a]) for a, b in pairs]
            shares.append(sum((gain > 0) + (gain == 0) / 2 for gain in gains) / len(gains))
    return torch.tensor(shares, dtype=torch.float64)
