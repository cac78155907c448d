"""The paper's families of skip-trigrams that can be recognised by spelling (paper: "Copying /
Primitive In-Context Learning"), and the head that holds a skip-trigram most strongly.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_circuits.analysis.heads import Head
from transformer_circuits.analysis.one_layer import skip_trigram_places
from transformer_circuits.analysis.one_layer.skip_trigrams import Factors, SkipTrigram

COPY = "[b]…[a]→[b]"
COPY_OTHER_FORM = "[b]…[a]→[b′]"
SPLIT = "[ab]…[a]→[b]"
SPLIT_OTHER_FORM = "[ab]…[a]→[b′]"
FAMILIES = (COPY, COPY_OTHER_FORM, SPLIT, SPLIT_OTHER_FORM)


def of_vocabulary(
    texts: Sequence[str], destinations: Sequence[int], least: int = 3
) -> dict[str, list[SkipTrigram]]:
    """Every skip-trigram over a vocabulary that belongs to one of the families.

    b′ is b with other capitals, or with or without its leading space. The paper's b′ may also be a
    word of like meaning. Sources shorter than `least` letters, or with anything but letters, are left
    out.

    `texts`: the text of every token. `destinations`: one for each token of the vocabulary, as a source:
    what to take as destination in the two copying families, in which any token may stand there.
    """
    ids = {text: token for token, text in enumerate(texts) if text}
    forms: dict[str, list[int]] = {}  # the tokens that are one word, but for capitals and space
    for text, token in ids.items():
        forms.setdefault(text.strip().casefold(), []).append(token)
    by_family: dict[str, list[SkipTrigram]] = {family: [] for family in FAMILIES}
    for text, src in ids.items():
        word = text.strip()
        if len(word) < least or not word.isalpha():
            continue
        for out in forms[word.casefold()]:
            family = COPY if out == src else COPY_OTHER_FORM
            by_family[family].append(SkipTrigram(src, destinations[src], out))
        for cut in range(1, len(word)):
            start, end = word[:cut], word[cut:]
            starts = [ids[form] for form in (start, f" {start}") if form in ids]
            ends = [token for token in forms.get(end.casefold(), []) if texts[token][0] != " "]
            for dst, out in itertools.product(starts, ends):
                family = SPLIT if texts[out] == end else SPLIT_OTHER_FORM
                by_family[family].append(SkipTrigram(src, dst, out))
    return by_family


def in_text(
    texts: Sequence[str], stream: Int[Tensor, " n_tokens"], window: int
) -> dict[str, list[SkipTrigram]]:
    """Members of the families that a text has.

    Where a whole word is copied any token may be the destination, and the source stands for it
    here: source and output must occur five times each. Where a split word is completed, the text
    must have the complete skip-trigram, the source `window` tokens back at most.
    """
    often = torch.bincount(stream, minlength=len(texts)) >= 5
    by_family = of_vocabulary(texts, list(range(len(texts))))
    for family, triples in by_family.items():
        if family in (COPY, COPY_OTHER_FORM):
            kept = [bool(often[t.src] and often[t.out]) for t in triples]
        else:
            times = skip_trigram_places.times(stream, triples, window) if triples else often[:0]
            kept = (times > 0).tolist()
        by_family[family] = [t for t, keep in zip(triples, kept, strict=True) if keep]
    return by_family


@dataclass(frozen=True)
class StrongestHead:
    """A skip-trigram, and the head of a layer that holds it most strongly."""

    triple: SkipTrigram
    head: Head
    strength: float
    """f₁ · f₂ in that head. [logits]"""
    attention: float
    """f₁, from 0 to 1."""
    rank: int
    """Rank of the output among all outputs of this source in that head, from 1, the largest."""


def strongest_head(by_head: Mapping[Head, Factors], triple: SkipTrigram) -> StrongestHead:
    """Head that holds a skip-trigram most strongly, with its strength and rank."""
    strengths = {head: factors.strength(triple) for head, factors in by_head.items()}
    head = max(strengths, key=strengths.__getitem__)
    best = by_head[head]
    outputs = best.logits[:, triple.src]  # [out]
    rank = 1 + int((outputs > outputs[triple.out]).sum())
    attention = float(best.attention[triple.dst, triple.src])
    return StrongestHead(triple, head, strengths[head], attention, rank)
