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


class SkipTrigram(NamedTuple):
    """Token ids: the source comes earlier, the destination is present, the output is next."""

    src: int
    dst: int
    out: int

    def shown(self) -> str:
        """As the paper writes it: ␣try…↵→␣except."""
        src, dst, out = tokenizer.labels(torch.tensor(self))
        return f"{src}…{dst}→{out}"


@dataclass(frozen=True)
class Factors:
    """The two factors of a head's strength for every triple of tokens, in logits.

    Raises:
        ValueError: if they do not speak of the same sources.
    """

    attention: Float[Tensor, "dst src"]
    """f₁: attention to the source, 0 to 1, in the context BEGIN, source, destination; positions
    are left out. The paper offers no agreed normalisation; this one says what is divided."""
    logits: Float[Tensor, "out src_too"]
    """f₂: logits written when all attention is on the source, minus their mean over outputs."""

    def __post_init__(self):
        if self.attention.shape[1] != self.logits.shape[1]:
            raise ValueError(
                f"attention has {self.attention.shape[1]} sources but "
                f"logits have {self.logits.shape[1]}"
            )

    @cached_property
    def rising(self) -> Float[Tensor, "src_too out"]:
        """The logits of every source, smallest first: `rank` looks its numbers up here."""
        return self.logits.T.contiguous().sort(dim=1).values

    def strength(self, triple: SkipTrigram) -> float:
        """f₁ · f₂ of one triple. [logits]"""
        f1 = self.attention[triple.dst, triple.src]
        return float(f1 * self.logits[triple.out, triple.src])


def factors(model: Transformer, head: tuple[int, int]) -> Factors:
    """Both factors of a head. Exact reading of first-layer heads; see `heads.full_qk`.

    BEGIN is no source: attention to it is how a head does nothing.

    Raises:
        ValueError: if there is no such head.
    """
    scores = heads.full_qk(model, head).dense() / math.sqrt(model.config.d_head)
    rest = torch.logaddexp(scores[:, BEGIN], scores.diagonal())
    attention = torch.sigmoid(scores - rest[:, None])
    attention[:, BEGIN] = 0
    logits = heads.full_ov(model, head).dense()
    return Factors(attention, logits - logits.mean(dim=0))


def top(
    factors: Factors, n: int, weight: Float[Tensor, " n_vocab"] | None = None
) -> list[SkipTrigram]:
    """The n strongest triples, strongest first; exact, from the sorted factors alone.

    `weight`: multiplies the strength by weight[src] · weight[dst] for the ranking, to let common
    tokens come before rare ones.

    Raises:
        ValueError: if n is not between 1 and the number of tokens.
    """
    n_vocab = len(factors.attention)
    if not 1 <= n <= n_vocab:
        raise ValueError(f"n is {n} but must be between 1 and the {n_vocab} tokens")
    f1, f2 = factors.attention, factors.logits
    if weight is not None:
        weight = weight.to(f1.device)
        f1 = f1 * weight[:, None] * weight
    # A source outside the n best, by its own best triple, has n stronger triples above it; and
    # so has the i-th destination of a source with its j-th output once i · j exceeds n.
    best = f1.amax(dim=0) * f2.amax(dim=0)
    sources = best.topk(n).indices
    dst, out = f1[:, sources].topk(n, dim=0), f2[:, sources].topk(n, dim=0)
    i, j = torch.tensor([(i, j) for i in range(n) for j in range(n // (i + 1))]).T
    strength = dst.values[i] * out.values[j]
    order = strength.flatten().topk(n).indices
    pair, source = order // n, order % n
    return [
        SkipTrigram(int(sources[s]), int(dst.indices[i[p], s]), int(out.indices[j[p], s]))
        for p, s in zip(pair, source, strict=True)
    ]


def strongest_sources(
    factors: Factors, n: int, weight: Float[Tensor, " n_vocab"] | None = None
) -> list[int]:
    """The n sources with the strongest triples, each once; `weight` as for `top`."""
    best = factors.attention
    if weight is not None:
        weight = weight.to(best.device)
        best = best * weight[:, None] * weight
    return (best.amax(dim=0) * factors.logits.amax(dim=0)).topk(n).indices.tolist()


def strongest_of_source(
    factors: Factors, src: int, n: int, weight: Float[Tensor, " n_vocab"] | None = None
) -> tuple[list[int], list[int]]:
    """The n destinations that attend most to a source, and the n outputs it raises most.

    Any of the destinations goes with any of the outputs: that is the head's whole opinion.
    `weight` multiplies the attention, to let common destinations come before rare ones.
    """
    f1 = factors.attention[:, src]
    if weight is not None:
        f1 = f1 * weight.to(f1.device)
    return f1.topk(n).indices.tolist(), factors.logits[:, src].topk(n).indices.tolist()


def rank(factors: Factors, triple: SkipTrigram) -> int:
    """How many of the n_vocab³ triples are at least as strong as this one. 1 is the strongest.

    Raises:
        ValueError: if the head does not raise the output's logit: the rank means nothing then.
    """
    strength = factors.strength(triple)
    if strength <= 0:
        raise ValueError(f"{triple} has strength {strength:.3g}, so it is not raised but lowered")
    # A hair below, so that dividing and multiplying again cannot lose the triple itself.
    needed = (strength * (1 - 1e-6) / factors.attention.T).contiguous()
    weaker = torch.searchsorted(factors.rising, needed)
    return int((factors.rising.shape[1] - weaker).sum())


@dataclass(frozen=True)
class Lift:
    """Counts of one skip-trigram in a text."""

    triple: SkipTrigram
    n_dst: int
    n_dst_out: int
    n_src_dst: int
    n_all: int
    """How often the destination occurs; followed by the output; after the source; both."""

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


def destinations(
    stream: Int[Tensor, " n_tokens"], src: int, dst: int, window: int
) -> Int[Tensor, " n"]:
    """Where `dst` stands, with a token after it and `src` among the `window` tokens before it.

    Only within a document: what stands before the last BEGIN does not count.

    Raises:
        ValueError: if the window is below 1.
    """
    if window < 1:
        raise ValueError(f"window is {window} but must be at least 1")
    here = (stream[:-1] == dst).nonzero()[:, 0]
    last = _last((stream == src).nonzero()[:, 0], here)
    document = _last((stream == BEGIN).nonzero()[:, 0], here, or_at=True)
    return here[last >= torch.maximum(document, (here - window).clamp(min=0))]


def _last(
    places: Int[Tensor, " some"], here: Int[Tensor, " n"], or_at: bool = False
) -> Int[Tensor, " n"]:
    """For every element of `here`, the last of the sorted places before (or at) it; -1 if none."""
    n_before = torch.searchsorted(places, here, right=or_at)  # [n]
    return torch.cat([places.new_tensor([-1]), places])[n_before]


def positions(
    stream: Int[Tensor, " n_tokens"], triple: SkipTrigram, window: int
) -> Int[Tensor, " n"]:
    """Where a text has the destination, followed by the output, with the source before it."""
    here = destinations(stream, triple.src, triple.dst, window)
    return here[stream[here + 1] == triple.out]


def count(stream: Int[Tensor, " n_tokens"], triple: SkipTrigram, window: int) -> Lift:
    """How much the source foretells the output in a text; `window` tokens back at most."""
    dst = (stream[:-1] == triple.dst).nonzero()[:, 0]
    after_src = destinations(stream, triple.src, triple.dst, window)
    n_out, n_all = ((stream[here + 1] == triple.out).sum() for here in (dst, after_src))
    return Lift(triple, len(dst), int(n_out), len(after_src), int(n_all))


def neighbours(
    stream: Int[Tensor, " n_tokens"],
    triple: SkipTrigram,
    window: int,
    n: int,
    *,
    generator: torch.Generator,
) -> list[int]:
    """Other sources for the same destination, drawn from where the source stands before it.

    A fair null for a lift: tokens that occur in the same places as the source. Each is drawn from
    a random place of the `window` tokens before a random destination that has the source before
    it. Up to n different ones, without the source, BEGIN and the destination.

    Raises:
        ValueError: if the source never stands before the destination.
    """
    here = destinations(stream, triple.src, triple.dst, window)
    if not len(here):
        raise ValueError(f"{triple.shown()}: the source never stands before the destination")
    here = here[torch.randint(len(here), (4 * n,), generator=generator)]
    back = torch.randint(1, window + 1, (4 * n,), generator=generator)
    drawn = stream[(here - back).clamp(min=0)].tolist()
    return list(dict.fromkeys(t for t in drawn if t not in (triple.src, triple.dst, BEGIN)))[:n]
