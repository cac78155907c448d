"""Claims about the worth of paths: by order, by layer, and behind frozen patterns.

Gains are losses saved, in nats per token. Every document counts the same, however long. Orders,
layers and terms are counts of heads. A head that looks at the present token alone moves nothing, so
it counts as part of the embedding, see `analysis.present_token`: two ways of writing one function
get one verdict.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import ablation, repeats, term_importance
from transformer_circuits.analysis.heads import HeadName
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import (
    built_induction,
    heads_without_effect,
    named,
    one_layer,
    untrained,
)
from transformer_circuits.claims.measurement import claim
from transformer_circuits.claims.recorded import for_all_chapters
from transformer_circuits.claims.rewritings import SPLIT
from transformer_circuits.claims.subjects import Subject, once
from transformer_circuits.model import cross_entropy, hand_built
from transformer_circuits.text import tokenizer

Gain = Float[Tensor, " document"]
BRINGS = 0.01
"""Least gain of heads, single or in a row, that leaves something to compare: a hundredth of a nat."""


@for_all_chapters
def losses(subject: Subject) -> dict[str, Float[Tensor, "n n_ctx"]]:
    """`term_importance.losses` on 16 full windows, with frozen patterns, all heads counted: for figures."""
    return term_importance.losses(subject.model, *subject.windows(samples.WINDOWS))


@for_all_chapters
def by_document(subject: Subject) -> dict[str, Float[Tensor, " document"]]:
    """`losses_by_document` with the heads that move nothing counted as part of the embedding."""
    return losses_by_document(subject, subject.in_embedding)


def losses_by_document(
    subject: Subject, embedding: Sequence[HeadName] = ()
) -> dict[str, Float[Tensor, " document"]]:
    """Losses of each document, by kind of path, in the many windows that decide, at some places. [nats]

    "patterns": the loss of the full model with patterns made from the embeddings alone.
    `embedding`: heads that count as part of the embedding, see `term_importance.streams`.
    """
    model, losses = subject.model, defaultdict(list)
    inputs, targets = subject.windows(*samples.MANY)
    places = torch.arange(inputs.shape[1])[samples.PLACES]
    for batch, after in cross_entropy.batches(inputs, targets):
        kept = term_importance.streams(model, batch, embedding=embedding, places=places)
        rows = {f"order {n}": x for n, x in enumerate(kept.orders)}
        rows |= {f"layer {n}": x for n, x in enumerate(kept.layers)}
        rows["patterns"] = term_importance.under_patterns_of_embeddings(
            model, batch, embedding, places
        )
        for name, stream in rows.items():
            losses[name].append(cross_entropy.of_streams(model, stream, after[:, places]))
    n_ctx = inputs.shape[1]
    return {
        name: subject.by_document(samples.spread(torch.cat(rows), n_ctx))
        for name, rows in losses.items()
    }


@once
def gains(subject: Subject) -> dict[str, Gain]:
    """`worth` of the losses of `by_document`: several seconds for a model; later calls are free."""
    return worth(subject, by_document(subject))


def worth(subject: Subject, kept: Mapping[str, Float[Tensor, " document"]]) -> dict[str, Gain]:
    """Worth of each kind of path in each document (paper: "Term Importance Analysis"). [nats]

    "direct", over uniform guessing; "single": all single heads, over the direct path; "virtual":
    the rest, over both. "first, alone" and "second, alone": the single heads of one layer, over the
    direct path; "beside": the same with those of the other layers present. A missing layer is worth
    nothing. `kept`: losses as from `losses_by_document`.
    """
    full = kept[f"order {subject.model.config.n_layers}"]
    direct, single = kept["order 0"], kept.get("order 1", kept["order 0"])
    first, second = (kept.get(f"layer {index}", direct) for index in (0, 1))
    return {
        "direct": math.log(subject.model.config.n_vocab) - direct,
        "single": direct - single,
        "virtual": single - full,
        "first, alone": direct - first,
        "first, beside": second - single,
        "second, alone": direct - second,
        "second, beside": first - single,
    }


@named("built virtual head")
def built_virtual_head(subject: Subject) -> Subject:
    """Two previous-token heads in a row, on text in which the token two back always comes next.

    Neither the direct path nor one head alone predicts anything. Nothing of the subject is used.
    """
    n_vocab, n_ctx = 23, 40
    triples = torch.combinations(torch.arange(1, n_vocab), 3)[::30]  # [document, 3]
    begin = torch.full((len(triples), 1), tokenizer.BEGIN)
    text = torch.cat([begin, triples.repeat(1, n_ctx)], dim=1).flatten()
    return Subject("built virtual head", hand_built.two_back(n_vocab, n_ctx), text)


@claim(
    "importance-single-heads",
    "single heads bring most of the gain over uniform guessing",
    section="Term Importance Analysis",
    reported="5.2 of 7.3 nats",
    chapter="15-term-importance",
    above=0.0,
    threshold_from="“most”: more than all else together; the paper has 5.2 against 2.1 nats",
    verdict="reproduced",
    found=(
        "in {seeds} single heads bring most of the gain over guessing: {range} more than the "
        "direct path and the virtual heads together."
    ),
    unit="nats per token",
    controls=[built_virtual_head, untrained],
    sample=samples.MANY,
)
def single_heads_beyond_the_rest(subject: Subject) -> Gain:
    """Gain of all single heads, less that of direct path and virtual heads together. [nats]

    Above 0 where single heads bring more than half of the gain over uniform guessing. The gain of
    single heads itself, where that is less: harm by the others is no gain.
    """
    gain = gains(subject)
    return torch.minimum(gain["single"], gain["single"] - gain["direct"] - gain["virtual"])


@claim(
    "importance-virtual-heads",
    "virtual heads matter least",
    section="Term Importance Analysis",
    reported="0.3 nats",
    chapter="15-term-importance",
    above=0.0,
    threshold_from="“least”: less than either of the others; the paper has 0.3 against 1.8 and 5.2 nats",
    verdict="reproduced",
    found=(
        "in {seeds} virtual heads matter least: they change the loss by {range} less than the "
        "weaker of direct path and single heads gains."
    ),
    unit="nats per token",
    controls=[built_virtual_head, heads_without_effect, untrained],
    sample=samples.MANY,
)
def virtual_heads_below_the_others(subject: Subject) -> Gain:
    """Gain of direct path or single heads, the smaller, less that of virtual heads. [nats]

    The smaller is chosen once, over all documents. Above 0 where virtual heads matter least. Harm
    counts by its size. Not a number where all heads gain less than `BRINGS`.
    """
    gain = gains(subject)
    return _if_heads_bring(gain, _lesser(gain["direct"], gain["single"]) - _size(gain["virtual"]))


@claim(
    "importance-per-term",
    "a single head is worth far more than a virtual one",
    section="Term Importance Analysis",
    reported="0.2 against 0.002 nats",
    chapter="15-term-importance",
    above=0.0,
    threshold_from="“far more” is ten times here; the paper's numbers give a hundred times",
    verdict="reproduced",
    found="in {seeds} a single head gains more than ten times what a virtual one changes, by {range}.",
    unit="nats per token",
    controls=[built_virtual_head, heads_without_effect, untrained],
    sample=samples.MANY,
    moved_by=[SPLIT],
)
def single_head_over_ten_virtual(subject: Subject) -> Gain:
    """Gain per single head, less ten times the gain per virtual head. [nats per term]

    Above 0 where a single head is worth more than ten virtual ones, on average. The paper's numbers
    give 0.2. Virtual heads are all paths through two heads or more; harm counts by its size. Not a
    number where all heads gain less than `BRINGS`.
    """
    gain, config = gains(subject), subject.model.config
    n_embedding = len(subject.in_embedding)
    n_single = config.n_layers * config.n_heads - n_embedding
    n_terms = (1 + config.n_heads - n_embedding) * (1 + config.n_heads) ** (config.n_layers - 1)
    n_virtual = n_terms - 1 - n_single
    ten_virtual = 10 * _size(gain["virtual"]) / max(n_virtual, 1)
    return _if_heads_bring(gain, gain["single"] / max(n_single, 1) - ten_virtual)


@claim(
    "importance-second-layer",
    "the second layer's heads account for most of the single heads' gain",
    section="Term Importance Analysis",
    reported="alone 5.2, in company 4.0 nats",
    chapter="15-term-importance",
    above=0.0,
    threshold_from="“most”: more than half; the paper has 5.2 alone and 4.0 in company, of 5.2 nats",
    verdict="reproduced",
    found=(
        "in {seeds} the second layer's heads bring most of what single heads gain: {range} "
        "more than half of it, with a head that moves nothing counted as embedding."
    ),
    unit="nats per token",
    controls=[one_layer, untrained],
    sample=samples.MANY,
)
def second_layer_beyond_half(subject: Subject) -> Gain:
    """Gain of the second layer's single heads, less half the gain of all single heads. [nats]

    Alone or beside the first layer's, whichever gain is less over all documents. Above 0 where most
    of the gain is the second layer's, by either count.
    """
    gain = gains(subject)
    return _lesser(gain["second, alone"], gain["second, beside"]) - gain["single"] / 2


@claim(
    "importance-first-layer",
    "the first layer's single heads add almost nothing to the second's",
    section="Term Importance Analysis",
    reported="alone 1.3, in company 0.05 nats",
    chapter="15-term-importance",
    below=0.0,
    threshold_from="“almost nothing” is a twentieth here; the paper's numbers give a hundredth",
    verdict="not reproduced",
    found=(
        "the first layer's heads add much to the second's: {off} more than a twentieth of what"
        " all single heads gain, with a head that moves nothing counted as embedding."
    ),
    unit="nats per token",
    controls=[one_layer, untrained],
    sample=samples.MANY,
)
def first_layer_beyond_a_twentieth(subject: Subject) -> Gain:
    """Gain of the first layer's single heads beside the second's, less a twentieth of all. [nats]

    Below 0 where the first layer adds less than a twentieth of the gain of all single heads. Harm
    counts by its size.
    """
    gain = gains(subject)
    return _size(gain["first, beside"]) - gain["single"] / 20


@once
def pattern_cost(subject: Subject) -> Gain:
    """Rise of the loss with patterns made from the embeddings alone. [nats]

    All paths and all values stay. Only the effect of heads on later heads' patterns is lost.
    """
    kept = by_document(subject)
    return kept["patterns"] - kept[f"order {subject.model.config.n_layers}"]


@claim(
    "importance-hides-patterns",
    "frozen patterns hide what heads do for later patterns; we ask whether that is more than they show",
    section="Term Importance Analysis",
    reported="stated that it says nothing of Q- and K-composition; not how much these do",
    chapter="16-what-freezing-hides",
    above=0.0,
    threshold_from=(
        "0: more than it shows. Ours, and harder than the paper, which says only that virtual "
        "heads tell nothing of Q and K: if little were hidden, it would not matter"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} freezing the patterns hides more composition than it shows: patterns made "
        "from embeddings alone cost {range} more than virtual heads are worth, with a head "
        "that moves nothing counted as embedding."
    ),
    unit="nats per token",
    whether="frozen patterns hide more composition than they show",
    controls=[one_layer, built_virtual_head, untrained],
    planted=built_induction,
    sample=samples.MANY,
)
def patterns_over_virtual(subject: Subject) -> Gain:
    """Rise of the loss with patterns of the embeddings alone, less the gain of virtual heads. [nats]

    Above 0 where freezing hides more composition than it shows. Harm by virtual heads counts by its
    size.
    """
    return pattern_cost(subject) - _size(gains(subject)["virtual"])


def passages(subject: Subject) -> list[Int[Tensor, "n length"]]:
    """Passages of the held-out text, of three lengths, that are read twice where heads are lost."""
    longest = (subject.model.config.n_ctx - 1) // 2
    lengths = sorted({max(2, min(longest, k)) for k in (20, 40, 60)})
    return [repeats.passages(subject.text, samples.PASSAGES_CUT, length) for length in lengths]


@once
def cost_for_repeats(subject: Subject) -> dict[str, Float[Tensor, " passage"]]:
    """Cost of losing the previous-token head on the second copy, less that on the first. [nats per token]

    By the kind of loss: "full", where later heads' patterns may change, and "patterns kept" (Olsson
    et al. 2022). Two copies of `passages`, of several lengths: with one length, a head that always
    looks that far back would do.
    """
    model, head = subject.model, subject.previous_token_head
    losses: dict[str, list[Tensor]] = {"full": [], "patterns kept": []}
    for group in passages(subject):
        tokens, length = repeats.copies(group), group.shape[1]
        trace = model.trace(tokens)
        nothing = torch.zeros_like(trace.head_outputs[0][:, head[1]])
        intact = [_of_copy(trace.logits, tokens, length, copy) for copy in (0, 1)]
        for rows, frozen in zip(losses.values(), (False, True), strict=True):
            logits = ablation.with_output(model, trace, head, nothing, frozen)
            rise = [_of_copy(logits, tokens, length, copy) for copy in (0, 1)]
            rows.append((rise[1] - intact[1]) - (rise[0] - intact[0]))
    return {way: torch.cat(rows) for way, rows in losses.items()}


@claim(
    "pattern-preserving",
    "an ablation that keeps patterns hides what the previous-token head does for repeats",
    source="follow-up",
    section="Olsson et al. 2022",
    reported="by design, where later heads' keys alone read the head",
    chapter="16-what-freezing-hides",
    above=0.0,
    threshold_from="“hides”, and no number: of what is hidden less than half is seen; ours",
    verdict="reproduced",
    found=(
        "in {seeds} an ablation that keeps the patterns hides what the previous-token head "
        "does for repeats: what it shows is less than half, with {range} to spare."
    ),
    unit="nats per token",
    controls=[one_layer, untrained],
    planted=built_induction,
    moved_by=[SPLIT],
)
def pattern_preserving_hides(subject: Subject) -> Float[Tensor, " passage"]:
    """Half the cost to repeats of a full ablation, less that of one with patterns kept. [nats]

    Of the previous-token head, see `cost_for_repeats`. The second cost counts by its size, whatever
    its sign. Above 0 where it shows less than half of the first.
    """
    cost = cost_for_repeats(subject)
    return cost["full"] / 2 - _size(cost["patterns kept"])


def _of_copy(logits: Tensor, tokens: Tensor, length: int, copy: int) -> Float[Tensor, " passage"]:
    """Mean loss on one copy of each passage. [nats per token]"""
    targets = repeats.targets_of_copy(tokens, length, copy)
    summed = cross_entropy.per_token(logits, targets).sum(dim=1)
    return summed / (targets != -100).sum(dim=1)


def _lesser(gain: Gain, other: Gain) -> Gain:
    return gain if gain.nanmean() < other.nanmean() else other


def _if_heads_bring(gain: dict[str, Gain], values: Gain) -> Gain:
    of_heads = gain["single"] + gain["virtual"]
    return values if of_heads.nanmean().abs() >= BRINGS else torch.full_like(values, torch.nan)


def _size(values: Tensor) -> Tensor:
    """Values, with all signs turned if their mean is negative: size counts, not sign."""
    return -values if values.nanmean() < 0 else values
