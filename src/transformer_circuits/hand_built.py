"""Circuits written down, not trained: models whose every answer is known beforehand.

The residual stream has a block of dimensions for each thing that is to be said, one per token or
per position: `token`, `previous` (what stands one back), `output` (what comes next), `place`.
"""

import dataclasses
import math

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.config import ModelConfig
from transformer_circuits.model import Transformer


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Where in the residual stream of a hand-built model each thing is written."""

    n_vocab: int
    n_ctx: int

    @property
    def token(self) -> slice:
        return slice(0, self.n_vocab)

    @property
    def previous(self) -> slice:
        return slice(self.n_vocab, 2 * self.n_vocab)

    @property
    def output(self) -> slice:
        return slice(2 * self.n_vocab, 3 * self.n_vocab)

    @property
    def place(self) -> slice:
        """Positions: read by queries and keys alone, as in all models of the book."""
        return slice(3 * self.n_vocab, 3 * self.n_vocab + self.n_ctx)


def _empty(n_vocab: int, n_ctx: int, n_layers: int) -> tuple[Transformer, Blocks]:
    """A model of one head per layer that computes nothing: tokens and positions are embedded."""
    blocks = Blocks(n_vocab, n_ctx)
    wide = max(n_vocab, n_ctx)
    shape = ModelConfig(
        n_layers=n_layers, n_heads=1, d_model=2 * (blocks.place.stop // 2 + 1), d_head=wide,
        n_vocab=n_vocab, n_ctx=n_ctx, position_base=1000.0,
    )  # fmt: skip
    model = Transformer(shape).requires_grad_(False).double()
    for weight in (*model.parameters(), model.W_P):
        weight.zero_()
    model.W_E[blocks.token] = torch.eye(n_vocab)
    model.W_U[:, blocks.output] = torch.eye(n_vocab)
    model.W_P[:, blocks.place] = torch.eye(n_ctx)
    return model, blocks


def _look(
    model: Transformer, layer: int, reads: slice, sees: slice, M: Float[Tensor, "query key"]
) -> None:
    """Let the head's score be M[i, j] for a destination with i in `reads`, a source j in `sees`."""
    attention, n_query = model.layers[layer], len(M)
    attention.W_Q[0, :n_query, reads] = torch.eye(n_query)
    attention.W_K[0, :n_query, sees] = M * math.sqrt(model.config.d_head)


def _move(model: Transformer, layer: int, reads: slice, writes: slice) -> None:
    """Let the head copy one block of what it looks at to another block of where it stands."""
    n = reads.stop - reads.start
    model.layers[layer].W_V[0, :n, reads] = torch.eye(n)
    model.layers[layer].W_O[0, writes, :n] = torch.eye(n)


def induction(n_vocab: int, n_ctx: int, sharpness: float = 40.0) -> Transformer:
    """Two heads that do induction by K-composition (paper: "How Induction Heads Work").

    Head 0.0 looks one back and writes the token it finds there to `previous`. Head 1.0 looks
    where `previous` is the present token, and writes the token it finds there to `output`.

    `sharpness`: how far, in score, the right source stands above the others.
    """
    model, blocks = _empty(n_vocab, n_ctx, n_layers=2)
    _look(model, 0, blocks.place, blocks.place, sharpness * torch.eye(n_ctx).roll(-1, 1).tril(-1))
    _move(model, 0, blocks.token, blocks.previous)
    _look(model, 1, blocks.token, blocks.previous, sharpness * torch.eye(n_vocab))
    _move(model, 1, blocks.token, blocks.output)
    return model
