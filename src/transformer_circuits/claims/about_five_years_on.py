"""Measurements for claims made since the paper: the few directions of composition, predictors of effects."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import composition, repeats
from transformer_circuits.analysis.later_work import credit, edge_sets, singular_directions
from transformer_circuits.claims import about_composition, about_induction, samples
from transformer_circuits.claims.about_composition import Scores
from transformer_circuits.claims.subjects import Subject, once

FRACTION = 8
"""Directions of a head for each one that is kept where few are asked for."""


def key_edge(subject: Subject) -> edge_sets.EdgeName:
    """Edge of the induction story: from the previous-token head into the strongest matcher's keys."""
    return "K", subject.induction_head, subject.previous_token_head


def kept_by_strongest_directions(subject: Subject) -> Float[Tensor, " passage"]:
    """Share of an edge's saved loss that its strongest singular directions keep. About 0 to 1.

    The strongest eighth of the directions of the `key_edge` is kept. Loss on the second copy of
    random tokens without the edge, less that with these directions, per passage, over the mean loss
    that the full edge saves; not a number if that mean is below a hundredth of a nat (Ahmad et al.
    2025; Franco et al. 2026: they say where to look, not this).
    """
    model, edge = subject.model, key_edge(subject)
    passages = subject.random_passages(samples.PASSAGES_CUT, seed=3)
    tokens = repeats.copies(passages)
    trace = model.trace(tokens)
    k, losses = max(1, model.config.d_head // FRACTION), []
    for directions in (0, k, model.config.d_head):
        through = singular_directions.channel(model, edge, directions)
        logits = singular_directions.narrowed(model, trace, edge, through)
        losses.append(about_induction.loss_of_second_copy(logits, tokens))
    without, strongest, full = losses
    worth = (without - full).mean()
    return (without - strongest) / worth if worth >= 0.01 else torch.full_like(strongest, torch.nan)


def _other_places(subject: Subject) -> tuple[Tensor, Tensor]:
    """Windows of `about_composition.effects`, and places in them where effects are not measured."""
    inputs, _, places = about_composition.sample(subject)
    others = places - max(1, inputs.shape[1] // (2 * samples.PLACES_OF_EDGES))
    return inputs, others[others > 0]


def credit_in_proportion(subject: Subject) -> Scores:
    """Credit in proportion of each edge, in any basis; kinds in the order of `composition.KINDS`."""
    return _credit(subject.as_stored or subject)[1]


@once
def _credit(subject: Subject) -> tuple[Scores, Scores]:
    """Credit by derivative, and in proportion: in any basis the same."""
    by_derivative, in_proportion = credit.of_edges(subject.model, *_other_places(subject))
    return by_derivative.mean(dim=0), in_proportion.mean(dim=0)


@once
def rankings(subject: Subject) -> dict[str, Scores]:
    """Predictors of the effects of edges, by name; kinds in the order of `composition.KINDS`.

    Two facts of the weights, and two kinds of credit. Credit is taken at other places of the
    windows than those where `about_composition.effects` are measured.
    """
    model = subject.model
    strongest = [singular_directions.strengths(model, kind) for kind in composition.KINDS]
    return {
        "composition score": about_composition.scores(subject),
        "strongest direction": torch.stack(strongest),
        "credit in proportion": credit_in_proportion(subject),
        "credit by derivative": _credit(subject.as_stored or subject)[0],
    }
