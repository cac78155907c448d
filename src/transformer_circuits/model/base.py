"""Base of the transformer around its forward pass: initial weights, a trace, MLPs if any."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.trace import Trace

Member = TypeVar("Member", bound=nn.Module)


class Stack(nn.ModuleList, Generic[Member]):
    """A `ModuleList` whose type names its members for a static checker; at run time the same."""

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, idx: int) -> Member: ...

        @overload
        def __getitem__(self, idx: slice) -> "Stack[Member]": ...

        def __iter__(self) -> Iterator[Member]: ...


class MLP(nn.Module):
    """W_O gelu(W_I x) at each position, in `two-layer-mlp` alone (paper: appendix "MLP Layers")."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.W_I = nn.Parameter(torch.empty(config.d_mlp, config.d_model))
        self.W_O = nn.Parameter(torch.empty(config.d_model, config.d_mlp))

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        return F.linear(F.gelu(F.linear(x, self.W_I)), self.W_O)


class Base(nn.Module):
    """A model whose forward pass is `Transformer`'s."""

    config: ModelConfig
    W_E: nn.Parameter
    W_U: nn.Parameter
    layers: Stack[Any]
    mlps: Stack[Any]

    def embed(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    @torch.no_grad()
    def initialise(self, *, generator: torch.Generator | None = None) -> None:
        """Set weights to begin a training with. Writing matrices and W_U are 0: no token is preferred."""
        self.W_E.normal_(generator=generator)
        self.W_U.zero_()
        read = self.config.d_model**-0.5
        for layer in self.layers:
            for weight in (layer.W_Q_concat, layer.W_K_concat, layer.W_V_concat):
                weight.normal_(std=read, generator=generator)
            layer.W_O_concat.zero_()
        for mlp in self.mlps:
            mlp.W_I.normal_(std=read, generator=generator)
            mlp.W_O.zero_()

    @torch.no_grad()
    def randomise(self, *, generator: torch.Generator | None = None) -> None:
        """Set random weights everywhere, of standard deviation 1/√(dimensions read): a null model."""
        for weight in self.parameters():
            weight.normal_(std=weight.shape[1] ** -0.5, generator=generator)
        self.W_E.normal_(generator=generator)  # what it reads is one token, however many there are

    @torch.no_grad()
    def trace(self, tokens: Int[Tensor, "batch pos"]) -> Trace:
        """Forward pass with every intermediate value kept; logits are made when asked for."""
        x, W_P = self.embed(tokens)
        patterns, outputs, of_mlps, residual = [], [], [], [x]
        for index, layer in enumerate(self.layers):
            patterns.append(layer.pattern(x, x, W_P))
            outputs.append(layer.head_outputs(x, patterns[-1]))
            x = x + outputs[-1].sum(dim=1)
            if self.mlps:
                of_mlps.append(self.mlps[index](x))
                x = x + of_mlps[-1]
            residual.append(x)
        weights = self, self.W_U, self.W_U._version
        return Trace(tuple(patterns), tuple(outputs), tuple(residual), tuple(of_mlps), *weights)

    def require_tokens(self, tokens: Any) -> None:
        """Raise a ValueError if these are not contexts of the model, [batch, pos]."""
        n_ctx, n_vocab = self.config.n_ctx, self.config.n_vocab
        whole = isinstance(tokens, Tensor) and not tokens.is_floating_point()
        if not whole or tokens.ndim != 2:
            of = f"{tokens.dtype} {[*tokens.shape]}" if isinstance(tokens, Tensor) else repr(tokens)
            raise ValueError(f"tokens must be [batch, pos] whole numbers below {n_vocab}, not {of}")
        if tokens.shape[1] > n_ctx:
            raise ValueError(f"tokens has length {tokens.shape[1]} but n_ctx is {n_ctx}")
        # Not on an accelerator, which would have to be waited for, nor where a graph is compiled.
        if tokens.device.type == "cpu" and tokens.numel() and not torch.compiler.is_compiling():
            least, most = (int(end) for end in tokens.aminmax())
            if least < 0 or most >= n_vocab:
                raise ValueError(f"tokens are {least} to {most} but must be 0 to {n_vocab - 1}")

    def require_attention_only(self, *takes: str) -> None:
        """Raise a ValueError if there are MLPs, or a form that `require` refuses."""
        if self.mlps:
            raise ValueError(f"this is exact without MLPs only, but d_mlp is {self.config.d_mlp}")
        self.require(*takes)

    @property
    def forms(self) -> frozenset[str]:
        """Forms of `general.FORMS` that the model has and the paper's have not: none."""
        return frozenset()

    def require(self, *takes: str) -> None:
        """Refuse forms that an analysis does not take into account; a model of the paper has none.

        `takes`: the `general.FORMS` that the analysis does take into account.
        """
