"""An attention-only transformer as one would train it: with layer norm, biases and positions in the
stream (paper: appendix "Handling Layer Normalization").

`analysis.layer_norm` loads one and folds all of that away.
"""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.analysis import heads
from transformer_circuits.model.attention import causal_scores
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Stack

EPSILON = 1e-5
"""Added to the variance before the root, as everywhere."""


def of_heads(x: Tensor, weight: Tensor) -> Float[Tensor, "batch head pos d_head"]:
    """What a weight of heads makes of each position."""
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
    """Layer norm before every read from the stream, biases everywhere, learned positions.

    Analyses that ask for logits alone take it; those that ask for weights or what heads do refuse
    it, for there are gains and biases in between, and name `fold`.

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

    def _refuse(self, *_: Any, **__: Any) -> None:
        heads.require_plain(self)

    trace = embed = require_attention_only = _refuse
    """What a `Transformer` has and its analyses ask for."""

    @torch.no_grad()
    def disturb(self, *, generator: torch.Generator) -> None:
        """Add noise to every weight, so that no gain stays one and no bias zero."""
        for weight in self.parameters():
            weight.add_(0.5 * torch.randn(weight.shape, generator=generator).to(weight))
