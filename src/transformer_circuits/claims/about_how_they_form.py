"""Claims about how induction heads form, from the log of each training.

Each measurement is one number of one run, so it has no spread but that between seeds. Induction is
prefix matching on random tokens that come twice, as in Olsson et al. 2022, of the last-layer head
with the most of it in the end. It forms from a tenth to nine tenths of its highest value; see
`development.span`.
"""

import dataclasses
import math
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import bigrams
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import Graded, named, one_layer
from transformer_circuits.claims.measurement import claim
from transformer_circuits.claims.rules import Interval
from transformer_circuits.claims.subjects import Log, Subject, once
from transformer_circuits.experiments import development, trainings
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.text import corpus, windows
from transformer_circuits.training import checkpoint

DRAWS = 200
"""Draws of noise, for an interval of the gain from context."""


@once
def race(subject: Subject) -> Subject:
    """Subject with the log of a training in which both layers see positions from the first step.

    From the same seed, of a crowded model (eight heads of 64 dimensions in a stream of 256, reading
    of four windows the one that repeats itself most), up to where the learning rate begins to fall.
    In the training of the book's own models the second layer sees positions late, while its heads
    form: their order and speed are partly those of the plan.
    """
    seed = checkpoint.settings(subject.name)[1].seed
    log = trainings.logs("race between layers")[trainings.SEEDS.index(seed)]
    return dataclasses.replace(subject, log=tuple(log))


_MATCHING = ("matching_text", "matching_random")


_LOSSES = ("held_out", "in_context_learning_score")


def _heads_moved(log: Log, factor: float) -> Log:
    """Log with prefix matching at each number of tokens as it was at `factor` times that number."""
    tokens = [record["tokens"] for record in log]

    def moved(record: development.Record, key: str) -> list[list[float]]:
        place = factor * record["tokens"]
        return [
            [
                float(
                    development.at(
                        tokens, [at_record[key][layer][head] for at_record in log], place
                    )
                )
                for head in range(len(scores))
            ]
            for layer, scores in enumerate(record[key])
        ]

    return tuple(record | {key: moved(record, key) for key in _MATCHING} for record in log)


@named("heads sooner")
def heads_sooner(subject: Subject) -> Subject:
    """Subject whose heads, by its log, form in half the tokens; all else at its own time."""
    return dataclasses.replace(subject, name="heads sooner", log=_heads_moved(subject.log, 2.0))


@named("heads later")
def heads_later(subject: Subject) -> Subject:
    """Subject whose heads, by its log, form in twice the tokens; all else at its own time."""
    return dataclasses.replace(subject, name="heads later", log=_heads_moved(subject.log, 0.5))


@named("heads swapped")
def heads_swapped(subject: Subject) -> Subject:
    """Subject whose log has first-layer previous-token heads and last-layer matching heads exchanged."""
    log = tuple(
        record
        | {
            "previous_token": [record["matching_random"][-1], *record["previous_token"][1:]],
            "matching_random": [*record["matching_random"][:-1], record["previous_token"][0]],
        }
        for record in subject.log
    )
    return dataclasses.replace(subject, name="heads swapped", log=log)


@named("loss for heads")
def loss_for_heads(subject: Subject) -> Subject:
    """Subject whose log has the share of the text loss's fall so far as each matching head's score."""
    losses = [record["held_out"] for record in subject.log]
    way = max(losses[0] - min(losses), 1e-9)
    log = tuple(
        record
        | {
            key: [[(losses[0] - record["held_out"]) / way] * len(layer) for layer in record[key]]
            for key in _MATCHING
        }
        for record in subject.log
    )
    return dataclasses.replace(subject, name="loss for heads", log=log)


def _bump(subject: Subject, size: float) -> Subject:
    """Subject whose logged loss falls by `size` nats more, evenly, while the induction head forms."""
    tokens = [record["tokens"] for record in subject.log]
    forming = development.span(tokens, development.of_head(subject.log, "matching_random", -1))
    start, end = forming or (tokens[0], tokens[0] + 1)
    log = tuple(
        record
        | {
            "held_out": record["held_out"]
            + size * min(1.0, max(0.0, (end - record["tokens"]) / (end - start)))
        }
        for record in subject.log
    )
    return dataclasses.replace(subject, log=log)


bumps = Graded("a bump of {} nats", _bump, sizes=(0.25, 0.5, 1.0, 2.0, 4.0), counts=0.25)


@named("losses of one layer")
def losses_of_one_layer(subject: Subject) -> Subject:
    """Subject whose log has the one-layer model's losses at the same tokens, beside its own heads.

    Where the one-layer log is shorter, the losses of its last record.
    """
    other = subject.sibling("one-layer").log
    tokens = [record["tokens"] for record in other]
    losses = {key: [record[key] for record in other] for key in _LOSSES}
    log = tuple(
        record
        | {
            key: float(development.at(tokens, values, record["tokens"]))
            for key, values in losses.items()
        }
        for record in subject.log
    )
    return dataclasses.replace(subject, name="losses of one layer", log=log)


@claim(
    "phase-change",
    "induction heads form suddenly",
    source="follow-up",
    section="Olsson et al. 2022",
    reported="in a narrow window, from roughly 2.5 to 5 billion tokens",
    chapter="13-how-they-form",
    below=2.0,
    threshold_from=(
        "Olsson et al., Argument 1: from roughly 2.5 to 5 billion tokens, a factor of two. "
        "They show their window by eye, for all of their models; that it is from a tenth to "
        "nine tenths of one head's attention is ours, and for a single model perhaps harder"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} induction heads form suddenly, in crowded models trained for this: while "
        "their attention goes from a tenth to nine tenths of its highest, the tokens read grow"
        " by a factor of {range}; one number for each seed."
    ),
    controls=[loss_for_heads, one_layer],
    trained=race,
)
def factor_of_tokens(subject: Subject) -> Float[Tensor, ""]:
    """Tokens at nine tenths of the induction head's formation, over those at one tenth.

    From 1, at once, up to the last record's tokens over the first's, which also stands for a head
    that never forms (below 0.4), or had begun before the first record. Olsson et al. 2022: in a
    narrow window, from roughly 2.5 to 5 billion tokens.
    """
    tokens = _tokens(subject)
    start, end = _formation(subject) or (tokens[0], tokens[-1])
    return torch.tensor(end / start, dtype=torch.float64)


@claim(
    "formation-order",
    "bigrams first, then previous-token heads, then induction heads",
    source="follow-up",
    section="Hoogland et al. 2024",
    reported="stages in this order, with n-grams between the first two",
    chapter="13-how-they-form",
    above=0.0,
    threshold_from=(
        "an order: each stage ends after the one before. Where a stage ends is ours, nine "
        "tenths of a change; its source tells stages apart by other means. Harder than that "
        "they begin in this order: a stage may not be overtaken. n-grams, the source's second "
        "stage, are not tested, and so it is softer there"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} bigrams come first, then previous-token heads, then induction heads, in "
        "crowded models trained for this: each stage ends after {range} times as many tokens "
        "as the one before, or more; by one number for each seed, no finer than the records of"
        " a training."
    ),
    unit="doublings",
    whether="bigrams come first, then previous-token heads, then induction heads",
    controls=[heads_swapped, one_layer],
    trained=race,
)
def order_of_stages(subject: Subject) -> Float[Tensor, ""]:
    """Distance in tokens from the end of each stage to the end of the next; the smaller of two.

    Bigrams end where the loss on text has made nine tenths of its way from a uniform guess to an
    add-one bigram table; previous-token heads of the first layer and induction heads where the best
    in the end has nine tenths of its highest attention. Above 0: in this order. A stage that never
    comes counts as the full run, backwards. Hoogland et al. 2024 tell these stages apart.
    """
    log, tokens = subject.probed(), _tokens(subject)
    config = subject.model.config
    text_alone = dataclasses.replace(config, n_layers=0, d_mlp=0)  # one table for every depth
    guess, table = math.log(config.n_vocab), _bigram_loss(subject.text, text_alone)
    learned = [(guess - record["held_out"]) / (guess - table) for record in log]
    ends = [development.crossing(tokens, learned, 0.9)]
    for key, layer in (("previous_token", 0), ("matching_random", -1)):
        curve = development.of_head(log, key, layer)
        high = max(curve)
        ends.append(development.crossing(tokens, curve, 0.9 * high) if high >= 0.4 else None)
    if None in ends:
        return torch.tensor(-math.log2(tokens[-1] / tokens[0]), dtype=torch.float64)
    doublings = torch.tensor(ends, dtype=torch.float64).log2()
    return doublings.diff().min()


@claim(
    "icl-with-heads",
    "most of in-context learning comes while the heads form",
    source="follow-up",
    section="Olsson et al. 2022",
    reported="less than 0.15 nats before, about 0.4 after",
    chapter="13-how-they-form",
    above=0.0,
    threshold_from=(
        "“most”: as much inside the stretch as outside; Olsson et al. have at most 0.15 of 0.4"
        " nats before it"
    ),
    unit="nats per token",
    controls=[losses_of_one_layer, heads_sooner, heads_later, one_layer],
)
def context_gained(subject: Subject) -> Interval:
    """Gain from context while the induction head forms, less that at all other times. [nats]

    By the in-context learning score: the loss with little context less that with much, on the same
    tokens. The total gain is from its highest record to its lowest. Above 0: most of it is made
    while the head forms. A head that never forms gains nothing then. The interval comes from the
    differences of records from the mean of their neighbours: the noise of the score's few windows.
    Olsson et al. 2022: less than 0.15 nats before, about 0.4 after.
    """
    tokens = _tokens(subject)
    scores = torch.tensor(
        [record["in_context_learning_score"] for record in subject.log], dtype=torch.float64
    )
    off = scores[1:-1] - (scores[:-2] + scores[2:]) / 2  # of variance 3/2 that of a record
    noise = off.std(correction=0) / math.sqrt(1.5) if len(off) else torch.zeros(())
    drawn = torch.randn(DRAWS, len(scores), generator=torch.Generator().manual_seed(0))
    formation = _formation(subject)

    def value(scores: Tensor) -> float:
        way, gained = float(scores.max() - scores.min()), 0.0
        if formation:
            before, after = development.at(tokens, scores.tolist(), formation)
            gained = float(before - after)
        return 2 * gained - way

    ends = torch.tensor([value(scores + noise * draw) for draw in drawn], dtype=torch.float64)
    half = 1.96 * float(ends.std())
    mean = value(scores)
    return Interval(mean, mean - half, mean + half, len(scores))


@claim(
    "phase-bump",
    "the loss has a bump where they form; models of one layer have none",
    source="follow-up",
    section="Olsson et al. 2022",
    reported="visible; the only place where the curve is not convex",
    chapter="13-how-they-form",
    above=0.0,
    threshold_from="a curve that falls faster than before is not convex",
    unit="nats per million tokens",
    whether="the loss has a bump where induction heads form",
    controls=[losses_of_one_layer, heads_sooner, heads_later],
    planted=bumps,
)
def bump(subject: Subject) -> Float[Tensor, ""]:
    """Speed of the loss's fall while the induction head forms, less that just before.

    In nats per million tokens, over the formation and a stretch as long before it, or from the
    first record on. Above 0: the curve of the loss over tokens is not convex there, as Olsson et
    al. 2022 say of their bump. A head that never forms has none: 0.
    """
    tokens = _tokens(subject)
    losses = [record["held_out"] for record in subject.log]
    formation = _formation(subject)
    if formation is None:
        return torch.zeros((), dtype=torch.float64)
    start, end = formation
    places = [max(tokens[0], 2 * start - end), start, end]
    falls = -torch.from_numpy(development.at(tokens, losses, places)).diff()
    before, during = falls / torch.tensor(places, dtype=torch.float64).diff() * 1e6
    return during - before


def _tokens(subject: Subject) -> list[int]:
    return [record["tokens"] for record in subject.probed()]


def _formation(subject: Subject) -> tuple[float, float] | None:
    matching = development.of_head(subject.probed(), "matching_random", -1)
    return development.span(_tokens(subject), matching)


@cache
def _bigram_loss(text: Int[Tensor, " n_tokens"], shape: ModelConfig) -> float:
    """Loss of an add-one table of the training text, on the windows on which the log's loss is measured."""
    counts = bigrams.counts(corpus.tokens("small", "train"), shape.n_vocab)
    inputs, targets = (part.long() for part in windows.evenly(text, samples.WINDOWS, shape))
    share = (counts[targets, inputs] + 1) / (counts.sum(dim=0) + shape.n_vocab)[inputs]
    return -float(share.log().mean())
