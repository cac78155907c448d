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

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.claims import rules
from transformer_circuits.claims.controls import (
    another_seed_unchanged,
    given_two_back,
    keys_two_back,
    one_layer,
)
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.rules import Interval
from transformer_circuits.claims.subjects import ANOTHER_SEED, Log, Subject
from transformer_circuits.experiments import development, trainings
from transformer_circuits.training import checkpoint

MATCHES = 0.2
"""Prefix matching from which on a head is said to match: that of the book's marks."""
BATCHES = {"batch 4": 4, "batch 8": 8, "base": 16, "batch 32": 32}
"""Windows in a step of each run that differs in nothing else."""
RATE_BY_ROOT = {
    "batch 4, rate by the root": 4,
    "batch 8, rate by the root": 8,
    "base": 16,
    "batch 32, rate by the root": 32,
}
"""The same, where the learning rate goes with the root of the batch."""


@decides("form-given", controls=[another_seed_unchanged, given_two_back], mean_of="pairs")
def sooner_given(subject: Subject) -> Interval:
    """How much sooner heads match with a previous-token head given from the start. [doublings]

    From 0, as soon as without; 1 is half the tokens. Singh et al. 2024 clamp parts of the circuit.
    """
    return rules.of_few([-later for later in _later(subject, "previous token given")])


@decides("form-race", controls=[another_seed_unchanged], mean_of="pairs")
def later_in_a_race(subject: Subject) -> Interval:
    """How much later heads match where both layers see positions from the start. [doublings]"""
    return rules.of_few(_later(subject, "race between layers"))


@decides("form-repeats-nothing", controls=[another_seed_unchanged], mean_of="pairs")
def later_without_repeats(subject: Subject) -> Interval:
    """How much later heads match if no target that completes a repeat counts. [doublings]

    It is at least so much if they never do in that run.
    """
    return rules.of_few(_later(subject, "repeats count nothing"))


@decides("form-repeats-thrice", controls=[another_seed_unchanged], mean_of="pairs")
def sooner_with_repeats(subject: Subject) -> Interval:
    """How much sooner heads match if targets that complete a repeat count threefold. [doublings]"""
    return rules.of_few([-later for later in _later(subject, "repeats count three times")])


@decides("form-code", controls=[another_seed_unchanged])
def sooner_on_code(subject: Subject) -> Float[Tensor, ""]:
    """How much sooner heads match on Python alone than on prose alone. [doublings]"""
    return _sooner(subject, "code alone", than="prose alone")


@decides("form-planted", controls=[another_seed_unchanged], mean_of="pairs")
def sooner_with_repeats_planted(subject: Subject) -> Interval:
    """How much sooner heads match on prose that repeats as often as Python than on prose. [doublings]

    Spans of it come again, see `trainings.PLANTED`.
    """
    later = _later(subject, trainings.PLANTED, than="prose alone")
    return rules.of_few([-doublings for doublings in later])


@decides("form-begin", controls=[another_seed_unchanged])
def sooner_without_begin(subject: Subject) -> Float[Tensor, ""]:
    """How much sooner heads match where windows open with text, not the begin token. [doublings]"""
    return _sooner(subject, "no begin token")


@decides("form-shifted", controls=[another_seed_unchanged, keys_two_back])
def shifted_keys(subject: Subject) -> Float[Tensor, ""]:
    """The highest prefix matching of one layer half of whose heads read their keys one token back.

    A mean attention, from 0 to 1. Olsson et al. 2022 call such keys smeared.
    """
    log = _run(subject, "one layer, shifted keys", "one layer")
    return torch.tensor(max(development.best(log, "matching_random", -1)), dtype=torch.float64)


@decides("form-context", controls=[one_layer])
def context_kept(subject: Subject) -> Float[Tensor, ""]:
    """What context is worth to a model that never paid for repeats, as a share of the base's.

    By the in-context learning score at the last record of that run. 0: context is worth nothing; 1:
    as much as to the base. On a subject with one layer, what it keeps itself.
    """
    masked = _run(subject, "repeats count nothing", "base")
    log = subject.log if subject.model.config.n_layers == 1 else masked
    base = _log("base", _seed(subject))
    worth = [
        -float(development.at(_tokens(run), scores, masked[-1]["tokens"]))
        for run in (log, base)
        for scores in [[record["in_context_learning_score"] for record in run]]
    ]
    return torch.tensor(worth[0] / worth[1], dtype=torch.float64)


@decides("form-root", controls=[another_seed_unchanged])
def off_the_root(subject: Subject) -> Float[Tensor, ""]:
    """How far the tokens until heads match are from growing as the root of the batch.

    The slope of their logarithm over that of the batch, by least squares over `BATCHES`, less one
    half, without its sign. 0: as the root; 0.5: not at all, or in proportion.
    """
    return _off_one_half(subject, BATCHES)


@decides("form-root-rate", controls=[another_seed_unchanged])
def off_the_root_with_the_rate(subject: Subject) -> Float[Tensor, ""]:
    """The same as `off_the_root`, where the learning rate goes with the root of the batch, too."""
    return _off_one_half(subject, RATE_BY_ROOT)


@decides("form-law", controls=[one_layer])
def off_the_law(subject: Subject) -> Float[Tensor, ""]:
    """How far the tokens until heads match are from 10^5.7 sqrt(batch × context). [doublings]

    Without its sign. Ten, if none ever does. The law is from arXiv 2511.16893.
    """
    subject.require(not subject.own, "a config of its training in data/models")
    _, training = checkpoint.settings(subject.name)
    law = 10**5.7 * math.sqrt(training.batch * subject.model.config.n_ctx)
    at = _matching(subject.log)
    return torch.tensor(abs(math.log2(at / law)) if at else 10.0, dtype=torch.float64)


def _off_one_half(subject: Subject, windows: dict[str, int]) -> Float[Tensor, ""]:
    at = [
        _matches_at(_run(subject, name, "base", null_seed=k))
        for k, name in enumerate(windows, start=1)
    ]
    slope, _ = np.polyfit(np.log([*windows.values()]), np.log(at), 1)
    return torch.tensor(abs(slope - 0.5), dtype=torch.float64)


def _sooner(subject: Subject, name: str, than: str = "base") -> Float[Tensor, ""]:
    if subject.instead == ANOTHER_SEED:
        return _apart()
    seed = _seed(subject)
    late, soon = (_matches_at(_log(run, seed)) for run in (than, subject.instead or name))
    return torch.tensor(math.log2(late / soon), dtype=torch.float64)


def _later(subject: Subject, name: str, than: str = "base") -> list[float]:
    """By how many doublings heads match later than in another run of the same seed, for each seed.

    Where a seed is in place of the choice, the first half of that run's seeds against the other.
    """
    subject.require(not subject.own, "short trainings beside it")
    base = trainings.every_log(than)
    half = len(base) // 2
    if subject.instead == ANOTHER_SEED:
        pairs = zip(base[:half], base[half:], strict=True)
    else:
        changed = trainings.every_log(subject.instead or name)
        pairs = zip(base[: len(changed)], changed, strict=True)
    return [math.log2(_matches_at(late) / _matches_at(soon)) for soon, late in pairs]


def _apart() -> Float[Tensor, ""]:
    """The most by which two seeds of the unchanged training differ, without its sign. [doublings]"""
    at = [_matches_at(_log("base", seed)) for seed in trainings.SEEDS]
    return torch.tensor(math.log2(max(at) / min(at)), dtype=torch.float64)


def _run(subject: Subject, name: str, changed_from: str, null_seed: int = 1) -> Log:
    """The log of a run with the subject's seed, or of what is there `instead`.

    `null_seed`: by how many seeds on `ANOTHER_SEED` is.
    """
    if subject.instead == ANOTHER_SEED:
        return _log(changed_from, (_seed(subject) + null_seed) % len(trainings.SEEDS))
    return _log(subject.instead or name, _seed(subject))


def _log(name: str, seed: int) -> Log:
    return tuple(trainings.logs(name)[trainings.SEEDS.index(seed)])


def _seed(subject: Subject) -> int:
    subject.require(not subject.own, "short trainings beside it")
    return checkpoint.settings(subject.name)[1].seed


def _tokens(log: Sequence[development.Record]) -> list[int]:
    return [record["tokens"] for record in log]


def _matching(log: Sequence[development.Record]) -> float | None:
    """Tokens until the best head of the last layer matches; None if it never does."""
    scores = development.best(log, "matching_random", -1)
    return development.crossing(_tokens(log), scores, MATCHES)


def _matches_at(log: Sequence[development.Record]) -> float:
    """The same, with the tokens of the last record if none ever does."""
    return _matching(log) or float(log[-1]["tokens"])
