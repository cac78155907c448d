"""Layer norm and biases, folded away (paper: appendix "Handling Layer Normalization").

`NormedTransformer` has the parts that the paper's mathematics leaves out and its trained models
have: layer norm before every read from the stream, biases everywhere, positions in the stream.
`fold` writes the same function with weights alone, on a stream with one more dimension that is
always one; the rest of layer norm is one factor per position and read, its *scale*.
"""

import dataclasses
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.analysis import heads
from transformer_circuits.model.base import Stack
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.general import GeneralTransformer
from transformer_circuits.model.transformer import Transformer, causal_scores

EPSILON = 1e-5
"""Addition to the variance before the root, as everywhere."""


def of_heads(x: Tensor, weight: Tensor) -> Float[Tensor, "batch head pos d_head"]:
    """Product of each head's weight with the stream at each position."""
    return einsum(x, weight, "b pos d, h d_head d -> b h pos d_head")


class NormedLayer(nn.Module):
    """Attention heads that read through a layer norm and have biases."""

    def __init__(self, config: ModelConfig, *, generator: torch.Generator):
        super().__init__()
        n, d, d_head = config.n_heads, config.d_model, config.d_head
        normal = partial(torch.randn, generator=generator)
        self.gain, self.bias = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))
        self.W_Q = nn.Parameter(normal(n, d_head, d) / d**0.5)
        self.W_K = nn.Parameter(normal(n, d_head, d) / d**0.5)
        self.W_V = nn.Parameter(normal(n, d_head, d) / d**0.5)
        self.b_Q = nn.Parameter(torch.zeros(n, 1, d_head))
        self.b_K = nn.Parameter(torch.zeros(n, 1, d_head))
        self.b_V = nn.Parameter(torch.zeros(n, 1, d_head))
        self.W_O = nn.Parameter(normal(n, d, d_head) / (n * d_head) ** 0.5)
        self.b_O = nn.Parameter(torch.zeros(d))

    def forward(self, x: Float[Tensor, "batch pos d"]) -> Float[Tensor, "batch pos d"]:
        read = F.layer_norm(x, x.shape[-1:], self.gain, self.bias, EPSILON)
        q, k = of_heads(read, self.W_Q) + self.b_Q, of_heads(read, self.W_K) + self.b_K
        A = causal_scores(q, k).softmax(dim=-1)
        v = of_heads(read, self.W_V) + self.b_V
        return einsum(self.W_O, A @ v, "h d e, b h pos e -> b pos d") + self.b_O


class NormedTransformer(nn.Module):
    """Transformer with layer norm before every read from the stream, biases everywhere, learned positions.

    Analyses that ask for logits alone take it; those that ask for weights or outputs of heads
    refuse it, for there are gains and biases in between, and name `fold`.

    Initial weights are drawn from `generator`.
    """

    def __init__(self, config: ModelConfig, *, generator: torch.Generator):
        super().__init__()
        normal = partial(torch.randn, generator=generator)
        self.config = config
        self.W_E = nn.Parameter(normal(config.d_model, config.n_vocab))
        self.W_P = nn.Parameter(normal(config.n_ctx, config.d_model))
        self.layers: Stack[NormedLayer] = Stack(
            NormedLayer(config, generator=generator) for _ in range(config.n_layers)
        )
        self.gain = nn.Parameter(torch.ones(config.d_model))
        self.bias = nn.Parameter(torch.zeros(config.d_model))
        self.W_U = nn.Parameter(normal(config.n_vocab, config.d_model) / config.d_model**0.5)
        self.b_U = nn.Parameter(torch.zeros(config.n_vocab))

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos n_vocab"]:
        """Logits."""
        x = F.embedding(tokens, self.W_E.T) + self.W_P[: tokens.shape[1]]
        for layer in self.layers:
            x = x + layer(x)
        read = F.layer_norm(x, x.shape[-1:], self.gain, self.bias, EPSILON)
        return F.linear(read, self.W_U, self.b_U)

    @torch.no_grad()
    def disturb(self, *, generator: torch.Generator) -> None:
        """Add noise to every weight, so that no gain stays one and no bias zero."""
        for weight in self.parameters():
            weight.add_(0.5 * torch.randn(weight.shape, generator=generator).to(weight))

    def _refuse(self, *_: Any, **__: Any) -> None:
        heads.require_plain(self)

    trace = embed = require = require_attention_only = _refuse
    """Methods of a `Transformer` that its analyses ask for."""


@torch.no_grad()
def fold(model: NormedTransformer) -> GeneralTransformer:
    """Model with the same logits whose weights hold the gains and biases of LayerNorm, for analyses.

    W LN(x) + b = s(x) · (W diag(gain) C) x + (W bias + b), where C subtracts the mean. The matrix
    in front of x reads the stream; the vector at the end multiplies the coordinate that is one, the
    next after the model's own. (The one after, the last of an even number, stays empty.) All writes
    are less their mean, which nothing reads. Each layer has one more head, its last: it reads the
    one and writes b_O, wherever it looks.
    """
    shape, d = model.config, model.config.d_model
    wider = dataclasses.replace(shape, n_heads=shape.n_heads + 1, d_model=d + 2)
    folded = GeneralTransformer(wider, width=d, eps=EPSILON).to(model.W_E)
    for weight in folded.requires_grad_(False).parameters():
        weight.zero_()

    def reader(W: Tensor, b: Tensor, norm: NormedLayer | NormedTransformer) -> Tensor:
        W, constant = W * norm.gain, W @ norm.bias + b.view(W.shape[:-1])
        return torch.cat([W - W.mean(dim=-1, keepdim=True), constant[..., None]], dim=-1)

    folded.W_E[:d], folded.W_E[d] = model.W_E - model.W_E.mean(dim=0), 1
    folded.W_S[:, :d] = model.W_P - model.W_P.mean(dim=1, keepdim=True)
    folded.W_U[:, : d + 1] = reader(model.W_U, model.b_U, model)
    for new, old in zip(folded.layers, model.layers, strict=True):
        for name in "QKV":
            W, b = getattr(old, f"W_{name}"), getattr(old, f"b_{name}")
            getattr(new, f"W_{name}")[:-1, :, : d + 1] = reader(W, b, old)
        new.W_O[:-1, :d] = old.W_O - old.W_O.mean(dim=1, keepdim=True)
        new.W_V[-1, 0, d], new.W_O[-1, :d, 0] = 1, old.b_O - old.b_O.mean()
    return folded


def freeze(model: Transformer, tokens: Int[Tensor, "batch pos"]) -> Transformer:
    """Model whose norms are held at their values on these tokens, so that it is linear in the stream.

    For analyses that expand a model into paths: their terms then sum to its logits (`model.unembed`
    makes logits of them). Weights are shared. A model without a norm, or one that is frozen already,
    for whatever tokens, is returned as it is.

    Raises, when the model runs:
        UserError: if the tokens are others.
    """
    return model.frozen(tokens) if isinstance(model, GeneralTransformer) else model
