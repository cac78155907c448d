"""What is claimed of copying: of copying heads and of those that do not copy, of deletion, and of what is
moved from the begin token."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import ablation, copying_scores, heads, patterns
from transformer_circuits.analysis.heads import Head
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import (
    random_heads,
    shuffled_heads,
    shuffled_text,
    untrained,
)
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.planted import deleting_head, suppressing_head
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer

EXCEPTIONS = 1 / 6
"""The share of heads that do not copy in the paper: 2 of 12."""
AGO = 16
"""How far back the prediction is made that another is compared with, or half of a short passage."""


@decides("copying-heads", controls=[untrained, random_heads])
def share_of_copying_heads(subject: Subject) -> Float[Tensor, ""]:
    """Share of the last layer's heads whose OV score lies four sd above random heads'. 0 to 1.

    The score is that of the head alone, past the layers before; random heads stand between the same
    trained embeddings. A fact of the weights. Paper: "Detecting Copying Behavior", and the authors'
    video on results of two layers.
    """
    model = subject.model
    generator = torch.Generator().manual_seed(0)
    null = copying_scores.null(model.W_U, model.W_E, model.config.d_head, 200, generator=generator)
    bound = null.mean() + 4 * null.std()
    scores = torch.tensor(
        [_ov_score(model, head) for head in heads.of_layer(model, model.config.n_layers - 1)]
    )
    return (scores > bound).double().mean()


share_in_second_layer = decides("copying-second-layer", controls=[untrained, random_heads])(
    share_of_copying_heads.function
)


@decides("positional-exceptions", controls=[untrained, shuffled_heads])
def attention_of_exceptions(subject: Subject) -> Float[Tensor, " passage"]:
    """How much the heads that copy least look at the present and the previous token: 0 to 1.

    They are the sixth of all heads with the lowest OV scores, as in the paper (2 of 12; rounded up):
    chosen by their OV circuits, measured by their attention. Of them the one that looks near least.
    Positions 0 and 1 are left out, for there is little else to look at. Paper: "Detecting Copying
    Behavior", and its video on one-layer results.
    """
    every = sorted(heads.every(subject.model), key=lambda head: _ov_score(subject.model, head))
    chosen = every[: math.ceil(EXCEPTIONS * len(every))]
    A = patterns.of_all_layers(
        subject.model, subject.windows(samples.PASSAGES_OF_TEXT, samples.TOKENS_OF_PASSAGES)[0]
    )
    near = torch.stack([_near(A[head.layer][:, head.head]) for head in chosen])  # [head, passage]
    return near[int(near.mean(dim=1).argmin())]


@decides("memory-deletion", controls=[random_heads, shuffled_heads], planted=deleting_head)
def deletion_by_negative_head(subject: Subject) -> Float[Tensor, " passage"]:
    """How much of the present token a head deletes for later layers; 1 is an even share.

    An even share is d_head/d_model: what a head deletes that writes the negative of d_head dimensions
    which are read like any others. 0: as much is read as without it. Negative: more is read. The
    head is the one of the first layer with the lowest OV score; later layers read with W_Q, W_K and
    W_V (with W_U, if there are none). Paper: "Detecting Copying Behavior".
    """
    model = subject.model
    head = min(heads.of_layer(model, 0), key=lambda head: _ov_score(model, head))
    x, W_P = model.embed(subject.windows(samples.PASSAGES_OF_TEXT, samples.TOKENS_OF_PASSAGES)[0])
    layer = model.layers[0]
    written = layer.head_outputs(x, layer.pattern(x, x, W_P))[:, head.head]
    readers = [
        weight
        for later in model.layers[1:]
        for weight in (later.W_Q_concat, later.W_K_concat, later.W_V_concat)
    ]
    reads = torch.cat(readers) if readers else model.W_U
    even = model.config.d_head / model.config.d_model
    return copying_scores.deletion(reads, x[:, 1:], written[:, 1:]) / even


@decides("copy-suppression", controls=[untrained, random_heads], planted=suppressing_head)
def suppression_by_negative_head(subject: Subject) -> Float[Tensor, " passage"]:
    """How much more a head raises the token of its past that is predicted most than another. [logits]

    The head is the one with the lowest OV score of all layers, if that is below 0; else the values
    are 0. At each place, of the tokens that the text has had so far: what the head adds by itself to
    the logit of the one that is predicted most without it, less what it adds to the one that was so
    16 places before. Below 0, the head lowers what is already predicted; a head that lowers whatever
    it sees has 0. Source: McDougall et al. 2023, "Copy Suppression".
    """
    model, tokens = (
        subject.model,
        subject.windows(samples.PASSAGES_OF_TEXT // 2, samples.TOKENS_OF_PASSAGES)[0],
    )
    scores = {head: _ov_score(model, head) for head in heads.every(model)}
    head = min(scores, key=scores.__getitem__)
    if scores[head] >= 0:
        return torch.zeros(len(tokens))
    trace = model.trace(tokens)
    written = trace.head_outputs[head.layer][:, head.head]
    W_U, seen = model.W_U[tokens].mT, torch.ones(2 * tokens.shape[1:], dtype=torch.bool).tril()
    added = written @ W_U  # [passage, dst, token of the passage]
    without = ((trace.residual[-1] - written) @ W_U).masked_fill(~seen, -torch.inf)
    predicted = without.argmax(dim=2)  # [passage, dst]
    ago = min(AGO, tokens.shape[1] // 2)
    here, before = (
        added[:, ago:].gather(2, each[..., None])[..., 0]
        for each in (predicted[:, ago:], predicted[:, :-ago])
    )
    return (here - before).mean(dim=1)


@decides("value-weighted", controls=[untrained, random_heads])
def length_of_begin_value(subject: Subject) -> Float[Tensor, " passage"]:
    """How long the begin token's value is, beside the other values of a short passage; 1 is as long.

    Mean over all heads, weighted by how much each looks at the begin token: those that rest on it
    count. Passages have 17 tokens, so that there is little else to look at. Paper: "Analyzing a
    Two-Layer Model", whose patterns are weighted by the length of values.
    """
    model = subject.model
    passages = subject.windows(samples.PASSAGES_OF_TEXT, 17)[0].clone()
    passages[:, 0] = tokenizer.BEGIN
    trace = model.trace(passages)
    looked, ratios = [], []
    for layer, pattern in enumerate(trace.patterns):
        lengths = patterns.value_norms(model, trace, layer)  # [passage, head, src]
        looked.append(pattern[:, :, 1:, 0].mean(dim=-1))
        ratios.append(lengths[..., 0] / lengths[..., 1:].mean(dim=-1).clamp(min=1e-12))
    weight, ratio = torch.cat(looked, dim=1), torch.cat(ratios, dim=1)  # [passage, head]
    return (weight * ratio).sum(dim=1) / weight.sum(dim=1).clamp(min=1e-12)


@decides("positional-words", controls=[random_heads, shuffled_text])
def worth_inside_words(subject: Subject) -> Float[Tensor, " passage"]:
    """How much more the previous-token head is worth where a word goes on than elsewhere. [nats]

    A word goes on where the present token continues one (`tokenizer.inside_words`); what is predicted
    comes after it. A head's worth is the rise of the loss when it is switched off; the head is the
    first layer's that looks one back most (`head_roles`). Of the others, the one with the highest OV
    score is measured, too: if it is worth more inside words as well, its difference is taken off.
    0: no more than elsewhere. Not a number where a passage has no such place. Paper: "Primarily
    Positional Attention Heads".
    """
    model, (inputs, targets) = subject.model, subject.windows(samples.PASSAGES_OF_TEXT, 64)
    subject.require(len(heads.every(model)) > 1, "two heads")
    previous = subject.previous_token_head
    others = [head for head in heads.every(model) if head != previous]
    copier = max(others, key=lambda head: _ov_score(model, head))
    inside = tokenizer.inside_words(inputs)
    intact, *off = (
        _losses(ablation.without(model, heads_off), inputs, targets)
        for heads_off in ([], [previous], [copier])
    )
    of_previous, of_copier = (
        (rise.masked_fill(~inside, math.nan).nanmean(dim=1))
        - rise.masked_fill(inside, math.nan).nanmean(dim=1)
        for rise in (each - intact for each in off)
    )
    return of_previous - of_copier if of_copier.nanmean() > 0 else of_previous


def _ov_score(model: Transformer, head: Head) -> float:
    return copying_scores.positivity(heads.full_ov(model, head).eigenvalues())


def _near(pattern: Float[Tensor, "batch dst src"]) -> Float[Tensor, " batch"]:
    """Mean attention to the present token and the one before it, from position 2 on."""
    here, previous = (pattern.diagonal(-back, dim1=1, dim2=2) for back in (0, 1))
    return (here[:, 2:] + previous[:, 1:]).mean(dim=1)


def _losses(
    model: Transformer, inputs: Int[Tensor, "batch pos"], targets: Int[Tensor, "batch pos"]
) -> Float[Tensor, "batch pos"]:
    parts = cross_entropy.batches(inputs, targets)
    return torch.cat([cross_entropy.per_token(model(x), y) for x, y in parts])
