"""What is asked of claims made since the paper: where composition lies, and what predicts it."""

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import composition, repeats
from transformer_circuits.analysis.later_work import credit, edge_sets, singular_directions
from transformer_circuits.claims import about_composition, about_induction, samples
from transformer_circuits.claims.about_composition import Scores
from transformer_circuits.claims.controls import untrained
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.planted import graded_edges
from transformer_circuits.claims.subjects import Subject

FRACTION = 8
"""One in so many of a head's directions is kept where few are asked for."""
DRAWS = 3
"""Random choices of as many directions, whose mean is the null."""


def key_edge(subject: Subject) -> edge_sets.EdgeName:
    """The edge of the induction story: the previous-token head into the strongest matcher's keys."""
    return "K", subject.induction_head, subject.previous_token_head


@decides("few-singular-directions", controls=[untrained])
def lead_of_strongest_directions(subject: Subject) -> Float[Tensor, " passage"]:
    """What an edge's strongest singular directions save over others of the same spaces. [nats]

    Of the `key_edge` an eighth of the directions is kept: the strongest, or random ones of those the
    one head writes and the other reads. Loss on the second copy of random tokens with the random
    ones, less that with the strongest, per passage. Near 0 if all directions are alike, or if the
    edge does nothing (Ahmad et al. 2025; Franco et al. 2026: they say where to look, not this).
    """
    model, edge = subject.model, key_edge(subject)
    passages = subject.random_passages(samples.PASSAGES_CUT, seed=3)
    tokens = repeats.copies(passages)
    trace = model.trace(tokens)
    generator, k = torch.Generator().manual_seed(0), max(1, model.config.d_head // FRACTION)
    losses = []
    for chance in (None, *[generator] * DRAWS):
        through = singular_directions.channel(model, edge, k, generator=chance)
        logits = singular_directions.narrowed(model, trace, edge, through)
        losses.append(about_induction.loss_of_second_copy(logits, tokens))
    return torch.stack(losses[1:]).mean(dim=0) - losses[0]


def _other_places(subject: Subject) -> tuple[Tensor, Tensor]:
    """The windows of `about_composition.effects`, and places of them where those are not measured."""
    inputs, _, places = about_composition.sample(subject)
    others = places - max(1, inputs.shape[1] // (2 * samples.PLACES_OF_EDGES))
    return inputs, others[others > 0]


@cache
def credit_in_proportion(subject: Subject) -> Scores:
    """Each edge's credit in proportion; kinds in the order of `composition.KINDS`."""
    return credit.shares(subject.model, *_other_places(subject)).mean(dim=0)


@cache
def rankings(subject: Subject) -> dict[str, Scores]:
    """What is to predict the effects of edges, by name; kinds in the order of `composition.KINDS`.

    Two facts of the weights, and two kinds of credit. The credit is taken at other places of the
    windows than those where `about_composition.effects` are measured.
    """
    model = subject.model
    strongest = [singular_directions.strengths(model, kind) for kind in composition.KINDS]
    return {
        "composition score": about_composition.scores(subject),
        "strongest direction": torch.stack(strongest),
        "credit in proportion": credit_in_proportion(subject),
        "credit by derivative": credit.gradients(model, *_other_places(subject)).mean(dim=0),
    }


@decides("credit-over-scores", controls=[graded_edges])
def lead_of_credit(subject: Subject) -> Float[Tensor, " window"]:
    """How much better credit in proportion orders edges by their effect than composition scores do.

    The difference of two of Spearman's rank correlations with what edges change of predictions on
    held-out text, each the mean over Q, K and V; from -2 to 2, above 0 if credit is better. One
    jackknife pseudo-value for each window (Chen et al. 2026, in our own reading; see `credit`).
    """
    change = about_composition.effects(subject).change
    ours, theirs = (
        about_composition.agreement_of(forecast(subject), change)
        for forecast in (credit_in_proportion, about_composition.scores)
    )
    return ours - theirs
