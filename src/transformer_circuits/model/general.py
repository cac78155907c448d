"""Models of others with forms that the paper's have not: norms before reads, positions in the
stream or rotary ones, biases, an output vocabulary of their own.

All of it is data of one `GeneralTransformer`, which is a `Transformer`: `forms` lists a model's,
and an analysis that does not take one into account refuses it (`Transformer.require`).

Gains and biases are in the weights. A bias is a column for the coordinate `width` of the stream,
which is always one. Biases of outputs, the same at every position, are not added: the reads after
them have them, as `Norm.offset` or in their own biases.
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits import files
from transformer_circuits.model.base import Stack
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.positions import sinusoids
from transformer_circuits.model.transformer import Attention, Transformer

FORMS: Mapping[str, str] = {
    "a norm": "analysis.layer_norm.freeze(model, tokens) is the same function on these tokens, with "
    "each position's norm held, and linear: expansion.paths and term_importance take that. "
    "model.trace(tokens), ablation.loss_increase and path_patching.loss_increase take the model as it is",
    "a norm that is held": "give this the model that was frozen",
    "rotary positions": "where such a head looks depends on how far away it looks, and no one matrix says "
    "it. model.trace(tokens).patterns has where it looks, path_patching.loss_increase cuts its edges",
    "positions in the stream": "model.trace(tokens) and expansion.paths(model, tokens) have them",
    "biases": "model.trace(tokens) and expansion.paths(model, tokens) have them, and heads.W_OV(model, head) "
    "is without them",
    "an output vocabulary of its own": "its outputs are no tokens that come next. model(tokens) has its "
    "logits, and heads.full_ov(model, head) what a head does to them",
}
"""Forms that a model may have and the paper's has not, each with calls to use after a refusal."""
ALL = tuple(FORMS)
NORM, HELD, ROTARY, STREAM, BIASES, OUTPUTS = ALL


def all_but(*forms: str) -> tuple[str, ...]:
    """Names of all `FORMS` but these."""
    return tuple(form for form in FORMS if form not in forms)


def unbiased(model: Transformer, W: Float[Tensor, "written d_model"]) -> Tensor:
    """Matrix that reads the stream, without its bias."""
    if not isinstance(model, GeneralTransformer) or model.width == model.config.d_model:
        return W
    return W * (torch.arange(model.config.d_model, device=W.device) < model.width)


class Norm(nn.Module):
    """Root mean square norm of a stream's first `width` coordinates; the identity where `eps` is None.

    Layer norm is that, too, if all writes into the stream have no mean, or, `centred`, with the
    variance about the mean: the reader takes the mean away itself. The other coordinates stay. With
    `held`, a factor for each position, it is linear.
    """

    offset: Float[Tensor, " width"]
    """Sum of the output biases of all layers before, the same at every position."""

    def __init__(self, width: int, eps: float | None, centred: bool = False):
        super().__init__()
        self.width, self.eps, self.centred = width, eps, centred
        self.held: Tensor | None = None
        self.register_buffer("offset", torch.zeros(width))

    def _inside(self, x: Tensor) -> Tensor:
        d = self.width
        return x[..., :d] + x[..., d : d + 1] * self.offset if self.offset.any() else x[..., :d]

    def scale(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch one"]:
        """Inverse of the root mean square, at each position."""
        inside = self._inside(x)
        if self.centred:
            inside = inside - inside.mean(dim=-1, keepdim=True)
        return (inside.square().mean(dim=-1, keepdim=True) + (self.eps or 0.0)).rsqrt()

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        if self.eps is None:
            return x
        by = self.scale(x) if self.held is None else self.held
        return torch.cat([self._inside(x) * by, x[..., self.width :]], dim=-1)


class GeneralAttention(Attention):
    """Heads that read through a norm, and whose queries and keys may be turned by their positions."""

    angles: Float[Tensor, "n_ctx half_d_head"] | None
    """Angles by which each pair of rows of W_Q and W_K is turned at each position; rows i and i +
    d_head / 2 are a pair. [radians]
    """

    def __init__(
        self,
        config: ModelConfig,
        width: int,
        eps: float | None,
        angles: Tensor | None,
        centred: bool,
    ):
        super().__init__(config)
        self.norm = Norm(width, eps, centred)
        self.register_buffer("angles", angles)

    def queries(
        self,
        x: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        head: int | None = None,
    ) -> Float[Tensor, "batch head pos d_head"]:
        return self._turned(super().queries(self.norm(x), W_P, head))

    def keys(
        self,
        x: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        head: int | None = None,
    ) -> Float[Tensor, "batch head pos d_head"]:
        return self._turned(super().keys(self.norm(x), W_P, head))

    def values(
        self, x: Float[Tensor, "batch pos d_model"], head: int | None = None
    ) -> Float[Tensor, "batch head pos d_head"]:
        return super().values(self.norm(x), head)

    def _turned(self, x: Float[Tensor, "batch head pos d_head"]) -> Tensor:
        if self.angles is None:
            return x
        angles = self.angles[: x.shape[2]].to(x)
        first, second = x.chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class GeneralTransformer(Transformer):
    """Transformer with some of `FORMS`.

    `config` has the full stream's width as d_model; of it, `width` coordinates are the model's own.
    `n_out`: the number of outputs, where these are no tokens. `eps`: that of its norm, if it has
    one. `only`: "layers" or "last", where heads alone read through it, or W_U alone; `centred`: see
    `Norm`. `angles`: see `GeneralAttention`.
    """

    W_S: Float[Tensor, "n_ctx d_model"]
    """Position vectors that are added to the stream; W_P are those that queries and keys alone read."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        width: int,
        n_out: int | None = None,
        eps: float | None = None,
        angles: Tensor | None = None,
        only: str = "",
        centred: bool = False,
    ):
        super().__init__(config, generator=torch.Generator())
        self.width, self.norm = width, Norm(width, None if only == "layers" else eps, centred)
        self.frozen_for: Tensor | None = None
        if n_out is not None:
            self.W_U = nn.Parameter(torch.zeros(n_out, config.d_model))
        self.layers: Stack[Any] = Stack(
            GeneralAttention(config, width, None if only == "last" else eps, angles, centred)
            for _ in range(config.n_layers)
        )
        self.W_P.zero_()
        self.register_buffer("W_S", torch.zeros_like(self.W_P))

    @property
    def norms(self) -> bool:
        """True if anything is read through a norm."""
        return any(
            norm.eps is not None for norm in (self.norm, *(layer.norm for layer in self.layers))
        )

    @property
    def forms(self) -> frozenset[str]:
        """Forms of `FORMS` that the model has."""
        has = {
            NORM: self.norms and self.frozen_for is None,
            HELD: self.frozen_for is not None,
            ROTARY: any(layer.angles is not None for layer in self.layers),
            STREAM: bool(self.W_S.any()),
            BIASES: bool(self.W_E[self.width : self.width + 1].any()),
            OUTPUTS: len(self.W_U) != self.config.n_vocab,
        }
        return frozenset(name for name, there in has.items() if there)

    def require(self, *takes: str) -> None:
        for form in FORMS:
            if form in self.forms - {*takes}:
                raise files.UserError(
                    f"this does not know {form}, which the model has: {FORMS[form]}"
                )

    @torch.no_grad()
    def randomise(self, *, generator: torch.Generator | None = None) -> None:
        super().randomise(generator=generator)
        for W in (self.W_E, *(layer.W_O_concat for layer in self.layers)):
            W[self.width :] = 0
        self.W_E[self.width : self.width + 1] = 1

    def embed(
        self, tokens: Int[Tensor, "batch pos"]
    ) -> tuple[Float[Tensor, "batch pos d_model"], Float[Tensor, "pos d_model"]]:
        if self.frozen_for is not None and not torch.equal(tokens, self.frozen_for):
            raise files.UserError(
                f"the norms are held as they are on tokens {tuple(self.frozen_for.shape)}, and these "
                f"{tuple(tokens.shape)} are others: freeze the model for them"
            )
        x, W_P = super().embed(tokens)
        return x + self.W_S[: tokens.shape[1]], W_P

    def unembed(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch n_vocab"]:
        return F.linear(self.norm(x), self.W_U)

    @torch.no_grad()
    def frozen(self, tokens: Int[Tensor, "batch pos"]) -> "GeneralTransformer":
        """Model for these tokens alone, its norms held at their values there; weights are shared."""
        shared = {id(tensor): tensor for tensor in (*self.parameters(), *self.buffers())}
        if not self.norms or self.frozen_for is not None:
            return self
        model = copy.deepcopy(self, shared)
        x, W_P = model.embed(tokens)
        for layer in model.layers:
            layer.norm.held = layer.norm.scale(x)
            x = x + layer(x, W_P)
        model.norm.held = model.norm.scale(x)
        model.frozen_for = tokens
        return model


@torch.no_grad()
def with_norm(
    config: ModelConfig, *, generator: torch.Generator | None = None
) -> GeneralTransformer:
    """Model of the paper's shape, but for a root mean square norm before every read from the stream.

    Its weights begin as those of `Transformer(config, generator=generator)`. The norm has no gains,
    as those are weights of the readers. So only a turn of the stream, or a scale of all of it (but
    for `eps`), changes no logit: up to that, the basis in which it is stored is the model's own.
    Positions are added after the norm.

    >>> shape = ModelConfig(
    ...     n_layers=2, n_heads=3, d_model=8, d_head=4, n_vocab=11, n_ctx=9, position_base=100.0
    ... )
    >>> sorted(with_norm(shape).forms)
    ['a norm']
    """
    model = GeneralTransformer(config, width=config.d_model, eps=1e-5)
    model.W_P.copy_(sinusoids(config.n_ctx, config.d_model, config.position_base))
    model.initialise(generator=generator)
    return model
