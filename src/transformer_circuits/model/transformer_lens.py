"""Models of the book as models of TransformerLens, for tools that expect those."""

import torch
from torch import nn

from transformer_circuits.model.transformer import Transformer


@torch.no_grad()
def to_transformer_lens(model: Transformer) -> nn.Module:
    """The same model as a HookedTransformer of TransformerLens, with its transposed weights.

    Positions go to queries and keys alone there, too ("shortformer"), so logits and patterns are
    the same; contexts may be as long as the model's n_ctx.

    Raises:
        ImportError: if TransformerLens is not installed (the `peers` extra).
        ValueError: if the model has MLPs.
    """
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    model.require_attention_only()
    shape = model.config
    peer = HookedTransformer(
        HookedTransformerConfig(
            n_layers=shape.n_layers, d_model=shape.d_model, n_ctx=shape.n_ctx,
            d_head=shape.d_head, n_heads=shape.n_heads, d_vocab=shape.n_vocab, attn_only=True,
            normalization_type=None, positional_embedding_type="shortformer", seed=0,
            dtype=model.W_E.dtype,
        )
    )  # fmt: skip
    for weight in peer.parameters():
        weight.zero_()  # the biases, which we do not have
    peer.W_E.copy_(model.W_E.T)
    peer.W_U.copy_(model.W_U.T)
    peer.pos_embed.W_pos.copy_(model.W_P)
    for block, layer in zip(peer.blocks, model.layers, strict=True):
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            getattr(block.attn, name).copy_(getattr(layer, name).mT)
    return peer
