"""Circuits from feature to feature, of features that we know exactly (Olah, "Revisiting A
Mathematical Framework with the Language of Features", Circuits Updates, July 2025).

In a large model features must be found first. In ours, the input of heads of the first two layers
is a sum of known vectors: one for the token, one for its position, and for each head of the first
layer one for every token that it may have moved here. The strength of each is known, too: 1, or the
attention that moved it. So nothing is left over.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer

TOKEN, POSITION = "token", "position"
Maker = Head | str
"""Maker of features in the stream: `TOKEN`, `POSITION`, or a head of the first layer."""


def makers(model: Transformer, layer: int) -> list[Maker]:
    """Makers of the features that heads of this layer read. `POSITION` is for Q and K alone."""
    model.require_attention_only()
    heads.of_layer(model, layer)  # refuses a layer that is not there
    if layer > 1:
        raise ValueError(f"features are known in the first two layers but layer {layer} was given")
    return [TOKEN, POSITION, *(heads.of_layer(model, 0) if layer else [])]


def vectors(model: Transformer, maker: Maker) -> Float[Tensor, "d_model feature"]:
    """Direction of each feature of one maker, as columns: one per token, or per position."""
    model.require()
    if maker == TOKEN:
        return model.W_E.detach()
    if maker == POSITION:
        return model.W_P.T
    if isinstance(maker, str):
        raise ValueError(f'"{maker}" makes no features: only "{TOKEN}", "{POSITION}" and heads do')
    return (heads.W_OV(model, maker) @ model.W_E.detach()).dense()


@torch.no_grad()
def activations(
    model: Transformer, tokens: Int[Tensor, "batch pos"], layer: int
) -> dict[Maker, Float[Tensor, "batch pos _"]]:
    """Strength of each feature: 1 or 0, and for a head its attention. 0 to 1.

    `vectors` times these, summed over makers, is the input of queries and keys of the layer. The
    arrays have n_vocab numbers per position and maker: for short texts.
    """
    who = makers(model, layer)
    x, W_P = model.embed(tokens)
    one_hot = F.one_hot(tokens, model.config.n_vocab).to(x)
    at = torch.eye(len(W_P), model.config.n_ctx).to(x).expand(len(tokens), -1, -1)
    strengths: dict[Maker, Tensor] = {TOKEN: one_hot, POSITION: at}
    if layer:
        A = model.layers[0].pattern(x, x, W_P)
        strengths |= {maker: A[:, maker.head] @ one_hot for maker in who if isinstance(maker, Head)}
    return strengths


def qk(model: Transformer, head: heads.HeadName, of_query: Maker, of_key: Maker) -> LowRank:
    """W_QK from feature to feature, [destination's, source's]; scores are this over √d_head.

    With tokens on both sides it is `heads.full_qk`. With a previous-token head's features in the
    key it shows which token a destination looks for *one before* the source.
    """
    _require_read(model, head, of_query, of_key)
    return vectors(model, of_query).T @ (heads.W_QK(model, head) @ vectors(model, of_key))


def ov(model: Transformer, head: heads.HeadName, of_value: Maker) -> LowRank:
    """W_U W_OV from feature to output, [output token, source's feature], in logits."""
    _require_read(model, head, of_value)
    if of_value == POSITION:
        raise ValueError("values do not read positions in this architecture")
    return model.W_U.detach() @ (heads.W_OV(model, head) @ vectors(model, of_value))


def _require_read(model: Transformer, head: heads.HeadName, *asked: Maker) -> None:
    head = heads.one(model, head)
    known = makers(model, head.layer)
    for maker in asked:
        if maker not in known:
            names = [str(feature) for feature in known]
            raise ValueError(f"head {head} reads features of {names}, not of {maker}")
