"""Path expansion: the paths through a transformer whose attention patterns are held fixed (paper:
"The Path Expansion Trick").
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model import general
from transformer_circuits.model.transformer import Transformer

HeadPath = tuple[Head, ...]
"""Heads that a path goes through, earliest first. `()` is the direct path."""


def paths(
    model: Transformer, tokens: Int[Tensor, "batch pos"]
) -> dict[HeadPath, Float[Tensor, "batch pos d_model"]]:
    """Addition of every path to the last residual stream; `model.unembed` turns it into logits.

    One direct path, one path per head, one per pair of heads in different layers, and so on: in all
    (1 + n_heads)^n_layers terms, whose sum is the residual stream exactly. A large term need not
    matter, for terms can cancel.

    >>> from transformer_circuits.model import hand_built
    >>> model = hand_built.induction(n_vocab=4, n_ctx=7)
    >>> terms = paths(model, torch.tensor([[0, 1, 2, 3, 1, 2, 3]]))
    >>> [", then ".join(str(head) for head in path) for path in terms]
    ['', '0.0', '1.0', '0.0, then 1.0']
    >>> terms[(0, 0), (1, 0)].shape  # [batch, pos, d_model]
    torch.Size([1, 7, 20])
    """
    model.require_attention_only(*general.all_but(general.NORM))
    trace = model.trace(tokens)
    terms: dict[HeadPath, Tensor] = {(): trace.residual[0]}
    for index, layer in enumerate(model.layers):
        for path, x in list(terms.items()):
            written = layer.head_outputs(x, trace.patterns[index])
            for head in heads.of_layer(model, index):
                terms[(*path, head)] = written[:, head.head]
    return terms


Source = Head | None
"""Maker of a query or key: an earlier head, or None for the token and its position."""


@torch.no_grad()
def score_terms(
    model: Transformer, tokens: Int[Tensor, "batch pos"], head: heads.HeadName
) -> dict[tuple[Source, Source], Float[Tensor, "batch dst src"]]:
    """Raw attention scores of a head, split by the makers of query and key.

    The four families of the paper's expansion of a second-layer QK circuit: (None, None) is the
    token-to-token term; (h, None) is Q-composition with h, (None, h) K-composition, (h, h') both.
    They sum to `Attention.scores` before the causal mask, 1/√d_head included. The token itself
    stands for its embedding plus its position. In deeper layers an earlier head's output is one
    part, however it was made.
    """
    model.require_attention_only(general.STREAM, general.BIASES, general.OUTPUTS)
    trace, W_QK = model.trace(tokens), heads.W_QK(model, head)
    parts: dict[Source, Tensor] = {None: trace.residual[0] + model.W_P[: tokens.shape[1]]}
    for earlier in heads.every(model):
        if earlier.layer < heads.one(model, head).layer:
            parts[earlier] = trace.head_outputs[earlier.layer][:, earlier.head]
    queries = {source: x @ W_QK.left for source, x in parts.items()}  # [batch, dst, d_head] each
    keys = {source: x @ W_QK.right.T for source, x in parts.items()}  # [batch, src, d_head] each
    scale = math.sqrt(model.config.d_head)
    return {
        (of_query, of_key): query @ key.mT / scale
        for of_query, query in queries.items()
        for of_key, key in keys.items()
    }
