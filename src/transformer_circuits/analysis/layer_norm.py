"""Layer norm and biases, folded away (paper: appendix "Handling Layer Normalization").

`NormedTransformer` has what the paper's mathematics leaves out and its trained models have: layer
norm before every read from the stream, biases everywhere, positions in the stream. `fold` writes
the same function with weights alone, on a stream with one more dimension that is always one; what
is left of layer norm is one factor per position and read, its *scale*.
"""

from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.analysis.expansion import HeadPath
from transformer_circuits.analysis.heads import Head
from transformer_circuits.model.attention import Pattern, causal_scores
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.general import GeneralTransformer
from transformer_circuits.model.transformer import Stack, Transformer

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

    It is no `Transformer`: analyses that ask for more than logits do not take it before it is folded,
    for there are gains and biases between the stream and its weights.

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


@dataclass(frozen=True)
class FoldedLayer:
    """One layer's weights on the folded stream, whose last coordinate is always one."""

    W_Q: Float[Tensor, "head d_head d_and_one"]
    W_K: Float[Tensor, "head d_head d_and_one"]
    W_V: Float[Tensor, "head d_head d_and_one"]
    W_O: Float[Tensor, "head d_and_one d_head"]
    constant: Float[Tensor, " d_and_one"]
    """What is added at every position: b_O, and 0 for the last coordinate. It is a head, too, with
    A = Id and W_OV = constant ⊗ (unit vector of the last coordinate)."""


@dataclass(frozen=True)
class Run:
    """What a folded model computed: its logits, and the only two things not linear in the stream."""

    logits: Float[Tensor, "batch pos n_vocab"]
    patterns: tuple[Pattern, ...]
    scales: tuple[Float[Tensor, "batch pos one"], ...]
    """1/σ of the stream before each layer, and before the unembedding."""


@dataclass(frozen=True)
class Folded:
    """The same function as the `NormedTransformer` it was made from, without biases or gains."""

    W_E: Float[Tensor, "d_and_one n_vocab"]
    W_P: Float[Tensor, "n_ctx d_and_one"]
    layers: tuple[FoldedLayer, ...]
    W_U: Float[Tensor, "n_vocab d_and_one"]

    def embed(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_and_one"]:
        """The stream before the first layer; its last coordinate is one."""
        return F.embedding(tokens, self.W_E.T) + self.W_P[: tokens.shape[1]]

    @torch.no_grad()
    def run(self, tokens: Int[Tensor, "batch pos"]) -> Run:
        """The forward pass."""
        x, patterns, scales = self.embed(tokens), [], []
        for layer in self.layers:
            scales.append(scale(x))
            read = scaled(x, scales[-1])
            q, k = of_heads(read, layer.W_Q), of_heads(read, layer.W_K)
            patterns.append(causal_scores(q, k).softmax(dim=-1))
            x = x + self._write(layer, read, patterns[-1]).sum(dim=1)
            x = x + read[..., -1:] * layer.constant
        scales.append(scale(x))
        logits = F.linear(scaled(x, scales[-1]), self.W_U)
        return Run(logits, tuple(patterns), tuple(scales))

    def _write(self, layer: FoldedLayer, read: Tensor, A: Pattern) -> Tensor:
        return einsum(layer.W_O, A @ of_heads(read, layer.W_V), "h d e, b h pos e -> b h pos d")

    @torch.no_grad()
    def paths(
        self, tokens: Int[Tensor, "batch pos"], run: Run
    ) -> dict[HeadPath, Float[Tensor, "batch pos n_vocab"]]:
        """Logits of every path, with the run's patterns and scales held; they sum to its logits.

        As `expansion.paths`; a path ((layer, n_heads),) is the constant of that layer.
        """
        terms: dict[HeadPath, Tensor] = {(): self.embed(tokens)}
        for index, layer in enumerate(self.layers):
            for path, x in list(terms.items()):
                read = scaled(x, run.scales[index])
                for head, written in enumerate(
                    self._write(layer, read, run.patterns[index]).unbind(1)
                ):
                    terms[(*path, Head(index, head))] = written
            terms[(Head(index, len(layer.W_O)),)] = terms[()][..., -1:] * layer.constant
        last = run.scales[-1]
        return {path: F.linear(scaled(x, last), self.W_U) for path, x in terms.items()}


def scale(x: Float[Tensor, "batch pos d_and_one"]) -> Float[Tensor, "batch pos one"]:
    """1/σ at each position, where σ is the deviation of all coordinates but the last."""
    return (x[..., :-1].var(dim=-1, keepdim=True, correction=0) + EPSILON).rsqrt()


def scaled(
    x: Float[Tensor, "batch pos d_and_one"], by: Float[Tensor, "batch pos one"]
) -> Float[Tensor, "batch pos d_and_one"]:
    """All coordinates but the last times a factor; linear in x while the factor is held fixed."""
    return torch.cat([x[..., :-1] * by, x[..., -1:]], dim=-1)


@torch.no_grad()
def fold(model: NormedTransformer) -> Folded:
    """Fold gains, biases and the subtraction of the mean into the weights that read the stream.

    W LN(x) + b = s(x) · (W diag(gain) C) x + (W bias + b), where C subtracts the mean. The matrix
    in front of x reads the stream; the vector at the end multiplies the coordinate that is one.
    """
    d = model.config.d_model
    centre = torch.eye(d).to(model.W_E) - 1 / d

    def reader(W: Tensor, b: Tensor, norm: NormedLayer | NormedTransformer) -> Tensor:
        constant = W @ norm.bias + b.view(W.shape[:-1])
        return torch.cat([W * norm.gain @ centre, constant[..., None]], dim=-1)

    def beside(W: Tensor, last: float) -> Tensor:
        return torch.cat([W, torch.full_like(W[:1], last)])

    layers = []
    for layer in model.layers:
        names = {f"W_{n}": (getattr(layer, f"W_{n}"), getattr(layer, f"b_{n}")) for n in "QKV"}
        readers = {name: reader(W, b, layer) for name, (W, b) in names.items()}
        W_O = torch.stack([beside(W, 0.0) for W in layer.W_O])
        layers.append(FoldedLayer(**readers, W_O=W_O, constant=beside(layer.b_O, 0.0)))
    W_P = beside(model.W_P.T, 0.0).T
    W_U = reader(model.W_U, model.b_U, model)
    return Folded(beside(model.W_E.detach(), 1.0), W_P, tuple(layers), W_U)


def freeze(model: Transformer, tokens: Int[Tensor, "batch pos"]) -> Transformer:
    """The same function on these tokens, with each position's norm held, and so linear in the stream.

    For analyses that expand a model into paths, which need that: their terms then sum to its logits
    (`model.unembed` makes logits of them). On other tokens it refuses to run. A model without a norm
    is that already.
    """
    return model.frozen(tokens) if isinstance(model, GeneralTransformer) else model
