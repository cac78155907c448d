"""Circuits with weights set by hand, not trained: models whose every answer is known beforehand.

Each has two layers of one head. Its residual stream is cut into blocks, one for each
message between heads; within a block there is one dimension per token, or one per position.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def blocks(**sizes: int) -> dict[str, slice]:
    """Named blocks of dimensions, one after the other, of the given sizes."""
    places, start = {}, 0
    for name, size in sizes.items():
        places[name] = slice(start, start + size)
        start += size
    return places


def empty(n_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int = 1) -> Transformer:
    """Model of two layers in which everything is zero, positions too, in float64."""
    shape = ModelConfig(
        n_layers=2, n_heads=n_heads, d_model=d_model + d_model % 2, d_head=d_head,
        n_vocab=n_vocab, n_ctx=n_ctx, position_base=1000.0,
    )  # fmt: skip
    model = Transformer(shape).requires_grad_(False).double()
    for weight in (*model.parameters(), model.W_P):
        weight.zero_()
    return model


def look(
    model: Transformer,
    layer: int,
    reads: slice,
    sees: slice,
    M: Float[Tensor, "dst src"],
    head: int = 0,
) -> None:
    """Set the QK circuit: the score is M[i, j] for dimension i of the destination's block `reads`
    and j of the source's block `sees`.

    A second call adds a second part to the score.
    """
    attention = model.layers[layer]
    used = int(attention.W_Q[head].any(dim=1).sum())
    channels = slice(used, used + len(M))
    attention.W_Q[head, channels, reads] = torch.eye(len(M), dtype=torch.float64)
    attention.W_K[head, channels, sees] = M.double() * math.sqrt(model.config.d_head)


def move(
    model: Transformer, layer: int, reads: slice, writes: slice, head: int = 0, times: float = 1.0
) -> None:
    """Set the OV circuit: copy one block of the source into another block of the destination.

    A second call that reads the same block writes it to a second place, too.
    """
    n = reads.stop - reads.start
    model.layers[layer].W_V[head, :n, reads] = torch.eye(n, dtype=torch.float64)
    model.layers[layer].W_O[head, writes, :n] = times * torch.eye(n, dtype=torch.float64)


def one_back(n_ctx: int, back: int = 1) -> Float[Tensor, "n_ctx n_ctx"]:
    """Matrix with 1 where the source stands one before the destination, or `back` before."""
    return torch.eye(n_ctx).roll(-back, 1).tril(-back)


def _with_positions(n_vocab: int, n_ctx: int, *middle: str) -> tuple[Transformer, dict[str, slice]]:
    """Empty model with tokens in the stream and positions for queries and keys alone, and its blocks."""
    sizes = {"token": n_vocab, **dict.fromkeys(middle, n_vocab), "output": n_vocab, "place": n_ctx}
    at = blocks(**sizes)
    model = empty(n_vocab, n_ctx, at["place"].stop, max(n_vocab, n_ctx))
    model.W_E[at["token"]] = torch.eye(n_vocab, dtype=torch.float64)
    model.W_U[:, at["output"]] = torch.eye(n_vocab, dtype=torch.float64)
    model.W_P[:, at["place"]] = torch.eye(n_ctx, dtype=torch.float64)
    return model, at


def induction(n_vocab: int, n_ctx: int, sharpness: float = 40.0) -> Transformer:
    """Model of two heads that do induction by K-composition (paper: "How Induction Heads Work").

    Head 0.0 looks one back and writes the token it finds there to `previous`. Head 1.0 looks where
    `previous` is the present token, and writes the token it finds there to `output`. `sharpness`:
    the lead, in score, of the right source over the others.
    """
    model, at = _with_positions(n_vocab, n_ctx, "previous")
    look(model, 0, at["place"], at["place"], sharpness * one_back(n_ctx))
    move(model, 0, at["token"], at["previous"])
    look(model, 1, at["token"], at["previous"], sharpness * torch.eye(n_vocab))
    move(model, 1, at["token"], at["output"])
    return model


def two_back(n_vocab: int, n_ctx: int, sharpness: float = 40.0) -> Transformer:
    """Model of two previous-token heads in a row: a virtual head that looks two back, by V-composition.

    It predicts that the token two back comes next. (The first exercise of Anthropic's page.)
    """
    model, at = _with_positions(n_vocab, n_ctx, "previous")
    for layer, (reads, writes) in enumerate((("token", "previous"), ("previous", "output"))):
        look(model, layer, at["place"], at["place"], sharpness * one_back(n_ctx))
        move(model, layer, at[reads], at[writes])
    return model


def placed(tokens: Int[Tensor, "batch pos"], n_vocab: int) -> Int[Tensor, "batch pos"]:
    """Tokens for `pointer`: every token together with its position, token + n_vocab · position."""
    return tokens + n_vocab * torch.arange(tokens.shape[1])


def pointer(n_vocab: int, n_ctx: int, sharpness: float = 40.0) -> Transformer:
    """Model of induction by pointer arithmetic and Q-composition (paper: an alternative, seen in GPT-2).

    Head 0.0 looks at an earlier place with the present token and writes its *position*. Head 1.0
    asks for the position after that one, and writes the token it finds there. This needs positions
    in the residual stream, which the models of this book do not have; so here each token comes with
    its position: feed it `placed(tokens, n_vocab)`, and read its logits modulo n_vocab.
    """
    at = blocks(token=n_vocab, place=n_ctx, found=n_ctx, output=n_vocab)
    model = empty(n_vocab * n_ctx, n_ctx, at["output"].stop, n_vocab + n_ctx)
    token, place = torch.eye(n_vocab, dtype=torch.float64), torch.eye(n_ctx, dtype=torch.float64)
    model.W_E[at["token"]] = token.repeat(1, n_ctx)
    model.W_E[at["place"]] = place.repeat_interleave(n_vocab, dim=1)
    model.W_U[:, at["output"]] = token.repeat(n_ctx, 1)
    look(model, 0, at["token"], at["token"], sharpness * token)
    look(model, 0, at["place"], at["place"], -2 * sharpness * place)  # the same token, not here
    move(model, 0, at["place"], at["found"])
    look(model, 1, at["found"], at["place"], sharpness * place.roll(1, 1))
    move(model, 1, at["token"], at["output"])
    return model
