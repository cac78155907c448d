"""Ablation: the loss when a head writes nothing, or another vector (paper: "Term Importance
Analysis", and its zero-ablations).
"""

import copy
import dataclasses
from collections.abc import Iterable

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.model import cross_entropy, general
from transformer_circuits.model.base import Stack
from transformer_circuits.model.trace import Trace
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows


@torch.no_grad()
def without(model: Transformer, off: Iterable[heads.HeadName]) -> Transformer:
    """Copy of a model in which some heads write nothing, for their W_O is zero: zero ablation.

    Later layers read the changed stream, so their patterns may change, too.
    """
    heads.require_plain(model, *general.all_but(general.HELD))
    smaller = copy.deepcopy(model)
    for head in off:
        layer, index = heads.one(smaller, head)
        smaller.layers[layer].W_O[index].zero_()
    return smaller


def without_mlps(model: Transformer) -> Transformer:
    """Copy of a model without MLPs.

    With the patterns of the full model its logits are the sum of all paths through no MLP.
    """
    smaller = copy.deepcopy(model)
    smaller.mlps = Stack()
    smaller.config = dataclasses.replace(model.config, d_mlp=0)
    return smaller


REPLACEMENTS = ("zero", "mean", "resample")
"""Vectors in place of a head's output: zero; its own mean over all windows and positions; or its
output at the same position of another window.
"""


@torch.no_grad()
def with_output(
    model: Transformer,
    trace: Trace,
    head: heads.HeadName,
    output: Float[Tensor, "batch pos d_model"],
    frozen: bool = False,
) -> Float[Tensor, "batch pos n_vocab"]:
    """Logits when a head writes `output` instead of its own; `trace` is that of the unchanged model.

    Later heads read the changed stream. `frozen=True` keeps their patterns as they were (the
    pattern-preserving ablation of Olsson et al. 2022): then only their values can change.
    """
    model.require_attention_only(*general.all_but(general.HELD))
    layer, index = heads.one(model, head)
    x = trace.residual[layer + 1] + output - trace.head_outputs[layer][:, index]
    return model.unembed(_onwards(model, trace, layer, x, frozen))


def _onwards(
    model: Transformer, trace: Trace, layer: int, x: Float[Tensor, "batch pos d"], frozen: bool
) -> Float[Tensor, "batch pos d"]:
    """Last residual stream, if the stream after this layer is `x`."""
    for later in range(layer + 1, model.config.n_layers):
        pattern = trace.patterns[later] if frozen else None
        x = x + model.layers[later](x, model.W_P[: x.shape[1]], pattern)
    return x


@torch.no_grad()
def loss_increase(
    model: Transformer,
    inputs: Int[Tensor, "batch pos"],
    targets: Int[Tensor, "batch pos"],
    replacement: str = "zero",
    frozen: bool = False,
) -> Float[Tensor, "layer head"]:
    """Rise of the loss when one head's output is replaced, by head. [nats per counted token]

    Negative where the model does better so. The increases of several heads do not add up: heads
    with the same job stand in for each other. Targets of -100 are not counted. `replacement` is one
    of `REPLACEMENTS`; `frozen` as in `with_output`.
    """
    if replacement not in REPLACEMENTS or (replacement == "resample" and len(inputs) < 2):
        raise ValueError(
            f'replacement is "{replacement}" with {len(inputs)} windows but must be one of '
            f'{REPLACEMENTS}, "resample" with two windows at least'
        )
    model.require_attention_only(*general.all_but(general.HELD))
    config = model.config
    n_vocab = 1 if replacement == "resample" else config.n_vocab  # which needs several in a part
    batches = list(cross_entropy.batches(inputs, targets, n_vocab=n_vocab))
    means = model.W_E.new_zeros(config.n_layers, config.n_heads, 1, config.d_head)
    if replacement == "mean":
        sums = [_results(model, model.trace(part)).sum(dim=(1, 3)) for part, _ in batches]
        means = (
            torch.stack(sums).sum(dim=0)[:, :, None] / inputs.numel()
        )  # layer, head, place, d_head
    rises = means.new_zeros(config.n_layers, config.n_heads, dtype=torch.float64)
    for batch, batch_targets in batches:
        trace, counted = model.trace(batch), batch_targets != -100
        logits, right = trace.logits[counted], batch_targets[counted]
        intact = cross_entropy.per_token(logits, right)
        for layer, r in enumerate(_results(model, trace)):
            other = r.roll(1, dims=0) if replacement == "resample" else means[layer]
            for head, change in enumerate((other - r).unbind(dim=1)):
                where = trace, heads.Head(layer, head), counted
                losses = _losses(model, *where, change, logits, right, frozen)
                rises[layer, head] += float((losses - intact).sum())
    return (rises / (targets != -100).sum()).to(means)


@torch.no_grad()
def losses_without_heads(
    model: Transformer,
    inputs: Int[Tensor, "batch pos"],
    targets: Int[Tensor, "batch pos"],
    off: Iterable[heads.HeadName],
) -> tuple[Float[Tensor, "batch pos"], Float[Tensor, "head batch pos"]]:
    """Losses of the intact model, and those if one head writes nothing, for each of `off`. [nats]"""
    model.require(*general.all_but(general.HELD))
    off, parts = [heads.one(model, head) for head in off], []
    smaller = [without(model, [head]) for head in off] if model.mlps else []
    for batch, after in cross_entropy.batches(inputs, targets, n_vocab=model.config.n_vocab):
        trace, everywhere = model.trace(batch), torch.ones_like(after, dtype=torch.bool)
        logits, right, results = trace.logits.flatten(0, 1), after.flatten(), _results(model, trace)
        rows = [cross_entropy.per_token(logits, right)]
        rows += [cross_entropy.per_token(one(batch).flatten(0, 1), right) for one in smaller]
        for head in [] if smaller else off:
            change = -results[head.layer][:, head.head]
            rows.append(_losses(model, trace, head, everywhere, change, logits, right, False))
        parts.append(torch.stack(rows).unflatten(1, after.shape))
    losses = torch.cat(parts, dim=1)
    return losses[0], losses[1:]


def _losses(
    model: Transformer,
    trace: Trace,
    head: heads.Head,
    counted: Bool[Tensor, "batch pos"],
    change: Float[Tensor, "batch pos d_head"],
    logits: Float[Tensor, "counted n_vocab"],
    right: Int[Tensor, " counted"],
    frozen: bool,
) -> Float[Tensor, " counted"]:
    """Losses at the counted places if a head's result is changed; `logits` and `trace`: the intact ones."""
    W_O = model.layers[head.layer].W_O[head.head]
    if head.layer + 1 == model.config.n_layers and general.NORM not in model.forms:
        unembed = model.W_U @ W_O  # [n_vocab, d_head]
        return cross_entropy.changed(logits, change[counted], unembed, right)
    x = trace.residual[head.layer + 1] + change @ W_O.T
    x = _onwards(model, trace, head.layer, x, frozen)[counted]
    return cross_entropy.per_token(model.unembed(x), right)


def _results(model: Transformer, trace: Trace) -> Float[Tensor, "layer batch head pos d_head"]:
    """Results of all heads before W_O: the paper's vectors r."""
    W_P = model.W_P[: trace.residual[0].shape[1]]
    read = zip(model.layers, trace.residual, trace.patterns, strict=False)
    return torch.stack([layer.results(x, W_P, A) for layer, x, A in read])


@torch.no_grad()
def losses_at(
    model: Transformer, stream: Int[Tensor, " n_tokens"], positions: Int[Tensor, " n"]
) -> tuple[Float[Tensor, " n"], Float[Tensor, "n head"]]:
    """Loss on the token after each position of a stream, with a full context before it. [nats]

    A head of the last layer acts on the logits only through its own term, so one pass gives the
    loss without each of them.

    Returns:
        the loss of the model as it is, and without each head of its last layer.
    """
    model.require_attention_only(general.STREAM, general.ROTARY, general.BIASES)
    starts = positions + 1 + model.config.begin - model.config.n_ctx
    intact, without_each = [], []
    pair = (part.to(model.W_E.device) for part in windows.at(stream, starts, model.config))
    for inputs, targets in cross_entropy.batches(*pair):
        trace = model.trace(inputs)
        by_head = F.linear(trace.head_outputs[-1][:, :, -1], model.W_U)  # [batch, head, n_vocab]
        full = model.unembed(trace.residual[-1][:, -1:])  # [batch, 1, n_vocab]
        logits = torch.cat([full, full - by_head], dim=1)  # [batch, 1 + head, n_vocab]
        losses = cross_entropy.per_token(logits, targets[:, -1:].expand(logits.shape[:2]))
        intact.append(losses[:, 0])
        without_each.append(losses[:, 1:])
    return torch.cat(intact), torch.cat(without_each)
