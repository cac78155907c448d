"""What the book computes, done with TransformerLens instead. Needs the extra `peers`."""

import functools

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer


@torch.no_grad()
def to_transformer_lens(model: Transformer) -> nn.Module:
    """The same model as a HookedTransformer, with its transposed weights; positions go to queries and
    keys alone ("shortformer"), which TransformerLens 4 no longer has."""
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
        weight.zero_()  # the biases
    peer.W_E.copy_(model.W_E.T)
    peer.W_U.copy_(model.W_U.T)
    peer.pos_embed.W_pos.copy_(model.W_P)
    for block, layer in zip(peer.blocks, model.layers, strict=True):
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            getattr(block.attn, name).copy_(getattr(layer, name).mT)
    return peer


def hooked(model: Transformer) -> nn.Module:
    """The model as a HookedTransformer whose heads' outputs and inputs have hooks of their own."""
    peer = to_transformer_lens(model)
    peer.set_use_attn_result(True)
    peer.set_use_split_qkv_input(True)
    return peer


@torch.no_grad()
def loss_increase(
    peer: nn.Module, inputs: Int[Tensor, "batch pos"], targets: Int[Tensor, "batch pos"]
) -> Float[Tensor, "kind later_head earlier_head"]:
    """`path_patching.loss_increase` by the hooks of `hooked`, begun at the second layer each time."""
    logits, cache = peer.run_with_cache(inputs)
    stream, written = cache["blocks.1.hook_resid_pre"], cache["blocks.0.attn.hook_result"]
    n_heads, whole = written.shape[2], cross_entropy.mean(logits, targets)
    positions = cache["hook_pos_embed"].expand_as(stream)

    def less(read: Tensor, hook: object, *, later: int, earlier: int) -> Tensor:
        read[:, :, later] -= written[:, :, earlier]  # [batch, pos, head, d_model]
        return read

    def without(kind: str, later: int, earlier: int) -> Tensor:
        cut = functools.partial(less, later=later, earlier=earlier)
        found = peer.run_with_hooks(
            stream, start_at_layer=1, shortformer_pos_embed=positions,
            fwd_hooks=[(f"blocks.1.hook_{kind.lower()}_input", cut)],
        )  # fmt: skip
        return cross_entropy.mean(found, targets) - whole

    each = range(n_heads)
    rises = [without(kind, later, earlier) for kind in KINDS for later in each for earlier in each]
    return torch.stack(rises).reshape(len(KINDS), n_heads, n_heads)
