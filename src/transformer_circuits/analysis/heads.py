"""Attention heads by name, and the two circuits of each, as the paper writes them (section
"Splitting Attention Head terms into Query-Key and Output-Value Circuits").

A head is one argument everywhere: `Head(1, 3)`, the plain pair `(1, 3)` or the text "1.3" is head 3
of layer 1.
Circuits are factored: see `lowrank`.
"""

import operator
from typing import Any, NamedTuple

from torch import nn

from transformer_circuits import files
from transformer_circuits.model import general
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer


class Head(NamedTuple):
    """An attention head: its layer, and its number in that layer, both counted from 0.

    Equal to the plain pair, so either finds it in a dictionary. As a text it is "layer.head":

    >>> f"head {Head(1, 3)}", Head(1, 3) == (1, 3)
    ('head 1.3', True)
    """

    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.layer}.{self.head}"


HeadName = tuple[int, int] | str
"""Name of a head as an argument: a `Head`, a plain pair, or "layer.head"."""


def named(head: Any) -> Head:
    """Head of a `HeadName`.

    Raises:
        ValueError: if it is not two whole numbers.

    >>> named("1.3") == named((1, 3)) == Head(1, 3)
    True
    """
    try:
        pair = [*map(int, head.split("."))] if isinstance(head, str) else [*head]
        if bool in map(type, pair):
            raise TypeError
        return Head(*map(operator.index, pair))
    except (TypeError, ValueError):
        raise ValueError(
            f'a head is (layer, head), such as (0, 2) or "0.2", not {head!r}'
        ) from None


def every(model: Transformer) -> list[Head]:
    """Heads of a model, layer by layer."""
    return [head for layer in range(model.config.n_layers) for head in of_layer(model, layer)]


def of_layer(model: Transformer, layer: int) -> list[Head]:
    """Heads of one layer, in order."""
    if not 0 <= layer < model.config.n_layers:
        raise ValueError(f"layer {layer} asked for but the model has {model.config.n_layers}")
    return [Head(layer, head) for head in range(model.config.n_heads)]


def one(model: Transformer, head: HeadName) -> Head:
    """Head of a name, which the model must have."""
    head, config = named(head), model.config
    if not (0 <= head.layer < config.n_layers and 0 <= head.head < config.n_heads):
        raise ValueError(
            f"head {head} asked for but the model has {config.n_layers} layers "
            f"of {config.n_heads} heads, counted from 0"
        )
    return head


def require_two_layers(model: Transformer, *takes: str) -> None:
    """Refuse a model that has not two layers, or has MLPs: edges go from the first to the second."""
    model.require_attention_only(*takes)
    if model.config.n_layers != 2:
        raise ValueError(
            f"this cuts edges between two layers, but the model has {model.config.n_layers}"
        )


def require_plain(model: nn.Module, *takes: str) -> None:
    """Refuse a model whose heads do not read the stream itself: its circuits would not be the head's.

    `takes`: as in `Transformer.require`.
    """
    if not isinstance(model, Transformer):
        raise files.UserError(
            f"this asks for the weights of a Transformer, without layer norm, but the model is a "
            f"{type(model).__name__}: what its heads read goes through gains and biases that W_Q, "
            "W_K, W_V and W_U do not have. analysis.layer_norm.fold(model) has them in its weights"
        )
    model.require(*takes)


def W_OV(model: Transformer, head: HeadName) -> LowRank:
    """W_O W_V, [d_model written, d_model read]: the vector that the head moves, and where it is written.

    Of a model with a norm, gains are in it; the rest of the norm is a positive factor for each
    position. Biases of values, which are the same for all sources, are left out.
    """
    require_plain(model, *general.ALL)
    of, index = one(model, head)
    layer = model.layers[of]
    return LowRank(layer.W_O[index].detach(), general.unbiased(model, layer.W_V[index].detach()))


def W_QK(model: Transformer, head: HeadName) -> LowRank:
    """W_Qᵀ W_K, [d_model of destination, d_model of source]: where the head looks.

    As in the paper there is no 1/√d_head in it; scores are this over √d_head. Norms as in `W_OV`;
    biases of queries are in it.
    """
    require_plain(model, *general.all_but(general.ROTARY))
    of, index = one(model, head)
    layer = model.layers[of]
    return LowRank(layer.W_Q[index].T.detach(), layer.W_K[index].detach())


def full_ov(model: Transformer, head: HeadName) -> LowRank:
    """W_U W_OV W_E, [output token, source token], in logits: the effect of attending to a token.

    >>> from transformer_circuits.model import hand_built
    >>> model = hand_built.induction(n_vocab=3, n_ctx=7)
    >>> full_ov(model, (1, 0)).dense()  # its head 1.0 copies: each token raises itself
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]], dtype=torch.float64)
    """
    return model.W_U.detach() @ (W_OV(model, head) @ model.W_E.detach())


def full_qk(model: Transformer, head: HeadName) -> LowRank:
    """W_Eᵀ W_QK W_E, [destination token, source token]: unscaled attention scores, no positions.

    Exact for heads of the first layer; later layers also read what earlier heads wrote.
    """
    return model.W_E.T.detach() @ (W_QK(model, head) @ model.W_E.detach())
