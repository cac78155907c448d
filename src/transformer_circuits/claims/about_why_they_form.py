"""What is claimed of why induction heads form, from short trainings with one choice changed.

Each measurement compares runs of `data/trainings/plan.toml` with the unchanged one from the same seed,
at the same tokens. It is one number per seed, so it has no spread but that between seeds; or the mean
over every seed that the plan has, with Student's interval. A head *matches* from
where the best of the last layer has a prefix matching of 0.2 on random tokens that come twice. A head
that never comes to match counts as doing so at the last record, which is said too soon. A control puts
another run in the place of the changed one, see `Subject.instead`.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.claims import rules
from transformer_circuits.claims.controls import (
    another_seed_unchanged,
    given_two_back,
    keys_two_back,
)
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.rules import Interval
from transformer_circuits.claims.subjects import ANOTHER_SEED, Log, Subject
from transformer_circuits.experiments import development, trainings
from transformer_circuits.training import checkpoint

MATCHES = 0.2
"""Prefix matching from which on a head is said to match: that of the book's marks."""


@decides("form-given", controls=[another_seed_unchanged, given_two_back], mean_of="pairs")
def sooner_given(subject: Subject) -> Interval:
    """How much sooner heads match with a previous-token head given from the start. [doublings]

    From 0, as soon as without; 1 is half the tokens. Singh et al. 2024 clamp parts of the circuit.
    """
    subject.require(not subject.own, "short trainings beside it")
    base = trainings.every_log("base")
    half = len(base) // 2
    if subject.instead == ANOTHER_SEED:  # the first half of the seeds against the other
        pairs = zip(base[:half], base[half:], strict=True)
    else:
        given = trainings.every_log(subject.instead or "previous token given")
        pairs = zip(base[: len(given)], given, strict=True)
    return rules.of_few([math.log2(_matches_at(late) / _matches_at(soon)) for late, soon in pairs])


@decides("form-shifted", controls=[another_seed_unchanged, keys_two_back])
def shifted_keys(subject: Subject) -> Float[Tensor, ""]:
    """The highest prefix matching of one layer half of whose heads read their keys one token back.

    A mean attention, from 0 to 1. Olsson et al. 2022 call such keys smeared.
    """
    run, seed = subject.instead or "one layer, shifted keys", _seed(subject)
    if subject.instead == ANOTHER_SEED:
        run, seed = "one layer", (seed + 1) % len(trainings.SEEDS)
    log = _log(run, seed)
    return torch.tensor(max(development.best(log, "matching_random", -1)), dtype=torch.float64)


def _log(name: str, seed: int) -> Log:
    return tuple(trainings.logs(name)[trainings.SEEDS.index(seed)])


def _seed(subject: Subject) -> int:
    subject.require(not subject.own, "short trainings beside it")
    return checkpoint.settings(subject.name)[1].seed


def _matches_at(log: Sequence[development.Record]) -> float:
    """Tokens until the best head of the last layer matches; those of the last record if it never does."""
    scores = development.best(log, "matching_random", -1)
    tokens = [record["tokens"] for record in log]
    return development.crossing(tokens, scores, MATCHES) or float(tokens[-1])
