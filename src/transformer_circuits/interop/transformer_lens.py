"""Models of the book as models of TransformerLens, for tools that expect those."""

from importlib.metadata import version

import torch
from torch import nn

from transformer_circuits.model.transformer import Transformer


def to_transformer_lens(model: Transformer) -> nn.Module:
    """The same model in TransformerLens, with its transposed weights: same logits, same patterns.

    Up to TransformerLens 3 it is a `HookedTransformer` in which, as here, positions go to queries and
    keys alone ("shortformer"). TransformerLens 4 has no such model, so there it is a
    `TransformerBridge` whose stream is twice as wide: positions live in the second half, which only
    queries and keys read and nobody writes. That is exact, too. But since W_Q and W_K stand there
    twice, the Q- and K-composition scores of that model are ours divided by √2; V-scores are the same.
    `own_model.load` takes the second half away again.

    Contexts may be as long as the model's n_ctx.
    """
    import transformer_lens  # noqa: F401  # says so, if it is not there

    model.require_attention_only()
    major = int(version("transformer-lens").split(".")[0])
    with torch.no_grad():
        return (_hooked if major < 4 else _bridge)(model)


def _hooked(model: Transformer) -> nn.Module:
    from transformer_lens import HookedTransformer, HookedTransformerConfig

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


def _bridge(model: Transformer) -> nn.Module:
    from transformer_lens.config import TransformerBridgeConfig
    from transformer_lens.model_bridge import TransformerBridge

    shape, d = model.config, model.config.d_model
    peer = TransformerBridge.boot_native(
        TransformerBridgeConfig(
            n_layers=shape.n_layers, d_model=2 * d, n_ctx=shape.n_ctx, d_head=shape.d_head,
            n_heads=shape.n_heads, d_vocab=shape.n_vocab, attn_only=True,
            normalization_type=None, positional_embedding_type="standard", init_weights=False,
        ),
        dtype=model.W_E.dtype,
    )  # fmt: skip
    native = peer.original_model
    for weight in native.parameters():
        weight.zero_()  # the biases, and the half of the stream that a matrix has nothing to do with
    native.tok_embed.weight[:, :d] = model.W_E.T
    native.pos.weight[:, d:] = model.W_P
    native.head.weight[:, :d] = model.W_U
    for block, layer in zip(native.layers, model.layers, strict=True):
        for linear, W in ((block.attn.q, layer.W_Q), (block.attn.k, layer.W_K)):
            linear.weight[:] = W.flatten(0, 1).repeat(1, 2)  # reads both halves alike
        block.attn.v.weight[:, :d] = layer.W_V.flatten(0, 1)
        block.attn.o.weight[:d] = layer.W_O.transpose(0, 1).flatten(1)
    return peer
