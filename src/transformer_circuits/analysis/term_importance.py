"""Term importance: the part of the loss that each kind of path accounts for (paper: "Term
Importance Analysis").

Order n keeps the paths through at most n heads: order 0 is the direct path, order 1 adds every head
by itself, order 2 the virtual heads. Attention patterns are frozen: they stay as they are in the
full model. So effects of heads on each other's patterns are not seen here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import present_token
from transformer_circuits.analysis.heads import HeadName
from transformer_circuits.analysis.patterns import at as pattern_at
from transformer_circuits.analysis.patterns import of_all_layers
from transformer_circuits.model import cross_entropy, general
from transformer_circuits.model.transformer import Pattern, Transformer


@dataclass(frozen=True)
class Streams:
    """Final residual streams that hold some of the paths; `unembed` turns them into logits."""

    orders: tuple[Float[Tensor, "batch pos d_model"], ...]
    """Order 0 to n_layers; the last is the full model's."""
    layers: tuple[Float[Tensor, "batch pos d_model"], ...]
    """Direct path and the heads of one layer, each by itself; one entry per layer."""


@torch.no_grad()
def streams(
    model: Transformer,
    tokens: Int[Tensor, "batch pos"],
    frozen: bool = True,
    embedding: Sequence[HeadName] = (),
    places: Int[Tensor, " place"] | None = None,
) -> Streams:
    """Residual streams by the paper's algorithm: each run adds the heads' outputs of the run before.

    One run records the patterns. In the next, heads read the embeddings and their outputs are
    saved, not added; that is order 0. In each further one the outputs saved by the run before are
    added instead, which is one order more. So n_layers + 2 runs replace an explicit sum over (1 +
    n_heads)^n_layers paths. The last run has nothing to save, so it is a sum here. The first layer
    reads the embeddings in every run, so its output is made once.

    `frozen=False`: patterns are computed anew in each run, from the stream there.
    `embedding`: heads of the first layer that count as part of the embedding, see `present_token`.
    Their output is that of heads that look at the present token alone, is there from the start, and
    is not read by the other heads of their layer.
    `places`: the places of the streams, if not all; the last layer is computed nowhere else.
    """
    model.require_attention_only(*general.all_but(general.NORM))
    embedded, W_P = model.embed(tokens)
    direct, rest = present_token.written_out(model, embedded, embedding)
    n_layers, wanted = model.config.n_layers, slice(None) if places is None else places
    asked = [None] * (n_layers - 1) + [places]  # where each layer writes, if not everywhere
    patterns: list[Pattern | None] = [None] * n_layers
    outputs: list[Tensor] = []
    if frozen:
        x = direct
        for index, layer in enumerate(rest):
            read = x if index else embedded
            if index or n_layers == 1:  # the output of the first of several layers stays
                patterns[index] = pattern_at(layer, read, W_P, asked[index])
            if index + 1 < n_layers:
                outputs.append(layer(read, W_P, patterns[index]))
                x = x + outputs[-1]
    first, saved = outputs[:1], [torch.zeros_like(direct)] * n_layers
    orders, layers = [direct[:, wanted]], ()
    for _ in range(n_layers):
        x, outputs = direct, first[:]
        for index, layer in enumerate(rest):
            if index == len(outputs):
                read, A = x if index else embedded, patterns[index]
                if A is None:
                    A = pattern_at(layer, read, W_P, asked[index])
                outputs.append(layer(read, W_P, A))
            if index + 1 < n_layers:
                x = x + saved[index]
        written = [output[:, wanted] for output in outputs[:-1]] + outputs[-1:]
        orders.append(sum(written, start=orders[0]))
        layers = layers or tuple(orders[0] + output for output in written)
        first, saved = outputs[: n_layers > 1], outputs
    return Streams(tuple(orders), layers)


@torch.no_grad()
def streams_by_steps(
    model: Transformer, tokens: Int[Tensor, "batch pos"]
) -> tuple[Float[Tensor, "batch pos d_model"], ...]:
    """Final streams of the paths that take at most 0, 1, … n_layers steps, with frozen patterns.

    A head moves a token's information a step only as far as it looks elsewhere: a move from a
    position to itself is no step. So each pattern is its diagonal, which stays, and the rest, which
    steps. The last stream is the full model's.
    """
    model.require_attention_only(*general.all_but(general.NORM))
    direct, W_P = model.embed(tokens)
    exactly = [direct]  # by the number of steps
    for layer, A in zip(model.layers, of_all_layers(model, tokens), strict=True):
        stays = A * torch.eye(A.shape[-1]).to(A)
        after = [stream + layer(stream, W_P, stays) for stream in exactly]
        after.append(torch.zeros_like(direct))
        for steps, stream in enumerate(exactly, 1):
            after[steps] = after[steps] + layer(stream, W_P, A - stays)
        exactly = after
    return tuple(
        sum(exactly[:n], start=torch.zeros_like(direct)) for n in range(1, len(exactly) + 1)
    )


@torch.no_grad()
def patterns_of_embeddings(
    model: Transformer, tokens: Int[Tensor, "batch pos"], embedding: Sequence[HeadName] = ()
) -> tuple[Pattern, ...]:
    """Patterns of every layer with queries and keys that read the embeddings alone.

    Given to the full model, they take away the heads' effects on later patterns, and nothing else:
    the values and all the paths stay. `embedding` as for `streams`.
    """
    model.require(general.ROTARY, general.STREAM, general.BIASES, general.OUTPUTS)
    embedded, W_P = model.embed(tokens)
    direct, rest = present_token.written_out(model, embedded, embedding)
    patterns = []
    for index, layer in enumerate(rest):
        read = direct if index else embedded
        patterns.append(layer.pattern(read, read, W_P))
    return tuple(patterns)


@torch.no_grad()
def under_patterns_of_embeddings(
    model: Transformer,
    tokens: Int[Tensor, "batch pos"],
    embedding: Sequence[HeadName] = (),
    places: Int[Tensor, " place"] | None = None,
) -> Float[Tensor, "batch place d_model"]:
    """Last residual stream of the full model under `patterns_of_embeddings`, at some places or all."""
    model.require(general.ROTARY, general.STREAM, general.BIASES, general.OUTPUTS)
    embedded, W_P = model.embed(tokens)
    direct, rest = present_token.written_out(model, embedded, embedding)
    wanted, x = slice(None) if places is None else places, direct
    for index, layer in enumerate(rest):
        last = index + 1 == len(rest)  # computed nowhere else
        looks, reads = (direct, x) if index else (embedded, embedded)
        A = pattern_at(layer, looks, W_P, places if last else None)
        x = (x[:, wanted] if last else x) + layer(reads, W_P, A)
    return x if len(rest) else x[:, wanted]


@torch.no_grad()
def losses(
    model: Transformer,
    inputs: Int[Tensor, "batch pos"],
    targets: Int[Tensor, "batch pos"],
    frozen: bool = True,
) -> dict[str, Float[Tensor, "batch pos"]]:
    """Loss at every position, by the paths that are kept. [nats]

    "order 0", "order 1", …, and "layer 0", …: the direct path and that layer's heads alone.
    """
    by_part: dict[str, list[Tensor]] = {}
    for batch, after in cross_entropy.batches(inputs, targets):
        kept = streams(model, batch, frozen)
        for name in ("order", "layer"):
            for index, x in enumerate(getattr(kept, f"{name}s")):
                losses = cross_entropy.of_streams(model, x, after)
                by_part.setdefault(f"{name} {index}", []).append(losses)
    return {name: torch.cat(rows) for name, rows in by_part.items()}


@torch.no_grad()
def losses_by_steps(
    model: Transformer, inputs: Int[Tensor, "batch pos"], targets: Int[Tensor, "batch pos"]
) -> Float[Tensor, "steps batch pos"]:
    """Loss at every position with the paths of at most 0, 1, … n_layers steps. [nats]"""
    parts = [
        torch.stack(
            [cross_entropy.of_streams(model, x, after) for x in streams_by_steps(model, batch)]
        )
        for batch, after in cross_entropy.batches(inputs, targets)
    ]
    return torch.cat(parts, dim=1)
