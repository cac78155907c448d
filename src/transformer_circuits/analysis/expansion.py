"""The paths through a transformer whose attention patterns are held fixed (paper: "The Path
Expansion Trick")."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model.transformer import Transformer

HeadPath = tuple[Head, ...]
"""The heads a path goes through, earliest first. `()` is the direct path."""


def paths(
    model: Transformer, tokens: Int[Tensor, "batch pos"]
) -> dict[HeadPath, Float[Tensor, "batch pos d_model"]]:
    """What every path adds to the last residual stream; multiply by W_U for its logits.

    One direct path, one per head, one per pair of heads in different layers, and so on: in all
    (1 + n_heads)^n_layers terms, whose sum is the residual stream exactly. Their sizes may not
    be read as importance: terms can cancel.

    Raises:
        ValueError: if the tokens are longer than n_ctx, or the model has MLPs.
    """
    model.require_attention_only()
    trace = model.trace(tokens)
    terms: dict[HeadPath, Tensor] = {(): trace.residual[0]}
    for index, layer in enumerate(model.layers):
        for path, x in list(terms.items()):
            written = layer.head_outputs(x, trace.patterns[index])
            for head in heads.of_layer(model, index):
                terms[(*path, head)] = written[:, head.head]
    return terms


Source = Head | None
"""What a query or key is made from: an earlier head, or None for the token itself (with position)."""


@torch.no_grad()
def score_terms(
    model: Transformer, tokens: Int[Tensor, "batch pos"], head: tuple[int, int]
) -> dict[tuple[Source, Source], Float[Tensor, "batch dst src"]]:
    """The raw attention scores of a head, split by what made the query and what made the key.

    The four families of the paper's expansion of a second-layer QK circuit: (None, None) is the
    token-to-token term; (h, None) is Q-composition with h, (None, h) K-composition, (h, h') both.
    They sum to `Attention.scores` before the causal mask, 1/√d_head included. The token itself
    stands for its embedding plus its position. In deeper layers an earlier head's output counts
    as a whole, whatever it was made from.

    Raises:
        ValueError: if there is no such head, the tokens are longer than n_ctx, or the model has
            MLPs.
    """
    model.require_attention_only()
    trace, W_QK = model.trace(tokens), heads.W_QK(model, head)
    parts: dict[Source, Tensor] = {None: trace.residual[0] + model.W_P[: tokens.shape[1]]}
    for earlier in heads.every(model):
        if earlier.layer < head[0]:
            parts[earlier] = trace.head_outputs[earlier.layer][:, earlier.head]
    queries = {source: x @ W_QK.left for source, x in parts.items()}  # [batch, dst, d_head] each
    keys = {source: x @ W_QK.right.T for source, x in parts.items()}  # [batch, src, d_head] each
    scale = math.sqrt(model.config.d_head)
    return {
        (of_query, of_key): query @ key.mT / scale
        for of_query, query in queries.items()
        for of_key, key in keys.items()
    }
