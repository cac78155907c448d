"""Ranks of skip-trigrams' outputs among all that a head raises for the source, for many at once and
without any array of all pairs of tokens; and counts of skip-trigrams in a text.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.one_layer.skip_trigrams import SkipTrigram
from transformer_circuits.model.lowrank import LowRank
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text.tokenizer import BEGIN


@dataclass(frozen=True)
class Places:
    """First-layer circuits, and each source's threshold for the first `n` outputs; f₁, f₂ as in
    `skip_trigrams`.
    """

    ov: list[LowRank]
    """OV circuit of each head; see `heads.full_ov`."""
    scores: list[LowRank]
    """QK circuit of each head over √d_head: scores without positions."""
    mean: Float[Tensor, "head src"]
    """Mean over outputs of each source's addition to the logits."""
    least: Float[Tensor, "head src"]
    """Least logit of the first `n` outputs that a head raises for a source, above the mean."""

    def f2(self, triples: Sequence[SkipTrigram]) -> Float[Tensor, "head triple"]:
        """Logits written when all attention is on the source, minus their mean over outputs."""
        src, _, out = torch.tensor(triples).T
        return torch.stack([_entries(ov, out, src) for ov in self.ov]) - self.mean[:, src]

    def f1(self, triples: Sequence[SkipTrigram]) -> Float[Tensor, "head triple"]:
        """Attention to the source in the context BEGIN, source, destination, without positions."""
        src, dst, _ = torch.tensor(triples).T
        begin = torch.full_like(src, BEGIN)
        three = [
            torch.stack([_entries(scores, dst, source) for source in (begin, dst, src)])
            for scores in self.scores
        ]
        return torch.stack(three).softmax(dim=1)[:, -1]

    def first(
        self, triples: Sequence[SkipTrigram], any_destination: bool = False
    ) -> Bool[Tensor, " triple"]:
        """True if the output is among the first `n` of the head in which f₁ · f₂ is largest.

        `any_destination`: the head is the one that raises the output most, whatever attends to it.
        """
        f2 = self.f2(triples)  # [head, triple]
        strength = f2 if any_destination else self.f1(triples) * f2
        return self._first(triples, f2).gather(0, strength.argmax(dim=0)[None])[0]

    def first_of_each(self, triples: Sequence[SkipTrigram]) -> Bool[Tensor, "head triple"]:
        """True if the output is among the first `n` that a head raises for the source, for each head."""
        return self._first(triples, self.f2(triples))

    def _first(
        self, triples: Sequence[SkipTrigram], f2: Float[Tensor, "head triple"]
    ) -> Bool[Tensor, "head triple"]:
        src = torch.tensor([triple.src for triple in triples])
        # Slightly less: an entry by itself and in a matrix may differ in the last digits.
        return f2 + 1e-4 * f2.abs() >= self.least[:, src]


def _entries(
    matrix: LowRank, row: Int[Tensor, " triple"], col: Int[Tensor, " triple"]
) -> Float[Tensor, " triple"]:
    return (matrix.left[row] * matrix.right.T[col]).sum(dim=1)


@torch.no_grad()
def read(model: Transformer, n: int = 20, size: int = 1024) -> Places:
    """Read the first layer's OV circuits, `size` sources at a time."""
    model.require()
    layer = heads.of_layer(model, 0)
    ov = [heads.full_ov(model, head) for head in layer]
    qk = [heads.full_qk(model, head) for head in layer]
    scale = math.sqrt(model.config.d_head)
    scores = [LowRank(circuit.left / scale, circuit.right.contiguous()) for circuit in qk]
    mean = torch.stack([circuit.left.mean(dim=0) @ circuit.right for circuit in ov])
    least = []
    for circuit in ov:
        parts = [part @ circuit.left.T for part in circuit.right.T.split(size)]  # [src, out] each
        nth = [part.topk(min(n, part.shape[1])).values[:, -1] for part in parts]
        least.append(torch.cat(nth))
    return Places(ov, scores, mean, torch.stack(least) - mean)


def times(
    stream: Int[Tensor, " n_tokens"], triples: Sequence[SkipTrigram], window: int
) -> Int[Tensor, " triple"]:
    """Count of each skip-trigram in a text, as `skip_trigrams.count` counts, all in one go."""
    stream, (src, dst, out) = stream.long(), torch.tensor(triples).T
    n, n_vocab = len(stream), int(max(stream.max(), src.max(), dst.max(), out.max())) + 1
    places = (stream * n + torch.arange(n)).sort().values  # by token, then by place
    pairs, order = (stream[:-1] * n_vocab + stream[1:]).sort()
    wanted = dst * n_vocab + out
    first = torch.searchsorted(pairs, wanted)  # [triple]
    n_pairs = torch.searchsorted(pairs, wanted, right=True) - first
    which = torch.repeat_interleave(torch.arange(len(wanted)), n_pairs)  # [pair]
    within = torch.arange(len(which)) - (n_pairs.cumsum(0) - n_pairs)[which]
    here = order[first[which] + within]  # [pair]: where the destination stands
    before = torch.searchsorted(places, src[which] * n + here) - 1
    last = places[before.clamp(min=0)] - src[which] * n  # below 0 if there is none
    opened = torch.where(stream == BEGIN, torch.arange(n), 0).cummax(0).values[here]
    there = (before >= 0) & (last >= torch.maximum(opened, here - window).clamp(min=0))
    return torch.bincount(which[there], minlength=len(wanted))
