"""Claims from the paper's remarks on copying and induction, which have no figure there."""

import dataclasses
import math
from functools import cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits.analysis import bigrams, copying_scores, heads, induction, patterns
from transformer_circuits.claims import about_copying, samples, subjects
from transformer_circuits.claims.controls import (
    Graded,
    heads_without_effect,
    one_layer,
    random_heads,
    shuffled_text,
    untrained,
)
from transformer_circuits.claims.measurement import claim
from transformer_circuits.claims.rewritings import SPLIT
from transformer_circuits.claims.subjects import Subject, once
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, windows
from transformer_circuits.text.tokenizer import BEGIN

FIRST = 10
"""Number of tokens a copying head raises most, among which the token itself must be."""


def copying_heads(subject: Subject) -> list[int]:
    """Last-layer heads with an OV score four standard deviations above random heads'; all, if none has.

    Heads that count as part of the embedding are left out, unless all are: they move nothing.
    """
    every = heads.of_layer(subject.model, subject.model.config.n_layers - 1)
    last = [head for head in every if head not in subject.in_embedding] or every
    bound = about_copying.bound(subject)
    copying = [head.head for head in last if about_copying.ov_score(subject, head) > bound]
    return copying or [head.head for head in last]


def _copying(subject: Subject, size: float) -> Subject:
    """Model with random embeddings, and heads that write a part of what they read back where it was read.

    W_U is W_Eᵀ. `size`: the part of W_O that is W_Vᵀ; the rest is random, and of the same size.
    """
    model = subjects.random_weights(subject)
    model.W_U.data = model.W_E.T.clone()
    layer = model.layers[-1]
    like = layer.W_V.mT * (layer.W_O.norm() / layer.W_V.norm())
    layer.W_O.data.copy_(size * like + (1 - size) * layer.W_O)
    return subject.with_model("copying heads", model)


copying_in_part = Graded(
    "a part of {} of every head that copies", _copying, sizes=(0.25, 0.5, 1.0), counts=0.5
)


@claim(
    "copying-own-token",
    "heads that copy by their eigenvalues also raise a token itself among the most, far more "
    "often than chance has it",
    section="Detecting Copying Behavior",
    reported="other definitions “point in the direction”",
    chapter="07-copying",
    of="one-layer",
    above=10.0,
    threshold_from=(
        "an order of magnitude above chance, far from any draw of random heads; ours, for the "
        "paper says only that such measures “point in the direction” of copying"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} heads that copy by their eigenvalues also raise the token itself among the"
        " most: it is among the first ten {range} as often as by chance."
    ),
    unit="times",
    controls=[untrained, random_heads],
    planted=copying_in_part,
    moved_by=[SPLIT],
)
def own_token_among_the_first(subject: Subject) -> Float[Tensor, " token"]:
    """Rate at which a copying head has the token itself among the ten it raises most. [times chance]

    Per token of the vocabulary, the share of the copying heads, by their eigenvalues, that do, over
    the share of the vocabulary that ten tokens are. Paper: "Detecting Copying Behavior", on other
    ways to define copying.
    """
    model, layer = subject.model, subject.model.config.n_layers - 1
    ranks = [
        copying_scores.own_ranks(heads.full_ov(model, (layer, h))) for h in copying_heads(subject)
    ]
    return (torch.stack(ranks) < FIRST).double().mean(dim=0) * model.config.n_vocab / FIRST


@claim(
    "copying-diagonal",
    "the diagonals of heads that copy by their eigenvalues lean to the positive",
    section="Detecting Copying Behavior",
    reported="“very positive-leaning”",
    chapter="07-copying",
    of="one-layer",
    above=0.75,
    threshold_from=(
        "three quarters: half is without any leaning, and “very” is read as three positive "
        "entries for each negative one; ours"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} heads that copy by their eigenvalues raise the token itself more than the "
        "mean token, for {range} of the vocabulary."
    ),
    unit="%",
    controls=[untrained, random_heads, heads_without_effect],
    draws=20,
    moved_by=[SPLIT],
)
def raises_own_token(subject: Subject) -> Float[Tensor, " token"]:
    """Share of copying heads that raise a token itself above the mean of all tokens. 0 to 1.

    Per token of the vocabulary, the share of the copying heads, by their eigenvalues, whose circuit
    has a positive entry on the diagonal there; heads without effect are left out. Half is chance.
    (The sum of the diagonal is that of the eigenvalues, so the choice of heads makes its mean
    positive; the number of positive entries is free.) Paper: "Detecting Copying Behavior", on other
    ways to define copying.
    """
    model, layer = subject.model, subject.model.config.n_layers - 1
    W_U = model.W_U - model.W_U.mean(dim=0)
    rows = []
    for h in copying_heads(subject):
        if subject.does((layer, h)):
            written = heads.W_OV(model, (layer, h)).dense() @ model.W_E  # [d_model, token]
            rows.append((W_U * written.T).sum(dim=1) > 0)
    if not rows:
        return torch.tensor([math.nan])
    return torch.stack(rows).double().mean(dim=0)


@claim(
    "looks-where-plausible",
    "copying heads look only at tokens that could plausibly come next",
    section="Copying / Primitive In-Context Learning",
    reported="“only”, “bigram-ish statistics”",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=1.0,
    threshold_from="in doublings: twice as much; ours, for a word (“only”) that no share can meet",
    verdict="not reproduced",
    found=(
        "copying heads hardly prefer tokens that could come next: they give them {range} times"
        " the attention that they would if another token stood where they look from, and more "
        "than {threshold} was asked for."
    ),
    unit="doublings",
    controls=[untrained, random_heads, shuffled_text],
    sample=samples.MANY,
)
def looks_at_plausible(subject: Subject) -> Float[Tensor, " document"]:
    """Preference of copying heads for tokens that could come next. [doublings]

    A token could come next that has followed the present one somewhere in the text outside of the
    measured windows. Attention to such tokens, as a share of that to all earlier tokens, over the
    same share if the destination were another token of the window, a fifth of it back; per
    document, as a binary logarithm. 1: twice as much. Paper: "Copying / Primitive In-Context
    Learning".
    """
    model, layer = subject.model, subject.model.config.n_layers - 1
    inputs, _ = subject.windows(*samples.MANY)
    follows, chosen = _follows(subject.text, model.config), copying_heads(subject)
    rows = []
    for tokens in inputs.split(4):
        A = patterns.of_all_layers(model, tokens)[layer][:, chosen].mean(dim=1).double()
        earlier = (tokens != BEGIN)[:, None, :] & torch.ones(A.shape[1:]).tril(-1).bool()
        A = A * earlier
        other = tokens.roll(max(1, tokens.shape[1] // 5), dims=1)
        rows.append(
            torch.stack([(A * _could(follows, dst, tokens)).sum(dim=2) for dst in (tokens, other)])
        )
    actual, exchanged = (subject.by_document(values) for values in torch.cat(rows, dim=1))
    return (actual / exchanged).log2().where((actual > 0) & (exchanged > 0), math.nan)


@cache
def _follows(text: Int[Tensor, " n_tokens"], shape: ModelConfig) -> Bool[Tensor, "out before"]:
    """Pairs of tokens that follow each other in a text, outside of the windows that are measured."""
    n, n_ctx = samples.MANY
    measured = windows.evenly(text, n, shape, n_ctx=min(n_ctx, shape.n_ctx))
    return bigrams.counts(text, shape.n_vocab) > bigrams.counts_of(*measured, shape.n_vocab)


def _could(
    follows: Bool[Tensor, "out before"], dst: Tensor, tokens: Tensor
) -> Bool[Tensor, "window dst src"]:
    """True if the token at each source could come after that at each destination."""
    return follows[tokens[:, None, :], dst[:, :, None]]


@claim(
    "confident-where-matched",
    "where an induction head has a match, predictions are much surer than those of one layer",
    section="Function of Induction Heads",
    reported="“much more confident”",
    chapter="11-induction-heads",
    above=0.693,
    threshold_from="ln 2, “much”: half as many tokens to choose from; ours",
    verdict="reproduced",
    found=(
        "in {seeds} two layers are much surer than one where an induction head has a match: by"
        " {range} more than where the token is new."
    ),
    unit="nats",
    controls=[one_layer, untrained, random_heads],
)
def surer_where_matched(subject: Subject) -> Float[Tensor, " document"]:
    """Lower entropy than one layer's where an induction head has a match, beyond that at new tokens. [nats]

    Entropy of the one-layer model's prediction less this one's, per document of held-out text: at
    places where the strongest head gives more than half of its attention to followers of earlier
    occurrences of the present token; less the mean of the same at places whose token has not come
    before. ln 2 is half as many choices; 0 if the head never has a match. Paper: "Function of
    Induction Heads".
    """
    inputs, _ = subject.windows(*samples.MANY)
    places = torch.arange(inputs.shape[1])[samples.PLACES]
    model, head, rows = subject.model, subject.induction_head.head, []
    for part in inputs.split(8):
        x, W_P = patterns.stream(model, part, len(model.layers) - 1), model.W_P[: part.shape[1]]
        A = patterns.at(model.layers[-1], x, W_P, places)[:, head]
        followed = samples.at_targets(induction.followers(part))
        rows.append(torch.stack([(A * followed).sum(dim=2) > 0.5, followed.any(dim=2)]))
    matched, before = torch.cat(rows, dim=1)
    if not matched.any():
        return subject.by_document(torch.zeros(inputs.shape, dtype=torch.float64))
    new = ~before & (samples.at_targets(inputs) != BEGIN)
    models = subject.sibling("one-layer").model, model
    entropies = [_entropies(of_depth, inputs, places, matched | new) for of_depth in models]
    surer = entropies[0] - entropies[1]
    surer = (surer - surer[new].mean()).masked_fill(~matched, math.nan)
    return subject.by_document(samples.spread(surer, inputs.shape[1]))


@claim(
    "shifted-text",
    "induction is less vulnerable to a shift of distribution than what one layer learns from context",
    section="Function of Induction Heads",
    reported="“less vulnerable”, by its not depending on which token can plausibly follow which",
    chapter="11-induction-heads",
    above=0.1,
    threshold_from=(
        "a tenth of what is saved, so that a difference which is only not chance does not "
        "count; ours, the paper gives no number"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} induction is less vulnerable to a shift of distribution: on C++, of which "
        "the training text has none, two layers keep more of what they save by it than one "
        "layer does, by {range} of what is saved on other text."
    ),
    unit="%",
    controls=[one_layer, untrained, random_heads],
)
def kept_beyond_one_layer(subject: Subject) -> Float[Tensor, " document"]:
    """Share of its savings that a model keeps on another kind of text, less that of one layer.

    Savings are against the model without layers, where the present token has been followed before
    by the next one, but the pair up to it is new. The share: per document of C++, of which the
    training text has none, over the mean over documents of held-out text. Not a number if one of
    the two models saves nothing on held-out text. It is one shift, to one kind of text. For a text
    that is not the book's, that text itself stands in for C++. Paper: "Function of Induction Heads".
    """
    kept = []
    for model in (subject, subject.sibling("one-layer")):
        before = _saved(model).nanmean()
        kept.append(_saved(_elsewhere(model)) / before.where(before > 0, math.nan))
    return kept[0] - kept[1]


@once
def _elsewhere(subject: Subject) -> Subject:
    """Subject on C++, of which the training text has none; unchanged if its text is not the book's."""
    if not subject.of_the_book:
        return subject
    return dataclasses.replace(subject, text=corpus.tokens("small", "unseen-kind"))


@once
def _saved(subject: Subject) -> Float[Tensor, " document"]:
    """Loss that a model saves against zero layers where one token alone matches. [nats per token]"""
    zero, rows = subject.sibling("zero-layer").model, []
    for tokens, wanted in cross_entropy.batches(*subject.windows(*samples.MANY)):
        asked = _one_token_matches(tokens, wanted)  # logits are made there alone: they cost most
        present = zero.stream(tokens[asked][:, None])[:, 0]  # all that zero layers read
        losses = [
            cross_entropy.of_streams(model, x, wanted[asked])
            for model, x in (
                (zero, present),
                (subject.model, patterns.stream(subject.model, tokens)[asked]),
            )
        ]
        rows.append(torch.full(tokens.shape, math.nan, dtype=torch.float64))
        rows[-1][asked] = losses[0].double() - losses[1].double()
    return subject.by_document(torch.cat(rows))


def _one_token_matches(
    tokens: Int[Tensor, "window pos"], targets: Int[Tensor, "window pos"]
) -> Bool[Tensor, "window pos"]:
    """Places whose target followed the present token before, though the last two tokens are a new pair."""
    followed = induction.followers(tokens)
    pairs = followed[:, 1:, 1:] & followed[:, :-1, :-1]
    right = (followed & (tokens[:, None, :] == targets[:, :, None])).any(dim=2)
    right[:, 1:] &= ~pairs.any(dim=2)
    return right


def _entropies(
    model: Transformer,
    tokens: Int[Tensor, "window pos"],
    places: Int[Tensor, " place"],
    where: Bool[Tensor, "window place"],
) -> Float[Tensor, "window place"]:
    """Entropies of predictions at the places in `where`; not a number elsewhere. [nats]"""
    entropies = torch.full(where.shape, math.nan, dtype=torch.float64)
    batches = zip(tokens.split(8), where.split(8), entropies.split(8), strict=True)
    for part, asked, of_part in batches:
        log_p = model.unembed(patterns.stream_at(model, part, places)[asked]).log_softmax(dim=-1)
        of_part[asked] = -(log_p.exp() * log_p).sum(dim=-1).double()
    return entropies
