"""Looks of one head over all of a text: the token before its target, and whether the target comes
next (after HeadVis 2026, which shows heads over their whole text).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.one_layer import ensemble
from transformer_circuits.analysis.patterns import of_all_layers
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer
from transformer_circuits.text.tokenizer import BEGIN

KINDS = ("exact", "near", "other")
"""Match of the token before a source with the present one: the same; the same word with another
capital or space; or neither.
"""
_WINDOWS = 4
"""Windows at once: a few arrays [window, dst, src] are held in memory."""


@dataclass(frozen=True)
class Looks:
    """Strongest look of one head from each place of some windows, resting left out.

    A head rests on BEGIN. A place is a destination whose token is not BEGIN and that has another
    such token before it; its sources are all tokens up to itself but BEGIN.
    """

    window: Int[Tensor, " place"]
    dst: Int[Tensor, " place"]
    src: Int[Tensor, " place"]
    attention: Float[Tensor, " place"]
    """Attention of the look, 0 to 1, without making up for rest."""
    kind: Int[Tensor, " place"]
    """Index into `KINDS`."""
    said: Bool[Tensor, " place"]
    """True where the token looked at comes next."""
    common: Float[Tensor, " place"]
    """Share of that token among the other sources: the rate at which it would come next if order
    meant nothing. The source itself is left out, or chance would come out too low.
    """
    chance: Float[Tensor, "place kind"]
    """Share of the sources that are of each kind: the result of random looks."""
    chance_gain: Float[Tensor, "place kind"]
    """Mean over sources of `gain` where the source is of that kind, else 0."""

    @property
    def gain(self) -> Float[Tensor, " place"]:
        """`said` less `common`, -1 to 1: 0 on average where order means nothing."""
        return self.said.to(self.common) - self.common

    def surplus(self, kind: str) -> Float[Tensor, " place"]:
        """Worth of looking at one kind of match, beyond a random look. -1 to 1.

        `gain` where the look is of this kind, else 0; less the same for a random source. Above 0 on
        average: the head seeks such places, and the token there comes next. On text in random
        order, and for a head that looks at random, 0 on average.
        """
        index = KINDS.index(kind)
        return self.gain * (self.kind == index) - self.chance_gain[:, index]

    def deciles(self) -> Int[Tensor, " place"]:
        """Decile of each place by attention: 1 for the weakest looks to 10 for the strongest."""
        rank = self.attention.argsort(stable=True).argsort(stable=True)
        return 1 + 10 * rank // len(rank)


def words(texts: Sequence[str]) -> Int[Tensor, " n_vocab"]:
    """First token that is the same word but for capitals and space, for every token.

    >>> words(["", " Two", "two", "2"])
    tensor([0, 1, 1, 3])
    """
    return ensemble.forms(texts)[:, 0]


@torch.no_grad()
def strongest(
    model: Transformer,
    inputs: Int[Tensor, "window pos"],
    targets: Int[Tensor, "window pos"],
    head: heads.HeadName,
    words: Int[Tensor, " n_vocab"],
) -> Looks:
    """Strongest look of a head from every place of some windows; `words` as from the function `words`."""
    layer, index = heads.one(model, head)
    parts, first = [], 0
    for batch, after in cross_entropy.batches(inputs, targets, size=_WINDOWS):
        looks = _in_windows(of_all_layers(model, batch)[layer][:, index], batch, after, words)
        looks["window"] += first
        first += len(batch)
        parts.append(looks)
    fields = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    return Looks(**fields)


def _in_windows(
    A: Float[Tensor, "window dst src"],
    inputs: Int[Tensor, "window pos"],
    targets: Int[Tensor, "window pos"],
    words: Int[Tensor, " n_vocab"],
) -> dict[str, Tensor]:
    """Fields of `Looks` for the places of a few windows."""
    token = inputs != BEGIN
    sources = (token[:, None] & token[:, :, None]).tril()  # [window, dst, src]
    n_sources = sources.sum(dim=2)
    of_kind = _kinds(inputs, words) & sources[..., None]  # [window, dst, src, kind]
    comes_next = inputs[:, None, :] == targets[:, :, None]
    # How many other sources up to dst have the same token as src: a running count over dst, less 1.
    same = (inputs[:, :, None] == inputs[:, None, :]) & token[:, :, None]  # [window, up to, src]
    common = (same.cumsum(dim=1) - 1) / (n_sources - 1).clamp(min=1)[..., None]
    gain = (comes_next.to(common) - common) * sources
    attention, src = A.masked_fill(~sources, -1).max(dim=2)

    def mean(values: Tensor) -> Tensor:
        return values.sum(dim=2) / n_sources.clamp(min=1)[..., None]

    def at_src(values: Tensor) -> Tensor:
        return values.gather(2, src[..., None])[..., 0]

    fields = {
        "src": src,
        "attention": attention,
        "kind": torch.stack([at_src(of_kind[..., k]) for k in range(3)]).int().argmax(dim=0),
        "said": at_src(comes_next),
        "common": at_src(common),
        "chance": mean(of_kind.to(common)),
        "chance_gain": mean(of_kind * gain[..., None]),
    }
    window, dst = (n_sources > 1).nonzero(as_tuple=True)
    return {"window": window, "dst": dst} | {k: v[window, dst] for k, v in fields.items()}


def _kinds(
    inputs: Int[Tensor, "window pos"], words: Int[Tensor, " n_vocab"]
) -> Bool[Tensor, "window dst src kind"]:
    """Kind of match with a destination before every source; see `KINDS`."""
    before = inputs.roll(1, dims=1)
    before[:, 0] = BEGIN
    exact = inputs[:, :, None] == before[:, None, :]
    near = (words[inputs][:, :, None] == words[before][:, None, :]) & ~exact
    return torch.stack([exact, near, ~exact & ~near], dim=3)


def by_decile(
    decile: Int[Tensor, " place"], values: Float[Tensor, "place *more"]
) -> Float[Tensor, "ten *more"]:
    """Mean of some values in each tenth of the places, from the weakest looks to the strongest."""
    return torch.stack([values[decile == tenth].mean(dim=0) for tenth in range(1, 11)])


def samples(
    looks: Looks,
    inputs: Int[Tensor, "window pos"],
    targets: Int[Tensor, "window pos"],
    *,
    each: int = 2,
    width: int = 5,
    generator: torch.Generator,
) -> list[dict[str, object]]:
    """Random places of every tenth, `each` of them, the strongest looks first, as rows for a table.

    Each row shows `width` tokens up to the source, which stands in ⟦ ⟧, and up to the destination;
    and the token that really comes next.
    """
    decile, rows = looks.deciles(), []
    for tenth in range(10, 0, -1):
        there = (decile == tenth).nonzero()[:, 0]
        order = torch.randperm(len(there), generator=generator)[:each]
        for place in there[order].tolist():
            window, src, dst = map(int, (looks.window[place], looks.src[place], looks.dst[place]))
            text = inputs[window]
            seen, here = (
                tokenizer.labels(text[max(0, end - width) : end + 1]) for end in (src, dst)
            )
            row = {"tenth": tenth, "attention": float(looks.attention[place])}
            row |= {"match": KINDS[int(looks.kind[place])]}
            row |= {"looks at": "".join(seen[:-1]) + f"⟦{seen[-1]}⟧", "from": "".join(here)}
            following = tokenizer.labels(targets[window, dst : dst + 1])[0]
            rows.append(row | {"what comes next": following + " ✓" * bool(looks.said[place])})
    return rows
