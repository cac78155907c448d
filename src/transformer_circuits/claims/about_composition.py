"""Claims about composition between the heads of two layers."""

import copy
from collections.abc import Callable
from functools import cache

import torch
from einops import einsum
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from transformer_circuits.analysis import (
    composition,
    edge_effects,
    heads,
)
from transformer_circuits.analysis.edge_effects import Effects
from transformer_circuits.claims import recorded, rules, samples, subjects
from transformer_circuits.claims.controls import (
    graded_edges,
    heads_without_effect,
    named,
    turned_heads,
    untrained,
    white_basis,
)
from transformer_circuits.claims.measurement import claim
from transformer_circuits.claims.rewritings import EMBEDDED, SPLIT
from transformer_circuits.claims.rules import Interval
from transformer_circuits.claims.subjects import Subject, once
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer

RANDOM = 4
"""Number of models with random weights whose pairs of heads are the null in the white basis."""
Scores = Float[Tensor, "kind later_head earlier_head"]


def sample(subject: Subject) -> tuple[Tensor, Tensor, Tensor]:
    """Evenly spaced windows of held-out text, their targets, and the places where edges are measured.

    Inputs and targets are [window, pos]; the places are the same in every window.
    """
    inputs, targets = subject.windows(*samples.OF_EDGES)
    n_ctx, n_places = inputs.shape[1], samples.PLACES_OF_EDGES
    places = n_ctx - 1 - torch.arange(n_places).flip(0) * max(1, n_ctx // n_places)
    return inputs, targets, places[places > 0]


def effects(subject: Subject) -> Effects:
    """Effects of every edge on held-out text, at evenly spaced places of evenly spaced windows.

    The same in every basis of the stream.
    """
    return Effects(**_effects(subject.as_stored or subject))


@recorded.for_all_chapters
def _effects(subject: Subject) -> dict[str, Tensor]:
    return vars(edge_effects.effects(subject.model, *sample(subject)))


def of_mean(
    subject: Subject,
    statistic: Callable[[Tensor], float],
    per_window: Float[Tensor, "window *value"],
) -> Interval:
    """Interval of a statistic of the mean over windows of `sample`, windows of one package drawn together."""

    def measure(mean: Tensor) -> float:
        return statistic(mean.view(per_window.shape[1:]))

    packages = subject.packages_of(*samples.OF_EDGES, units=len(per_window))
    return rules.interval_of(measure, per_window, packages)


@once
def scores(subject: Subject) -> Scores:
    """Composition scores of all pairs, in the order of `composition.KINDS`, as the model is stored."""
    return scores_in(subject.model, "stored")


def scores_in(model: Transformer, basis: composition.Basis) -> Scores:
    """Composition scores of all pairs in any basis, see `composition.scores`."""
    return torch.stack([composition.scores(model, kind, basis=basis) for kind in composition.KINDS])


@cache
def chance(d_model: int, d_head: int) -> tuple[float, float]:
    """Mean and standard deviation of the scores of random heads of this shape."""
    null = composition.null(d_model, d_head, 200, generator=torch.Generator().manual_seed(0))
    return float(null.mean()), float(null.std())


def null_of(subject: Subject) -> tuple[float, float]:
    """Mean and standard deviation of the scores of random heads, in the white basis if the subject is.

    As stored, the null is `chance`. In the white basis, the null is models with random weights,
    each where its own stream is white on the same text: their shared stream is squeezed, so they
    score lower.
    """
    config = subject.model.config
    if subject.as_stored is None:
        return chance(config.d_model, config.d_head)
    return _white_null(config, subject.text, subject.of_the_book)


@cache
def _white_null(
    shape: ModelConfig, text: Int[Tensor, " n_tokens"], of_the_book: bool
) -> tuple[float, float]:
    null_scores, empty = [], Transformer(shape)
    for seed in range(2, 2 + RANDOM):  # 1 is that of the control
        random = Subject("random weights", empty, text, of_the_book=of_the_book)
        random = random.with_model("random weights", subjects.random_weights(random, seed))
        null_scores.append(scores_in(random.model, subjects.white_basis(random)))
    null = torch.stack(null_scores)
    return float(null.mean()), float(null.std())


def _nothing_done(subject: Subject) -> bool:
    """True if no head has an effect: a score has no size, so it would not tell."""
    return not any(map(subject.does, heads.every(subject.model)))


@named("built Q-composition")
def built_q_composition(subject: Subject) -> Subject:
    """Model whose first second-layer head makes its query from the output of the first first-layer head."""
    model = copy.deepcopy(subject.model)
    writes, W_Q = model.layers[0].W_O[0].T, model.layers[1].W_Q
    W_Q[0] = writes * (W_Q[0].norm() / writes.norm())
    return subject.with_model("built Q-composition", model)


@named("hidden K-composition")
def hidden_k_composition(subject: Subject) -> Subject:
    """Model with K-composition that the published formula scores 0.

    A second-layer head's key reads exactly what a first-layer head writes; its query reads nothing
    that the first-layer head reads. So the score is high by the right formula, and 0 by the
    published one. The key is four times as long as before and the output sixteen times, so that the
    head's attention surely matters.
    """
    model = copy.deepcopy(subject.model)
    first, second = model.layers
    writes, W_Q, W_K = first.W_O[0].T, second.W_Q, second.W_K
    W_K[0] = writes * (4 * W_K[0].norm() / writes.norm())
    read = torch.linalg.qr(first.W_V[0].T).Q  # [d_model, d_head]
    W_Q[0] -= W_Q[0] @ read @ read.T
    second.W_O[0] *= 16
    return subject.with_model("hidden K-composition", model)


@claim(
    "below-random",
    "most head pairs score below random, by the formula as it was meant",
    section="Analyzing a Two-Layer Model",
    reported="qualitative, of the figure as first published, by another formula",
    chapter="10-who-reads-whom",
    above=0.5,
    threshold_from="“most”, the paper's word; of random heads a fortieth lies there",
    unit="%",
    controls=[untrained, turned_heads, heads_without_effect],
    moved_by=[SPLIT],
    also=white_basis,
)
def share_below_random(subject: Subject) -> Float[Tensor, " later_head"]:
    """Share of pairs that score two standard deviations below random heads, by second-layer head. 0 to 1.

    Over all three kinds of composition; random heads as in `null_of`, of which a fortieth scores so
    low. Not a number if heads have no effect (paper: "Analyzing a Two-Layer Model").
    """
    if _nothing_done(subject):
        return torch.tensor([torch.nan])
    mean, spread = null_of(subject)
    return (scores(subject) < mean - 2 * spread).double().mean(dim=(0, 2))


@claim(
    "k-composition",
    "the strongest composition is K-composition with the previous-token head",
    section="Analyzing a Two-Layer Model",
    reported="the only significant edges, from one first-layer head",
    corrected="the paper's Correction adds to it: K-composition with the previous-token head is as "
    "important as before, but some induction heads also compose with a head that looks at "
    "the last several tokens",
    chapter="10-who-reads-whom",
    above=0.1,
    threshold_from=(
        "“strongest”, by a size that is no luck: a tenth of the score of random heads; ours, "
        "above what turned heads come to (at most .074 in twenty draws)"
    ),
    unit="times the score of random heads",
    controls=[untrained, turned_heads, heads_without_effect],
    draws=20,
    moved_by=[SPLIT],
    also=white_basis,
)
def lead_of_previous_token_keys(subject: Subject) -> Float[Tensor, ""]:
    """Lead of the best K score with the previous-token head over the best other score.

    In units of the score of random heads; negative if another pair or kind leads. A fact of the
    weights, but for the choice of the previous-token head; not a number if heads have no effect
    (paper: "Analyzing a Two-Layer Model").
    """
    if _nothing_done(subject):
        return torch.tensor(torch.nan)
    config, measured = subject.model.config, scores(subject).double()
    with_previous = torch.zeros_like(measured, dtype=torch.bool)
    with_previous[composition.KINDS.index("K"), :, subject.previous_token_head.head] = True
    lead = measured[with_previous].max() - measured[~with_previous].max()
    return lead / chance(config.d_model, config.d_head)[0]


@claim(
    "k-composition-use",
    "K-composition with the previous-token head is the composition that does most",
    section="Analyzing a Two-Layer Model",
    reported="the only significant edges, by their score",
    chapter="10-who-reads-whom",
    above=0.0,
    threshold_from="“most”: a lead of nothing",
    verdict="reproduced",
    found=(
        "in {seeds} the edge that does most runs from the previous-token head into a later "
        "head's keys: without it, predictions change by {range} more than without any other "
        "edge."
    ),
    unit="nats per token",
    controls=[untrained, turned_heads, heads_without_effect],
    sample=samples.OF_EDGES,
    moved_by=[SPLIT, EMBEDDED],
)
def lead_of_previous_token_keys_in_use(subject: Subject) -> Float[Tensor, " window"]:
    """Lead of the best K edge from the previous-token head over the best other edge, in effect.
    [nats per token]

    Both edges are chosen in one half of the windows and measured in the other, for each half; the
    other edge may be a K edge of another head. [nats per token] (paper: "Analyzing a Two-Layer
    Model", which goes by scores)
    """
    change = effects(subject).change.double()
    earlier = subject.previous_token_head.head
    from_previous = torch.zeros_like(change[0], dtype=torch.bool)
    from_previous[composition.KINDS.index("K"), :, earlier] = True
    lead = change.new_empty(len(change))
    for half in (0, 1):
        chosen, other = change[half::2].mean(dim=0), change[1 - half :: 2].flatten(1)
        best_from_previous = chosen.masked_fill(~from_previous, -1).argmax()
        best_other = chosen.masked_fill(from_previous, -1).argmax()
        lead[1 - half :: 2] = other[:, best_from_previous] - other[:, best_other]
    return lead


def above_nulls(model: Transformer, kind: str) -> tuple[float, float]:
    """Largest score of this kind, and the largest of its nulls.

    The nulls are pairs that cannot compose, by the same kind, and 60 rotations of the best pair.
    """
    stored = composition.scores(model, kind, basis="stored")
    [(later, earlier)] = composition.top_pairs(stored)
    turned = composition.rotated(
        composition.reader(model, kind, later),
        heads.W_OV(model, earlier),
        60,
        generator=torch.Generator().manual_seed(0),
    )
    others = [
        values.max() for values in composition.impossible(model, kind, basis="stored").values()
    ]
    return float(stored.max()), float(max(turned.max(), *others))


@claim(
    "only-k-composition",
    "there is no significant Q- or V-composition",
    section="Analyzing a Two-Layer Model",
    reported="as first published",
    corrected="taken back: by the paper's Correction there is more composition",
    chapter="10-who-reads-whom",
    below=1.0,
    threshold_from="the largest of the nulls",
    verdict="not reproduced",
    found="there is Q- or V-composition as well, by score: the best is {range} the largest of its nulls.",
    unit="times",
    controls=[built_q_composition, heads_without_effect],
    moved_by=[SPLIT],
    also=white_basis,
)
def best_of_queries_and_values(subject: Subject) -> Float[Tensor, ""]:
    """Ratio of the best Q or V score to the largest of its nulls. Above 1 it is significant.

    The larger of the two kinds; nulls as in `above_nulls`. A fact of the weights; not a number if
    heads have no effect (paper: "Analyzing a Two-Layer Model", as first published).
    """
    subject.require(subject.model.config.n_heads > 1, "two heads in a layer")
    if _nothing_done(subject):
        return torch.tensor(torch.nan)
    best = [above_nulls(subject.model, kind) for kind in "QV"]
    return torch.tensor(max(top / null for top, null in best), dtype=torch.float64)


def hidden(model: Transformer) -> Bool[Tensor, "later_head earlier_head"]:
    """K edges that the right formula finds and the published one hides: true or false.

    An edge is found if its pair scores above every pair that cannot compose, by the same formula.
    """
    right = composition.scores(model, "K", basis="stored")
    null = max(
        values.max() for values in composition.impossible(model, "K", basis="stored").values()
    )
    wrong = _published(model, (1, 0))
    apart = [
        composition.apart(_published(model, layers), layers) for layers in composition.IMPOSSIBLE
    ]
    return (right > null) & (wrong <= max(values.max() for values in apart))


def _published(model: Transformer, layers: tuple[int, int]) -> Float[Tensor, "later earlier"]:
    """`composition.published_k_score` of every pair of heads of two layers, all at once."""
    later, earlier = (model.layers[layer] for layer in layers)
    keys = einsum(later.W_K, earlier.W_O, "late k d, early d v -> late early k v")
    queries = einsum(earlier.W_V, later.W_Q, "early v d, late q d -> late early v q")
    read = LowRank(later.W_Q.mT, later.W_K).norm()
    written = LowRank(earlier.W_O, earlier.W_V).norm()
    return (keys @ queries).norm(dim=(2, 3)) / (read[:, None] * written)


@claim(
    "erratum-edges",
    "the published formula hid K-composition; we ask whether what it hid is in use",
    source="follow-up",
    section="Correction: Attention Head Composition Diagram",
    reported="two more edges",
    chapter="10-who-reads-whom",
    above=1.0,
    threshold_from=(
        "an average K edge: ours, and harder than the Correction, which goes by scores alone; "
        "a score that is high by the right formula tells less than an edge that does something"
    ),
    unit="times",
    whether="the published formula hid K-composition that is in use",
    controls=[untrained, turned_heads, heads_without_effect],
    planted=hidden_k_composition,
    sample=samples.OF_EDGES,
    also=white_basis,
)
def use_of_hidden_edges(subject: Subject) -> Float[Tensor, " window"]:
    """Change of predictions by the best of the `hidden` edges, over that by a K edge on average.

    The best is chosen in one half of the windows and measured in the other, for each half; 1 is an
    average edge; not a number if none is hidden (paper's "Correction" comment).
    """
    subject.require(subject.model.config.n_heads > 1, "two heads in a layer")
    where = hidden(subject.model)
    of_windows = torch.full((samples.OF_EDGES[0],), torch.nan, dtype=torch.float64)
    if where.any() and not _nothing_done(subject):
        change = effects(subject).change[:, composition.KINDS.index("K")].double()
        for half in (0, 1):
            best = change[half::2, where].mean(dim=0).argmax()
            of_windows[1 - half :: 2] = change[1 - half :: 2, where][:, best] / change.mean()
    return of_windows


@claim(
    "score-is-not-use",
    "a composition score says little about how much the edge is used on data",
    source="follow-up",
    section="a reading-group talk on composition scores (2022)",
    chapter="10-who-reads-whom",
    below=0.5,
    threshold_from=(
        "one half: below it the two orders share less than a quarter of their variance. Ours, "
        "for the talk gives no number, and softer than “little”: where agreement is above even"
        " this, the sentence does not hold"
    ),
    unit="in rank correlation",
    controls=[graded_edges],
    sample=samples.OF_EDGES,
    moved_by=[SPLIT],
    also=white_basis,
)
def agreement_of_score_and_use(subject: Subject) -> Interval:
    """Spearman's rank correlation of an edge's score with its change of predictions.

    Mean over Q, K and V; from -1 to 1. The interval is over windows of held-out text. The source
    speaks of models with a norm, where only turns and scales of the basis are free; ours have none.
    """
    return agreement_of(subject, scores(subject))


def agreement_of(subject: Subject, measure: Scores, less: Scores | None = None) -> Interval:
    """Rank correlation of scores with effects, less that of the scores `less`; mean over Q, K and V.

    The interval is over windows of held-out text.
    """

    # Ranks of scores are made once, and those of effects once for both: draws are two thousand.
    ranks, ranks_less = (None if kind is None else _ranks(kind) for kind in (measure, less))

    def correlation(mean: Tensor) -> float:
        used = _ranks(mean)
        lead = _of_ranks(ranks, used).mean()
        return float(lead if ranks_less is None else lead - _of_ranks(ranks_less, used).mean())

    return of_mean(subject, correlation, effects(subject).change.double())


def _ranks(of_edges: Scores) -> Float64[Tensor, "kind edge"]:
    return edge_effects.ranks(of_edges.flatten(1))


def _of_ranks(ranks: Tensor, other: Tensor) -> Float64[Tensor, " kind"]:
    """Pearson's correlation, pair by pair: of ranks, `edge_effects.rank_correlation`."""
    pairs = map(torch.stack, zip(ranks, other, strict=True))
    return torch.tensor([float(torch.corrcoef(pair)[0, 1]) for pair in pairs], dtype=torch.float64)
