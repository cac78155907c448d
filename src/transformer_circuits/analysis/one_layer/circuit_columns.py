"""Columns of a head's two circuits, cut to their strongest entries: which destinations look at a
token, and which next tokens it then raises and lowers (paper: "Splitting Attention Head terms into
Query-Key and Output-Value Circuits").
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis.one_layer.skip_trigrams import Factors, Weight
from transformer_circuits.text.tokenizer import BEGIN


class Columns(NamedTuple):
    """The strongest entries of a head's circuits, for some sources."""

    dst: Int[Tensor, "src n_dst"]
    """The destinations that look at each source most, the first of them first."""
    scores: Float[Tensor, "src n_dst"]
    """How far the destination's score for the source lies above that for all else in the shortest
    context, BEGIN and the destination itself. [nats] `sigmoid(scores)` is `Factors.attention`. A
    constant added to all scores of a destination changes nothing here."""
    out: Int[Tensor, "src n_out"]
    """The outputs that the source raises most, then those that it lowers most."""
    logits: Float[Tensor, "src n_out"]
    """What full attention to the source adds to each output, above the mean of all outputs."""

    def strength(self) -> Float[Tensor, " src"]:
        """Of the skip-trigram of each source with its first destination and first output. [logits]"""
        return self.scores[:, 0].sigmoid() * self.logits[:, 0]


def strongest(
    factors: Factors,
    sources: Int[Tensor, " src"],
    weight: Weight = None,
    *,
    n_dst: int = 6,
    n_raised: int = 6,
    n_lowered: int = 3,
) -> Columns:
    """The strongest entries of the columns of some sources, at most 13.8 nats from even attention.

    With `weight`, destinations are ranked by attention · weight[dst], as by
    `skip_trigrams.strongest_of_source`. BEGIN is no destination: nothing comes before it.

    Raises:
        ValueError: if more destinations or outputs are asked for than there are.
    """
    n_vocab = len(factors.attention)
    if max(n_dst + 1, n_raised + n_lowered) > n_vocab:
        raise ValueError(
            f"{n_dst} destinations and {n_raised} + {n_lowered} outputs are asked for, "
            f"but there are {n_vocab} tokens, and BEGIN is no destination"
        )
    attention, logits = factors.attention[:, sources].T, factors.logits[:, sources].T  # [src, dst]
    ranked = attention * (1 if weight is None else weight.to(attention.device))
    ranked[:, BEGIN] = -1
    dst = ranked.topk(n_dst).indices
    raised, lowered = logits.topk(n_raised), logits.topk(n_lowered, largest=False)
    return Columns(
        dst,
        attention.gather(1, dst).logit(eps=1e-6),
        torch.cat([raised.indices, lowered.indices], dim=1),
        torch.cat([raised.values, lowered.values], dim=1),
    )
