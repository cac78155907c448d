"""Claims about skip-trigrams in the weights of a one-layer model, against shuffled outputs.

A triple counts as held if its output is among the first twenty of all tokens that its strongest
head raises for the source. The null gives it the output of another triple of the same kind. Values
are the first minus the second, from -1 to 1; 0 if any other output would do as well.
"""

import dataclasses
from collections import Counter
from functools import cache

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis.one_layer import (
    skip_trigram_families,
    skip_trigram_lists,
    skip_trigram_places,
)
from transformer_circuits.analysis.one_layer import skip_trigram_families as families
from transformer_circuits.analysis.one_layer.skip_trigram_places import Places
from transformer_circuits.analysis.one_layer.skip_trigrams import SkipTrigram
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import (
    Control,
    Graded,
    heads_without_effect,
    random_heads,
    untrained,
)
from transformer_circuits.claims.measurement import claim
from transformer_circuits.claims.rewritings import SPLIT
from transformer_circuits.claims.subjects import Subject, once
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer

NOTHING = torch.tensor([torch.nan], dtype=torch.float64)
"""Value where the text has no such triples, or no head has an effect."""


@once
def _places(subject: Subject) -> Places | None:
    """`Places` of the heads with an effect, see `Subject.does`; None if no head has one.

    A head that counts as part of the embedding holds no skip-trigrams: it makes bigrams.
    """
    doing = [
        h
        for h in range(subject.model.config.n_heads)
        if subject.does((0, h)) and (0, h) not in subject.in_embedding
    ]
    if not doing:
        return None
    every = skip_trigram_places.read(subject.model)
    circuits = [[by_head[h] for h in doing] for by_head in (every.ov, every.scores)]
    return Places(*circuits, every.mean[doing], every.least[doing])


@cache
def shuffles(triples: tuple[SkipTrigram, ...]) -> list[list[SkipTrigram]]:
    """Ten lists of the triples with their outputs exchanged: no triple keeps the output of its own place."""
    generator = torch.Generator().manual_seed(0)
    outs = torch.tensor([triple.out for triple in triples])
    order = torch.randperm(len(triples), generator=generator)
    turns = torch.randint(1, max(len(triples), 2), (10,), generator=generator).tolist()
    exchanged = outs.clone()
    rows = []
    for turn in turns:
        exchanged[order] = outs[order.roll(turn)]
        pairs = zip(triples, exchanged.tolist(), strict=True)
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
    """Mean of each source: triples of one source are no independent units."""
    return samples.by_group(values, torch.tensor([triple.src for triple in triples]))


def _family(subject: Subject, name: str) -> Float[Tensor, " source"]:
    config = subject.model.config
    triples = of_families(subject.text, config.n_vocab, config.n_ctx)[name]
    any_destination = name in (families.COPY, families.COPY_OTHER_FORM)
    values = _beyond_shuffled(subject, triples, any_destination)
    return by_source(values, triples) if len(values) == len(triples) else values


@cache
def of_families(
    text: Int[Tensor, " n_tokens"], n_vocab: int, n_ctx: int
) -> dict[str, list[SkipTrigram]]:
    """Members of the paper's families that a text has, by family."""
    return skip_trigram_families.in_text(tokenizer.texts()[:n_vocab], text, n_ctx)


@cache
def of_list(text: Int[Tensor, " n_tokens"], n_vocab: int, n_ctx: int) -> list[SkipTrigram]:
    """Skip-trigrams of the paper's own list that a text has."""
    return skip_trigram_lists.in_text(tokenizer.texts()[:n_vocab], text, n_ctx)


def _with_skip_trigrams(subject: Subject, every: int = 2, destinations: int = 0) -> Subject:
    """One-layer model whose heads hold known skip-trigrams and nothing else.

    The paper's list, all brackets and indents, and one in `every` members of the paper's families.
    Each token is a vector of random signs, of which every head moves a part; an output reads the
    vectors of its sources, and a little noise, so that no two outputs are alike. `destinations`:
    for this many destinations of the list, the commonest first, the output reads the part of one
    head only, a different head for different destinations.
    """
    config = dataclasses.replace(subject.model.config, n_layers=1, d_mlp=0)
    texts = tokenizer.texts()[: config.n_vocab]
    families = of_families(subject.text, config.n_vocab, config.n_ctx).values()
    triples = {triple for members in families for triple in members[::every]}
    listed = of_list(subject.text, config.n_vocab, config.n_ctx)
    common = Counter(dst for _, dst in {(triple.src, triple.dst) for triple in listed})
    by_one_head = {dst for dst, _ in common.most_common(destinations)}
    triples |= {*listed}
    triples |= {*skip_trigram_lists.brackets(texts), *skip_trigram_lists.dedents(texts)}
    model = Transformer(config).requires_grad_(False).eval()
    generator = torch.Generator().manual_seed(1)
    model.W_E.data = torch.randint(2, model.W_E.shape, generator=generator) * 2.0 - 1
    model.W_U.normal_(std=0.25 * config.d_head**-0.5, generator=generator)
    moved = [
        torch.arange(h * config.d_head, (h + 1) * config.d_head) % config.d_model
        for h in range(config.n_heads)
    ]
    for src, dst, out in sorted(triples):
        read = moved[dst % config.n_heads] if dst in by_one_head else torch.arange(config.d_model)
        model.W_U[out, read] += model.W_E[read, src] / config.d_head
    layer = model.layers[0]
    for weight in (layer.W_Q_concat, layer.W_K_concat, layer.W_V_concat):
        weight.zero_()
    rows = torch.arange(config.d_head)
    for h, of_head in enumerate(moved):
        layer.W_V[h][rows, of_head] = 1.0
        layer.W_O[h][of_head, rows] = 1.0
    return subject.with_model("planted skip-trigrams of families and lists", model)


planted_skip_trigrams = Control("skip-trigrams of families and lists", _with_skip_trigrams)


def _shares_of_skip_trigrams(*sizes: float, counts: float) -> Graded:
    """Graded plant: `_with_skip_trigrams` with these shares of the families."""
    return Graded(
        "a share of {} of the skip-trigrams",
        lambda subject, size: _with_skip_trigrams(subject, every=round(1 / size)),
        sizes,
        counts,
    )


skip_trigrams_by_share = _shares_of_skip_trigrams(0.05, 0.1, 0.2, counts=0.2)


skip_trigrams_by_half = _shares_of_skip_trigrams(0.25, 0.5, counts=0.5)


heads_for_destinations = Graded(
    "heads of their own for {} of the destinations",
    lambda subject, size: _with_skip_trigrams(subject, destinations=int(size)),
    sizes=(1.0, 2.0, 4.0),
    counts=1.0,
)


@claim(
    "family-copy",
    "[b]…[a]→[b]: the source is repeated",
    section="Copying / Primitive In-Context Learning",
    reported="two…One→two and others",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=0.1,
    threshold_from=(
        "a tenth of the triples: 0 is what chance gives, and a rule has a size; ours, for the "
        "paper gives no number"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} one layer repeats what it looks at: the source itself is among the first "
        "twenty tokens that the strongest head raises, {range} more often than a shuffled "
        "output."
    ),
    unit="percentage points",
    whether="heads of a one-layer model repeat the source",
    controls=[untrained, random_heads, heads_without_effect],
    planted=skip_trigrams_by_share,
    draws=20,
)
def copy(subject: Subject) -> Float[Tensor, " source"]:
    """Share of [b]…[a]→[b], the source repeated, held beyond shuffled outputs, for each source.

    From -1 to 1. Paper: "Copying / Primitive In-Context Learning".
    """
    return _family(subject, families.COPY)


@claim(
    "family-other-form",
    "[b]…[a]→[b′], of which we test the word with other capitals or another space: it is raised",
    section="Copying / Primitive In-Context Learning",
    reported="two…has→three and others",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=0.1,
    threshold_from=(
        "a tenth of the triples: 0 is what chance gives, and a rule has a size; ours, for the "
        "paper gives no number"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} one layer raises another form of the word that it looks at, with other "
        "capitals or another space: {range} more often than a shuffled output."
    ),
    unit="percentage points",
    whether="heads of a one-layer model raise a word like the source",
    controls=[untrained, random_heads, heads_without_effect],
    planted=skip_trigrams_by_share,
    draws=20,
)
def copy_other_form(subject: Subject) -> Float[Tensor, " source"]:
    """Share of [b]…[a]→[b′], b with other capitals or another space. Else as `copy`.

    The paper allows for these tokens where it defines copying. Its examples here are words of like
    meaning, which no spelling tells, and are not tested.
    """
    return _family(subject, families.COPY_OTHER_FORM)


@claim(
    "family-split",
    "[ab]…[a]→[b]: a word split in pieces is completed",
    section="Copying / Primitive In-Context Learning",
    reported="Ralph…R→alph and others",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=0.1,
    threshold_from=(
        "a tenth of the triples: the paper says that such entries are “quite common to see”, "
        "and one in ten is our reading of that; 0 is what chance gives"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} the rest of a word that was split in pieces is among the first twenty "
        "tokens that the strongest head raises for the whole word, {range} more often than a "
        "shuffled output."
    ),
    unit="percentage points",
    whether="one layer completes a word that was split in pieces",
    controls=[untrained, random_heads, heads_without_effect],
    planted=skip_trigrams_by_share,
    draws=20,
)
def split(subject: Subject) -> Float[Tensor, " source"]:
    """Share of [ab]…[a]→[b], a word in pieces completed. Else as `copy`."""
    return _family(subject, families.SPLIT)


@claim(
    "family-split-other",
    "[ab]…[a]→[b′]: a split word is completed in another form, as “observed” in some models",
    section="Copying / Primitive In-Context Learning",
    reported="Ralph…R→ALPH and others",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=0.25,
    threshold_from=(
        "a quarter of the triples, as there are few, and of these chance has held .14; ours, "
        "for the paper says only that the pattern was observed"
    ),
    sometimes=True,
    unit="percentage points",
    whether="one layer completes a split word in another form",
    controls=[untrained, random_heads, heads_without_effect],
    planted=skip_trigrams_by_half,
    draws=20,
)
def split_other_form(subject: Subject) -> Float[Tensor, " source"]:
    """Share of [ab]…[a]→[b′], a word in pieces completed with other capitals. Else as `copy`."""
    return _family(subject, families.SPLIT_OTHER_FORM)


@claim(
    "split-specialists",
    "some head partly specialises in words that are split in two, looking from a piece back at"
    " the whole word",
    section="Copying / Primitive In-Context Learning",
    reported="“sometimes”, “partially”",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=0.25,
    threshold_from="a quarter of the words more, for “partially”; ours",
    sometimes=True,
    verdict="no case",
    found=(
        "The paper sometimes sees a head that partly specialises in words that are split in "
        "two; our few heads show none: the largest difference between a head's share of these "
        "and of words copied whole is {range}, and more than {threshold} was asked for."
    ),
    unit="%",
    controls=[untrained, random_heads, heads_without_effect],
)
def held_by_a_specialist(subject: Subject) -> Float[Tensor, " word"]:
    """Share of split words that one head holds, less its share of the same words copied whole.

    -1 to 1, for each word with [ab]…[a]→[b] in held-out text. A skip-trigram is held by the head in
    which it is strongest; whole words are copied to the hundred most frequent tokens in turn. The
    head has the largest lead in one half of the words, and is measured in the other. Paper:
    "Copying / Primitive In-Context Learning".
    """
    config, places = subject.model.config, _places(subject)
    triples = of_families(subject.text, config.n_vocab, config.n_ctx)[families.SPLIT]
    if len({triple.src for triple in triples}) < 2 or places is None:
        return NOTHING
    often = subject.text.long().bincount(minlength=config.n_vocab)
    often[tokenizer.BEGIN] = 0
    common = often.topk(min(100, config.n_vocab)).indices.tolist()
    copied = [SkipTrigram(t.src, common[k % len(common)], t.src) for k, t in enumerate(triples)]
    held = [
        F.one_hot((places.f1(listed) * places.f2(listed)).argmax(dim=0), len(places.ov)).double()
        for listed in (triples, copied)
    ]
    lead = torch.stack([by_source(of_head, triples) for of_head in (held[0] - held[1]).T], dim=1)
    of_best = lead.new_empty(len(lead))
    for half in (0, 1):
        of_best[1 - half :: 2] = lead[1 - half :: 2, lead[half::2].mean(dim=0).argmax()]
    return of_best


@claim(
    "listed-skip-trigrams",
    "of the skip-trigrams that the paper lists, those that our text has stand in the weights",
    section="Other Interesting Skip-Trigrams",
    reported="a list of about 70, of Python, LaTeX, English and web addresses; here seven sources are left",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=0.5,
    threshold_from=(
        "half of the triples: “those that our text has” are most of them at least; ours, for "
        "the paper gives no number"
    ),
    unit="percentage points",
    whether="the skip-trigrams that the paper lists stand in the weights",
    controls=[untrained, random_heads, heads_without_effect],
    planted=planted_skip_trigrams,
    draws=20,
)
def listed(subject: Subject) -> Float[Tensor, " source"]:
    """Share of the paper's own list, as far as single tokens and held-out text have it. Else as `copy`.

    A triple takes part if the text has it at least once within a context. Paper: "Other Interesting
    Skip-Trigrams".
    """
    config = subject.model.config
    triples = of_list(subject.text, config.n_vocab, config.n_ctx)
    values = _beyond_shuffled(subject, triples, any_destination=False)
    return by_source(values, triples) if len(values) == len(triples) else values


@claim(
    "dedent",
    "after a line of Python indented N steps, one indented N − 1 goes on with else, elif or "
    "except, for several N",
    section="Other Interesting Skip-Trigrams",
    reported="with tabs or with spaces",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=0.5,
    threshold_from=(
        "half of the words: “for various N” they are held rather than not, where 0 is what "
        "other words get that open a line; ours, for the paper gives no number"
    ),
    unit="percentage points",
    whether="one layer expects else, elif or except after a line of Python that was indented deeper",
    controls=[untrained, random_heads, heads_without_effect],
    planted=planted_skip_trigrams,
    draws=20,
)
def dedent(subject: Subject) -> Float[Tensor, " depth"]:
    """Share of "else" and its like held after a line of Python indented deeper, for each depth N.

    From -1 to 1. After a line indented N steps and one of N − 1: the share of these words among the
    first twenty of the strongest head, less that of words which open a line after any, such as
    "for"; a head that only knows that the text is Python holds both alike. Paper: "Other
    Interesting Skip-Trigrams".
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


@claim(
    "heads-of-destinations",
    "a head answers one destination for many sources: “and” after back, eat, day",
    section="Other Interesting Skip-Trigrams",
    reported="head 0:0 of the 12-head model; in another, names go with “by” and places with “from”",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=2.0,
    threshold_from="two standard deviations: chance lies beyond them about once in forty times",
    unit="standard deviations",
    whether="a head answers one destination for many sources",
    controls=[untrained, random_heads, heads_without_effect],
    planted=heads_for_destinations,
)
def heads_of_destinations(subject: Subject) -> Float[Tensor, "*one"]:
    """Concentration of the skip-trigrams of one destination in one head. [standard deviations of chance]

    Of the paper's list, as in `listed`, each source with its destination goes to the head that
    holds its outputs most strongly. The count is of pairs of different sources in one head with one
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


@claim(
    "large-brackets",
    "a head matches quotes and brackets: after the opening one it raises the closing one",
    section="Other Interesting Skip-Trigrams",
    reported="head 0:27 of the 32-head model",
    chapter="06-skip-trigrams",
    of="one-layer",
    above=0.5,
    threshold_from=(
        "half of the pairs: a head that matches brackets matches most kinds; ours, for the "
        "paper gives no number"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} a single head matches brackets and quotes: it raises the closing one "
        "{range} more often than that of another pair."
    ),
    unit="percentage points",
    whether="a head matches quotes and brackets",
    controls=[untrained, random_heads, heads_without_effect],
    planted=planted_skip_trigrams,
    draws=20,
    moved_by=[SPLIT],
)
def brackets(subject: Subject) -> Float[Tensor, " pair"]:
    """Share of closing brackets and quotes held in a single head, beyond those of other pairs.

    From -1 to 1, for each kind of bracket, in the head that holds most. Any token may be the
    destination, so only the OV circuit is asked. Paper: "Other Interesting Skip-Trigrams".
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
    held = places.first_of_each(triples).double()
    values = held - null / (len(outs) - 1)
    return values[int(values.sum(dim=1).argmax())]
