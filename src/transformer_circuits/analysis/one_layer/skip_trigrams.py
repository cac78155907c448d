"""Skip-trigrams [source]…[destination]→[output]: read off the weights, and counted in text
(paper: "Interpretation as Skip-Trigrams").

One head of a one-layer model gives every triple of tokens the strength
f(src, dst, out) = f₁(dst, src) · f₂(out, src). Everything below works on the two factors; the
array of all triples, n_vocab³ numbers, is never built.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer
from transformer_circuits.text.tokenizer import BEGIN

Stream = Int[Tensor, " n_tokens"]


class SkipTrigram(NamedTuple):
    """Token ids: the source comes earlier, the destination is present, the output is next."""

    src: int
    dst: int
    out: int

    def shown(self) -> str:
        """Text as the paper writes it: ␣try…↵→␣except."""
        src, dst, out = tokenizer.labels(torch.tensor(self))
        return f"{src}…{dst}→{out}"


@dataclass(frozen=True)
class Factors:
    """The two factors of a head's strength for every triple of tokens, in logits."""

    attention: Float[Tensor, "dst src"]
    """f₁: attention from the destination to the source, 0 to 1, in the shortest context that has
    both: BEGIN, source, destination. Positions are left out. This is our normalisation of the QK
    scores; the paper leaves it open."""
    logits: Float[Tensor, "out src"]
    """f₂: logits written when all attention is on the source, minus their mean over outputs."""

    @cached_property
    def rising(self) -> Float[Tensor, "src out"]:
        """Logits of every source in ascending order, in which `rank` searches."""
        return self.logits.T.contiguous().sort(dim=1).values

    def strength(self, triple: SkipTrigram) -> float:
        """f₁ · f₂ of one triple. [logits]"""
        if not 0 <= min(triple) <= max(triple) < len(self.attention):
            raise ValueError(f"tokens are 0 to {len(self.attention) - 1}, but these are {triple}")
        f1 = self.attention[triple.dst, triple.src]
        return float(f1 * self.logits[triple.out, triple.src])


def factors(model: Transformer, head: heads.HeadName) -> Factors:
    """Both factors of a head. Exact reading of first-layer heads; see `heads.full_qk`.

    BEGIN is no source: attention to it is a head's rest. Two arrays of n_vocab² numbers: in a large
    vocabulary, take `heads.full_qk(…).columns` of some sources instead.
    """
    model.require()
    scores = heads.full_qk(model, head).dense() / math.sqrt(model.config.d_head)
    rest = torch.logaddexp(scores[:, BEGIN], scores.diagonal())
    attention = torch.sigmoid(scores - rest[:, None])
    attention[:, BEGIN] = 0
    logits = heads.full_ov(model, head).dense()
    return Factors(attention, logits - logits.mean(dim=0))


def strongest_sources(
    factors: Factors, n: int, weight: Float[Tensor, " n_vocab"] | None = None
) -> list[int]:
    """Sources with the n strongest triples, each once.

    `weight`: weights of tokens, to let common ones come before rare ones; a triple counts strength
    · weight[src] · weight[dst].
    """
    f1 = factors.attention  # [dst, src]
    if weight is not None:
        weight = weight.to(f1.device)
        f1 = f1 * weight[:, None] * weight
    return (f1.amax(dim=0) * factors.logits.amax(dim=0)).topk(n).indices.tolist()


def strongest_of_source(
    factors: Factors, src: int, n: int, weight: Float[Tensor, " n_vocab"] | None = None
) -> tuple[list[int], list[int]]:
    """Destinations that attend most to a source, and outputs it raises most, n of each.

    Each of these destinations with each of these outputs is a strong skip-trigram of the head, for
    the strength is a product. Destinations are ranked by attention · weight[dst].
    """
    f1, f2 = factors.attention[:, src], factors.logits[:, src]  # [dst], [out]
    if weight is not None:
        f1 = f1 * weight.to(f1.device)
    return f1.topk(n).indices.tolist(), f2.topk(n).indices.tolist()


def rank(factors: Factors, triple: SkipTrigram) -> int:
    """Rank of a triple among all n_vocab³ by strength, ties counted against it. 1 is the strongest."""
    strength = factors.strength(triple)
    if strength <= 0:
        raise ValueError(f"{triple} has strength {strength:.3g}, so it is not raised but lowered")
    # The logit f₂ that an output needs to be as strong, for each source and destination. Slightly
    # less, so that rounding in the division cannot lose the triple itself.
    needed = strength * (1 - 1e-6) / factors.attention.T  # [src, dst], inf where f₁ is 0
    rising = factors.rising  # [src, out], each row sorted
    n_weaker = torch.searchsorted(rising, needed.contiguous())  # [src, dst]: outputs below it
    return int((rising.shape[1] - n_weaker).sum())


@dataclass(frozen=True)
class Lift:
    """Counts of one skip-trigram in a text, and the ratios they give."""

    triple: SkipTrigram
    n_dst: int
    """Times the destination occurs."""
    n_dst_out: int
    """Times the output follows the destination."""
    n_src_dst: int
    """Times the source stands in the window before the destination."""
    n_all: int
    """Times the complete skip-trigram occurs."""

    @property
    def without(self) -> float:
        """P(out | dst)."""
        return self.n_dst_out / self.n_dst if self.n_dst else math.nan

    @property
    def given(self) -> float:
        """P(out | dst, src earlier)."""
        return self.n_all / self.n_src_dst if self.n_src_dst else math.nan

    @property
    def lift(self) -> float:
        """P(out | dst, src earlier) / P(out | dst). Above 1, the source foretells the output."""
        return self.given / self.without if self.n_dst_out else math.nan


def destinations(stream: Stream, src: int, dst: int, window: int) -> Int[Tensor, " n"]:
    """Places of `dst` with a token after it and `src` among the `window` tokens before it.

    Only within a document: tokens before the last BEGIN do not count.
    """
    here = (stream[:-1] == dst).nonzero()[:, 0]
    last = _last((stream == src).nonzero()[:, 0], here)
    document = _last((stream == BEGIN).nonzero()[:, 0], here, or_at=True)
    return here[last >= torch.maximum(document, (here - window).clamp(min=0))]


def _last(
    places: Int[Tensor, " some"], here: Int[Tensor, " n"], or_at: bool = False
) -> Int[Tensor, " n"]:
    """Last of the sorted places before (or at) every element of `here`; -1 if none."""
    n_before = torch.searchsorted(places, here, right=or_at)  # [n]
    return torch.cat([places.new_tensor([-1]), places])[n_before]


def positions(stream: Stream, triple: SkipTrigram, window: int) -> Int[Tensor, " n"]:
    """Places in a text of the destination, followed by the output, with the source before it."""
    here = destinations(stream, triple.src, triple.dst, window)
    return here[stream[here + 1] == triple.out]


def count(stream: Stream, triple: SkipTrigram, window: int) -> Lift:
    """Counts of a skip-trigram in a text, the source `window` tokens back at most; see `Lift`."""
    dst = (stream[:-1] == triple.dst).nonzero()[:, 0]
    after_src = destinations(stream, triple.src, triple.dst, window)
    n_out, n_all = ((stream[here + 1] == triple.out).sum() for here in (dst, after_src))
    return Lift(triple, len(dst), int(n_out), len(after_src), int(n_all))


def neighbours(
    stream: Stream, triple: SkipTrigram, window: int, n: int, *, generator: torch.Generator
) -> list[int]:
    """Control sources for a skip-trigram: tokens from the same places before its destination.

    A fair null for a lift: tokens that occur in the same places as the source. Each is drawn from a
    random place of the `window` tokens before a random destination that has the source before it.
    Up to n different ones, without the source, BEGIN and the destination.
    """
    here = destinations(stream, triple.src, triple.dst, window)
    if not len(here):
        raise ValueError(f"{triple.shown()}: the source never stands before the destination")
    here = here[torch.randint(len(here), (4 * n,), generator=generator)]
    back = torch.randint(1, window + 1, (4 * n,), generator=generator)
    drawn = stream[(here - back).clamp(min=0)].tolist()
    return list(dict.fromkeys(t for t in drawn if t not in (triple.src, triple.dst, BEGIN)))[:n]
