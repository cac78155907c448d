"""Attention layers with one thing changed by hand, for trainings that ask how circuits form.

They have the parameters of an ordinary layer, drawn in the same order, so a model that begins with
one starts its training from the same weights as the model that it is compared with.
"""

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Attention, Pattern, Transformer


def earlier(x: Float[Tensor, "*batch pos d"], back: int = 1) -> Float[Tensor, "*batch pos d"]:
    """Values one position before, or `back` positions; the first position's, where there are none.

    >>> earlier(torch.tensor([[1.0], [2.0], [3.0]])).flatten()
    tensor([1., 1., 2.])
    """
    n_pos = x.shape[-2]
    return torch.cat(
        [x[..., :1, :]] * min(back, n_pos) + [x[..., : max(n_pos - back, 0), :]], dim=-2
    )


class PreviousToken(Attention):
    """Layer whose head 0 attends fully to the previous token, whatever its W_Q and W_K are.

    These two get no gradient there. Its W_V and W_O learn, and so do the other heads.
    """

    back = 1

    def pattern(
        self,
        q_in: Float[Tensor, "batch pos d_model"],
        k_in: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        *,
        head: int | None = None,
    ) -> Pattern:
        A = super().pattern(q_in, k_in, W_P, head=head)
        if head is not None and range(self.n_heads)[head] > 0:
            return A
        n_pos = A.shape[-1]
        clamped = earlier(torch.eye(n_pos, dtype=A.dtype, device=A.device), self.back)
        return torch.cat([clamped.expand_as(A[:, :1]), A[:, 1:]], dim=1)

    def results(
        self,
        x: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        A: Pattern | None,
    ) -> Float[Tensor, "batch head pos d_head"]:
        r = super().results(x, W_P, A)
        if A is not None:
            return r
        v = self.values(x, 0)  # [batch, 1, pos, d_head]
        return torch.cat([earlier(v, self.back), r[:, 1:]], dim=1)


class TwoBack(PreviousToken):
    """Layer whose head 0 attends to the token two back: as much given, but no use for induction."""

    back = 2


class ShiftedKeys(Attention):
    """Layer in whose first half of heads each key is read off the residual stream one token back.

    The position vector that is added stays that of the key's own place. Such a head can look for
    followers of an A with one layer, as a key knows which token came before.
    """

    back = 1

    def keys(
        self,
        x: Float[Tensor, "batch pos d_model"],
        W_P: Float[Tensor, "pos d_model"],
        head: int | None = None,
    ) -> Float[Tensor, "batch head src d_head"]:
        unshifted = super().keys(x, W_P, head)
        before = super().keys(earlier(x, self.back), W_P, head)
        shifted = torch.arange(self.n_heads, device=unshifted.device) < self.n_heads // 2  # [head]
        if head is not None:
            shifted = shifted[[head]]
        return torch.where(rearrange(shifted, "head -> head 1 1"), before, unshifted)


class KeysTwoBack(ShiftedKeys):
    """Layer with keys read two tokens back: they know a token, but not the one that came before.

    Keys shifted the other way would show a head the token that it is to predict.
    """

    back = 2


LAYERS: dict[str, type[Attention]] = {
    "": Attention,
    "previous token": PreviousToken,
    "two back": TwoBack,
    "shifted keys": ShiftedKeys,
    "keys two back": KeysTwoBack,
}
"""First layer of a model by its name in a plan; "" is the ordinary one."""


def model(
    config: ModelConfig, first_layer: str, *, generator: torch.Generator | None = None
) -> Transformer:
    """New model whose first layer is one of `LAYERS`. The others, and all weights, are as ever."""
    made = Transformer(config)
    made.layers[0] = LAYERS[first_layer](config)
    made.initialise(generator=generator)
    return made
