"""How much of the loss each kind of path accounts for (paper: "Term Importance Analysis").

Order n keeps the paths through at most n heads: order 0 is the direct path, order 1 adds every
head by itself, order 2 the virtual heads. Attention patterns are frozen: they stay as they are in
the whole model. So what heads do to each other's patterns is not seen here.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.model.attention import Pattern
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer, windows
from transformer_circuits.training import cross_entropy


@dataclass(frozen=True)
class Streams:
    """Final residual streams that hold some of the paths; W_U turns them into logits."""

    orders: tuple[Float[Tensor, "batch pos d_model"], ...]
    """Order 0 to n_layers; the last is the whole model's."""
    layers: tuple[Float[Tensor, "batch pos d_model"], ...]
    """Direct path and the heads of one layer, each by itself; one entry per layer."""


@torch.no_grad()
def streams(model: Transformer, tokens: Int[Tensor, "batch pos"], frozen: bool = True) -> Streams:
    """The paper's algorithm: each run adds what the heads wrote in the run before.

    One run records the patterns. In the next, heads read the embeddings and their outputs are
    saved, not added; that is order 0. In each further one the outputs saved by the run before are
    added instead, which is one order more. So n_layers + 2 runs, the last of which repeats the
    whole model, do what an explicit sum does with (1 + n_heads)^n_layers paths.

    `frozen=False`: patterns are computed anew in each run, from what is in the stream there.

    Raises:
        ValueError: if the tokens are longer than n_ctx, or the model has MLPs.
    """
    model.require_attention_only()
    direct, W_P = model.embed(tokens)
    patterns = model.trace(tokens).patterns if frozen else [None] * model.config.n_layers
    saved = [torch.zeros_like(direct)] * model.config.n_layers
    orders, layers = [], ()
    for _ in range(model.config.n_layers + 1):
        x, outputs = direct, []
        for index, layer in enumerate(model.layers):
            outputs.append(layer(x, W_P, patterns[index]))
            x = x + saved[index]
        orders.append(x)
        layers = layers or tuple(direct + output for output in outputs)
        saved = outputs
    return Streams(tuple(orders), layers)


@torch.no_grad()
def patterns_of_embeddings(
    model: Transformer, tokens: Int[Tensor, "batch pos"]
) -> tuple[Pattern, ...]:
    """Every layer's patterns as they would be if queries and keys read the embeddings alone.

    Given to the whole model, they take away what heads do to later patterns, and nothing else:
    the values and all the paths stay.

    Raises:
        ValueError: if the tokens are longer than n_ctx.
    """
    embedded, W_P = model.embed(tokens)
    return tuple(layer.pattern(embedded, embedded, W_P) for layer in model.layers)


@torch.no_grad()
def losses(
    model: Transformer,
    inputs: Int[Tensor, "batch pos"],
    targets: Int[Tensor, "batch pos"],
    frozen: bool = True,
) -> dict[str, Float[Tensor, "batch pos"]]:
    """The loss at every position, by what is kept. [nats]

    "order 0", "order 1", …, and "layer 0", …: the direct path and that layer's heads alone.

    Raises:
        ValueError: as `streams`.
    """
    found: dict[str, list[Tensor]] = {}
    for batch, batch_targets in cross_entropy.batches(inputs, targets):
        kept = streams(model, batch, frozen)
        for name in ("order", "layer"):
            for index, x in enumerate(getattr(kept, f"{name}s")):
                loss = cross_entropy.per_token(F.linear(x, model.W_U), batch_targets)
                found.setdefault(f"{name} {index}", []).append(loss)
    return {name: torch.cat(rows) for name, rows in found.items()}


def documents(
    stream: Int[Tensor, " n_tokens"], n_windows: int, config: ModelConfig
) -> Int[Tensor, "n_windows n_ctx"]:
    """Which document of the stream each target of `windows.evenly` belongs to, counted from 1.

    Raises:
        ValueError: if the stream is shorter than one window.
    """
    number = (stream == tokenizer.BEGIN).cumsum(dim=0)  # [n_tokens]
    first = windows.starts(stream, n_windows, config) + (not config.begin)  # of the targets
    return number[first[:, None] + torch.arange(config.n_ctx)]


def bootstrap(
    values: Float[Tensor, "kind *place"],
    document: Int[Tensor, "*place"],
    n: int,
    *,
    generator: torch.Generator,
) -> Float[Tensor, "n kind"]:
    """Means over `n` draws, with replacement, of as many documents as there are.

    Whole documents are drawn, for tokens of one document are alike; so the spread says what another
    collection of such documents would have given. Every token counts the same, so long documents
    weigh more. One draw serves all kinds: take differences within a draw.

    Raises:
        ValueError: if there are fewer than two documents.
    """
    ids, index = document.to(values.device).flatten().unique(return_inverse=True)  # [doc], [token]
    if len(ids) < 2:
        raise ValueError(f"a bootstrap draws among documents but there is {len(ids)}")
    sums = values.new_zeros(len(values), len(ids))  # [kind, doc]
    sums.index_add_(1, index, values.flatten(1))
    n_tokens = index.bincount(minlength=len(ids)).to(values)  # [doc]
    drawn = torch.randint(
        len(ids), (n, len(ids)), generator=generator
    )  # [n, doc], with replacement
    total = sums[:, drawn].sum(dim=2).T  # [n, kind]
    return total / n_tokens[drawn].sum(dim=1, keepdim=True)
