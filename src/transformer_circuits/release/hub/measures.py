"""What a model card states of its model: measured when the card is made."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import induction
from transformer_circuits.claims import about_copying, about_induction, rules, subjects
from transformer_circuits.claims.rules import Interval
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.training import cross_entropy


@dataclass(frozen=True)
class Measure:
    """Something that is measured of every model with so many layers, or more."""

    id: str
    """For the hub's index of results."""
    name: str
    means: str
    """In words, with its unit or range."""
    units: str
    """What it is measured on, in the plural, or a fact of the weights."""
    of: Callable[[Subject], Float[Tensor, "*unit"]]
    """One value for each unit; one in all, if it is a fact of the weights."""
    least_layers: int = 0


@dataclass(frozen=True)
class Found:
    """A measure of a model, and the same of a model of its shape with random weights."""

    measure: Measure
    ours: Interval
    random: Interval

    @property
    def on(self) -> str:
        """What it was measured on, and how many of them."""
        return self.measure.units if self.ours.n == 1 else f"{self.ours.n} {self.measure.units}"


LATE, EARLY = (480, 500), (40, 60)
"""Positions at which the same tokens are predicted, with much context and with little."""
HELD_OUT = "windows of held-out text"
_TWICE, _WEIGHTS = "passages of random tokens that come twice", "the weights alone"


def _loss(subject: Subject) -> Float[Tensor, " window"]:
    return subject.losses().mean(dim=1)


def _gain(subject: Subject) -> Float[Tensor, " window"]:
    n_windows = cross_entropy.N_WINDOWS
    model, text = subject.model, subject.text
    return -induction.in_context_learning_score(model, text, n_windows, LATE, EARLY)


MEASURES = (
    Measure(
        "cross_entropy", "loss",
        "What the next token of a text costs, in nats: −ln of the probability it was given.",
        HELD_OUT, _loss,
    ),
    Measure(
        "context_gain", "gain from context",
        f"How many nats less the same tokens cost at positions {LATE[0]} to {LATE[1]} of a context "
        f"than at positions {EARLY[0]} to {EARLY[1]}. Random weights gain, too: where more tokens are "
        "averaged, their logits are smaller and cost less.",
        HELD_OUT, _gain,
    ),
    Measure(
        "accuracy", "induction",
        "How often the right token gets the highest logit of all in the second copy, 0 to 1.",
        _TWICE, about_induction.right_first_on_random_tokens,
    ),
    Measure(
        "prefix_matching", "matching",
        "How much the head of the last layer that does so most looks at what followed earlier "
        "copies of the present token, 0 to 1. The head is chosen on other passages.",
        _TWICE, about_induction.best_matching, 1,
    ),
    Measure(
        "copying", "copying",
        "Share of the last layer's heads whose OV circuit raises the token that it reads more than "
        "random heads' do, by four standard deviations of their eigenvalue scores.",
        _WEIGHTS, about_copying.share_of_copying_heads, 1,
    ),
)  # fmt: skip


def measured(subject: Subject) -> list[Found]:
    """Every one of `MEASURES` that a model has layers for, with the 95 % interval over its units.

    Raises:
        ValueError: if the model's contexts are shorter than `LATE`.
    """
    random = dataclasses.replace(subject, name="random", model=subjects.random_weights(subject))
    with torch.no_grad():
        return [
            Found(one, *(rules.interval(one.of(which)) for which in (subject, random)))
            for one in MEASURES
            if one.least_layers <= subject.model.config.n_layers
        ]
