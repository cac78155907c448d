"""Which skip-trigrams stand in the weights of a one-layer model, against shuffled outputs.

A triple counts as held if its output is among the first twenty of all tokens that its strongest head
raises for the source. The null gives it the output of another triple of the same kind. Values are
the first minus the second, from -1 to 1; 0 if any other output would do as well.
"""

from functools import cache

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis.one_layer import skip_trigram_families as families
from transformer_circuits.analysis.one_layer import skip_trigram_lists, skip_trigram_places
from transformer_circuits.analysis.one_layer.skip_trigram_places import Places
from transformer_circuits.analysis.one_layer.skip_trigrams import SkipTrigram
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import heads_without_effect, random_heads, untrained
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.planted import (
    heads_for_destinations,
    of_families,
    of_list,
    planted_skip_trigrams,
    skip_trigrams_by_half,
    skip_trigrams_by_share,
)
from transformer_circuits.claims.rewritings import SPLIT
from transformer_circuits.claims.subjects import Subject, once
from transformer_circuits.text import tokenizer

NOTHING = torch.tensor([torch.nan], dtype=torch.float64)
"""Where the text has no such triples, or no head does anything."""


@once
def _places(subject: Subject) -> Places | None:
    """Of the heads that do something, see `Subject.does`; None if none does.

    A head that is counted as part of the embedding holds no skip-trigrams: it makes bigrams.
    """
    doing = [
        h
        for h in range(subject.model.config.n_heads)
        if subject.does((0, h)) and (0, h) not in subject.in_embedding
    ]
    if not doing:
        return None
    whole = skip_trigram_places.read(subject.model)
    circuits = [[of[h] for h in doing] for of in (whole.ov, whole.scores)]
    return Places(*circuits, whole.mean[doing], whole.least[doing])


@cache
def shuffles(triples: tuple[SkipTrigram, ...]) -> list[list[SkipTrigram]]:
    """The triples with each other's outputs, in ten ways that never give a triple its own place's."""
    generator = torch.Generator().manual_seed(0)
    outs = torch.tensor([triple.out for triple in triples])
    order = torch.randperm(len(triples), generator=generator)
    turns = torch.randint(1, max(len(triples), 2), (10,), generator=generator).tolist()
    given = outs.clone()
    rows = []
    for turn in turns:
        given[order] = outs[order.roll(turn)]
        pairs = zip(triples, given.tolist(), strict=True)
        rows.append([triple._replace(out=out) for triple, out in pairs])
    return rows


def _beyond_shuffled(
    subject: Subject, triples: list[SkipTrigram], any_destination: bool
) -> Float[Tensor, " triple"]:
    places = _places(subject)
    if len(triples) < 2 or places is None:
        return NOTHING
    null = torch.stack(
        [places.first(shuffled, any_destination) for shuffled in shuffles((*triples,))]
    )
    return places.first(triples, any_destination).double() - null.double().mean(dim=0)


def by_source(values: Float[Tensor, " triple"], triples: list[SkipTrigram]) -> Tensor:
    """The mean of each source: triples of one source are no independent units."""
    return samples.by_group(values, torch.tensor([triple.src for triple in triples]))


def _family(subject: Subject, name: str) -> Float[Tensor, " source"]:
    config = subject.model.config
    triples = of_families(subject.text, config.n_vocab, config.n_ctx)[name]
    whole = name in (families.COPY, families.COPY_OTHER_FORM)
    values = _beyond_shuffled(subject, triples, any_destination=whole)
    return by_source(values, triples) if len(values) == len(triples) else values


@decides(
    "family-copy",
    controls=[untrained, random_heads, heads_without_effect],
    planted=skip_trigrams_by_share,
    draws=20,
)
def copy(subject: Subject) -> Float[Tensor, " source"]:
    """[b]…[a]→[b], the source repeated: share held beyond shuffled outputs, for each source.

    From -1 to 1. Paper: "Copying / Primitive In-Context Learning".
    """
    return _family(subject, families.COPY)


@decides(
    "family-other-form",
    controls=[untrained, random_heads, heads_without_effect],
    planted=skip_trigrams_by_share,
    draws=20,
)
def copy_other_form(subject: Subject) -> Float[Tensor, " source"]:
    """[b]…[a]→[b′], b with other capitals or another space; else as `copy`."""
    return _family(subject, families.COPY_OTHER_FORM)


@decides(
    "family-split",
    controls=[untrained, random_heads, heads_without_effect],
    planted=skip_trigrams_by_share,
    draws=20,
)
def split(subject: Subject) -> Float[Tensor, " source"]:
    """[ab]…[a]→[b], a word in pieces completed; else as `copy`."""
    return _family(subject, families.SPLIT)


@decides(
    "family-split-other",
    controls=[untrained, random_heads, heads_without_effect],
    planted=skip_trigrams_by_half,
    draws=20,
)
def split_other_form(subject: Subject) -> Float[Tensor, " source"]:
    """[ab]…[a]→[b′], a word in pieces completed with other capitals; else as `copy`."""
    return _family(subject, families.SPLIT_OTHER_FORM)


@decides("split-specialists", controls=[untrained, random_heads, heads_without_effect])
def held_by_a_specialist(subject: Subject) -> Float[Tensor, " word"]:
    """The share of split words that one head holds, less its share of the same words copied whole.

    -1 to 1, for each word with [ab]…[a]→[b] in held-out text. A head holds the skip-trigram that is
    strongest in it; whole words are copied to the hundred most frequent tokens in turn. The head is
    that of the largest lead in one half of the words, measured in the other. Paper: "Copying /
    Primitive In-Context Learning".
    """
    config, places = subject.model.config, _places(subject)
    triples = of_families(subject.text, config.n_vocab, config.n_ctx)[families.SPLIT]
    if len({triple.src for triple in triples}) < 2 or places is None:
        return NOTHING
    often = subject.text.long().bincount(minlength=config.n_vocab)
    often[tokenizer.BEGIN] = 0
    common = often.topk(min(100, config.n_vocab)).indices.tolist()
    whole = [SkipTrigram(t.src, common[k % len(common)], t.src) for k, t in enumerate(triples)]
    held = [
        F.one_hot((places.f1(listed) * places.f2(listed)).argmax(dim=0), len(places.ov)).double()
        for listed in (triples, whole)
    ]
    lead = torch.stack([by_source(of_head, triples) for of_head in (held[0] - held[1]).T], dim=1)
    of_best = lead.new_empty(len(lead))
    for half in (0, 1):
        of_best[1 - half :: 2] = lead[1 - half :: 2, lead[half::2].mean(dim=0).argmax()]
    return of_best


@decides(
    "listed-skip-trigrams",
    controls=[untrained, random_heads, heads_without_effect],
    planted=planted_skip_trigrams,
    draws=20,
)
def listed(subject: Subject) -> Float[Tensor, " source"]:
    """The paper's own list, as far as single tokens and held-out text have it; else as `copy`.

    A triple takes part if the text has it at least once within a context. Paper: "Other Interesting
    Skip-Trigrams".
    """
    config = subject.model.config
    triples = of_list(subject.text, config.n_vocab, config.n_ctx)
    values = _beyond_shuffled(subject, triples, any_destination=False)
    return by_source(values, triples) if len(values) == len(triples) else values


@decides(
    "dedent",
    controls=[untrained, random_heads, heads_without_effect],
    planted=planted_skip_trigrams,
    draws=20,
)
def dedent(subject: Subject) -> Float[Tensor, " depth"]:
    """After a line indented N steps, one of N − 1: whether "else" and its like are held, for each N.

    From -1 to 1: the share of them that the strongest head has among the first twenty, less that of
    words which open a line after any, "for" or "if"; these are no worse where a head only knows that
    the text is Python. Paper: "Other Interesting Skip-Trigrams".
    """
    texts = tokenizer.texts()[: subject.model.config.n_vocab]
    blocks = skip_trigram_lists.dedents(texts)
    openers = skip_trigram_lists.dedents(texts, skip_trigram_lists.OPENERS)
    places = _places(subject)
    if not blocks or not openers or places is None:
        return NOTHING
    held, null = (
        by_source(places.first(triples).double(), triples) for triples in (blocks, openers)
    )
    return held - null


@decides(
    "heads-of-destinations",
    controls=[untrained, random_heads, heads_without_effect],
    planted=heads_for_destinations,
)
def heads_of_destinations(subject: Subject) -> Float[Tensor, "*one"]:
    """How far skip-trigrams of one destination keep to one head, beyond chance. [sd of chance]

    Of the paper's list, as in `listed`, each source with its destination goes to the head that holds
    its outputs most strongly. Counted are pairs of different sources in one head with one
    destination, against the same with the heads shuffled. About 0 if no head has a destination of
    its own. Paper: "Other Interesting Skip-Trigrams".
    """
    config = subject.model.config
    triples = of_list(subject.text, config.n_vocab, config.n_ctx)
    places = _places(subject)
    if len(triples) < 2 or places is None:
        return NOTHING
    asked = torch.tensor([triple[:2] for triple in triples])
    pairs, index = asked.unique(dim=0, return_inverse=True)
    alike = (pairs[:, None, 1] == pairs[:, 1]).triu(1)
    if not alike.any():
        return NOTHING
    strength = (places.f1(triples) * places.f2(triples)).double()
    summed = strength.new_zeros(len(strength), len(pairs)).index_add(1, index, strength)
    head = summed.argmax(dim=0)
    generator = torch.Generator().manual_seed(0)
    orders = [torch.arange(len(pairs))]
    orders += [torch.randperm(len(pairs), generator=generator) for _ in range(1000)]
    moved = head[torch.stack(orders)]  # [order, pair]; the first as it is
    same = ((moved[:, :, None] == moved[:, None]) & alike).sum(dim=(1, 2)).double()
    return (same[0] - same[1:].mean()) / same[1:].std().clamp(min=1e-9)


@decides(
    "large-brackets",
    controls=[untrained, random_heads, heads_without_effect],
    planted=planted_skip_trigrams,
    draws=20,
    moved_by=[SPLIT],
)
def brackets(subject: Subject) -> Float[Tensor, " pair"]:
    """Brackets and quotes: whether the closing one is held, beyond another's, in a single head.

    From -1 to 1, for each kind of bracket; of the heads the one that holds most. Any token may be
    the destination, so only the OV circuit is asked. Paper: "Other Interesting Skip-Trigrams".
    """
    triples = skip_trigram_lists.brackets(tokenizer.texts()[: subject.model.config.n_vocab])
    places, outs = _places(subject), [triple.out for triple in triples]
    if len(triples) < 2 or places is None:
        return NOTHING
    null = torch.zeros(len(places.ov), len(triples), dtype=torch.float64)
    for turn in range(1, len(outs)):
        others = outs[turn:] + outs[:turn]
        moved = [t._replace(out=out) for t, out in zip(triples, others, strict=True)]
        null += places.first_of_each(moved)
    own = places.first_of_each(triples).double()
    values = own - null / (len(outs) - 1)
    return values[int(values.sum(dim=1).argmax())]
