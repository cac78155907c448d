"""Claims about why induction heads form, from short trainings with one choice changed.

Each measurement compares runs of `data/trainings/plan.toml` with the unchanged one from the same
seed, at the same tokens. It is one number per seed, so it has no spread but that between seeds; or
the mean over every seed that the plan has, with Student's interval. A head *matches* from where the
best of the last layer has a prefix matching of 0.2 on random tokens that come twice. A head that
never matches counts as matching at the last record, which is too soon. A control puts another run
in the place of the changed one, see `Subject.instead`.
"""

import dataclasses
import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.claims import rules, subjects
from transformer_circuits.claims.controls import named
from transformer_circuits.claims.measurement import claim
from transformer_circuits.claims.rules import Interval
from transformer_circuits.claims.subjects import ANOTHER_SEED, Log, Subject
from transformer_circuits.experiments import development, trainings
from transformer_circuits.training import checkpoint

MATCHES = 0.2
"""Prefix matching from which on a head is said to match, as in the book's marks."""


@named("another seed unchanged")
def another_seed_unchanged(subject: Subject) -> Subject:
    """Subject with unchanged trainings of another seed in place of the changed short trainings."""
    return dataclasses.replace(subject, instead=subjects.ANOTHER_SEED)


@named("a head given two back")
def given_two_back(subject: Subject) -> Subject:
    """Subject with the training whose given head looks two back, in place of that with one back."""
    return dataclasses.replace(subject, instead="two back given")


@named("keys two back")
def keys_two_back(subject: Subject) -> Subject:
    """Subject with the training on keys two tokens back, in place of that on keys one back."""
    return dataclasses.replace(subject, instead="one layer, keys two back")


@claim(
    "form-given",
    "induction heads form sooner where a previous-token head is there from the start",
    source="follow-up",
    section="Singh et al. 2024",
    reported="qualitative: parts of the circuit were clamped",
    chapter="20-why-they-form",
    above=0.25,
    threshold_from=(
        "a quarter of a doubling, ours: as much as seeds may differ; the control has pairs of "
        "unchanged trainings, seeds k and k + 4"
    ),
    verdict="reproduced",
    found=(
        "over {units} pairs of trainings, induction heads form sooner where a previous-token "
        "head is there from the start: without it they take {range} times as many tokens "
        "({interval})."
    ),
    unit="doublings",
    controls=[another_seed_unchanged, given_two_back],
    mean_of="pairs",
)
def sooner_given(subject: Subject) -> Interval:
    """Lead of matching with a previous-token head given from the start, over that without. [doublings]

    From 0, as soon as without; 1 is half the tokens. Mean over the pairs of such a training and the
    unchanged one of its seed. Singh et al. 2024 clamp parts of the circuit.
    """
    subject.require(not subject.readers_own, "short trainings beside it")
    base = trainings.every_log("base")
    half = len(base) // 2
    if subject.instead == ANOTHER_SEED:  # the first half of the seeds against the other
        pairs = zip(base[:half], base[half:], strict=True)
    else:
        with_head = trainings.every_log(subject.instead or "previous token given")
        pairs = zip(base[: len(with_head)], with_head, strict=True)
    return rules.of_few([math.log2(_matches_at(late) / _matches_at(soon)) for late, soon in pairs])


@claim(
    "form-shifted",
    "one layer forms induction heads if its keys can see the token before",
    section="Related Work",
    reported="a remark on Primer, whose keys are convolved: they can do without K-composition; "
    "shown with smeared keys by Olsson et al. 2022",
    chapter="20-why-they-form",
    above=0.4,
    threshold_from="ARENA's bound for calling a head an induction head, as in the rule on their being there",
    verdict="reproduced",
    found=(
        "in {seeds} one layer forms induction heads if its keys can see the token before: the "
        "best gives {range} of its attention to what followed."
    ),
    unit="%",
    controls=[another_seed_unchanged, keys_two_back],
)
def shifted_keys(subject: Subject) -> Float[Tensor, ""]:
    """Highest prefix matching of one layer half of whose heads read their keys one token back.

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
    subject.require(not subject.readers_own, "short trainings beside it")
    return checkpoint.settings(subject.name)[1].seed


def _matches_at(log: Sequence[development.Record]) -> float:
    """Tokens until the best head of the last layer matches; of the last record, if it never does."""
    scores = development.best(log, "matching_random", -1)
    tokens = [record["tokens"] for record in log]
    return development.crossing(tokens, scores, MATCHES) or float(tokens[-1])
