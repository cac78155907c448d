"""The two circuits of an attention head, as the paper writes them (section "Splitting Attention
Head terms into Query-Key and Output-Value Circuits"). All are factored: see `lowrank`."""

from transformer_circuits.model.attention import Attention
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer


def attention(model: Transformer, layer: int, head: int) -> Attention:
    """The layer that holds a head.

    Raises:
        ValueError: if there is no such head.
    """
    config = model.config
    if not (0 <= layer < config.n_layers and 0 <= head < config.n_heads):
        raise ValueError(
            f"head {layer}.{head} asked for but the model has {config.n_layers} layers "
            f"of {config.n_heads} heads, counted from 0"
        )
    return model.layers[layer]


def W_OV(model: Transformer, layer: int, head: int) -> LowRank:
    """W_O W_V, [d_model written, d_model read]: what the head moves, and where to.

    Raises:
        ValueError: if there is no such head.
    """
    weights = attention(model, layer, head)
    return LowRank(weights.W_O[head].detach(), weights.W_V[head].detach())


def W_QK(model: Transformer, layer: int, head: int) -> LowRank:
    """W_Qᵀ W_K, [d_model of destination, d_model of source]: where the head looks.

    As in the paper there is no 1/√d_head in it; scores are this over √d_head.

    Raises:
        ValueError: if there is no such head.
    """
    weights = attention(model, layer, head)
    return LowRank(weights.W_Q[head].T.detach(), weights.W_K[head].detach())


def full_ov(model: Transformer, layer: int, head: int) -> LowRank:
    """W_U W_OV W_E, [output token, source token], in logits: what attending to a token does.

    Raises:
        ValueError: if there is no such head.
    """
    return model.W_U.detach() @ (W_OV(model, layer, head) @ model.W_E.detach())


def full_qk(model: Transformer, layer: int, head: int) -> LowRank:
    """W_Eᵀ W_QK W_E, [destination token, source token]: unscaled attention scores, no positions.

    Exact for heads of the first layer; later layers also read what earlier heads wrote.

    Raises:
        ValueError: if there is no such head.
    """
    return model.W_E.T.detach() @ (W_QK(model, layer, head) @ model.W_E.detach())
