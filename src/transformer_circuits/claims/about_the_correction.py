"""Claims about the heads that compose, from the paper's correction and remarks beside it."""

import copy
import dataclasses
import math

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import (
    composition,
    head_roles,
    heads,
    induction,
    path_patching,
    patterns,
    repeats,
)
from transformer_circuits.analysis.heads import Head
from transformer_circuits.claims import about_composition, samples, subjects
from transformer_circuits.claims.controls import (
    Graded,
    built_induction,
    graded_edges,
    named,
    turned_heads,
    untrained,
)
from transformer_circuits.claims.measurement import claim
from transformer_circuits.claims.rewritings import EMBEDDED, SPLIT
from transformer_circuits.claims.rules import Interval
from transformer_circuits.claims.subjects import ANOTHER_HEAD, Subject, once

LAST_SEVERAL = 4
"""Number of places back that "the last several tokens" reach."""
MATCHES = 0.2
"""Prefix matching above which a head counts as an induction head, as in the book's marks."""
SUBSTANTIVE = 0.1
"""Share of the strongest edge's change of predictions from which an edge is substantive."""
LEAST = 0.001
"""Least change of predictions by an edge that others are compared with. [nats]"""
SURE = 0.9
"""Attention on the right source from which a head is saturated."""


@once
def further_back(subject: Subject) -> tuple[Head, float]:
    """First-layer head that looks further back than one place, and its attention to the last four.

    Of the heads that do not look one back, the one that looks most two, three and four places back,
    on windows of text. The attention is that to the last four places in all.
    """
    inputs, _ = subject.windows(head_roles.N_WINDOWS, head_roles.N_CTX)
    x, W_P = subject.model.embed(inputs)
    A = subject.model.layers[0].pattern(x, x, W_P)
    back = patterns.by_distance(A, LAST_SEVERAL + 1)
    further = back[:, 2:].sum(dim=1)
    further[[back_head.head for back_head in subject.previous_token_heads]] = -1
    head = int(further.argmax())
    return Head(0, head), float(back[head, 1:].sum())


@named("another head in its place")
def another_head(subject: Subject) -> Subject:
    """Subject measured on a head that the story does not name, in place of the one in question."""
    subject.require(subject.model.config.n_heads > 3, "four heads in a layer")
    return dataclasses.replace(subject, instead=subjects.ANOTHER_HEAD)


def _idle(subject: Subject, size: float) -> Subject:
    """Subject with random weights, where a share of the heads of either layer (not all) writes nothing."""
    model = subjects.random_weights(subject)
    n_heads = model.config.n_heads
    for layer in model.layers:
        layer.W_O[max(1, n_heads - round(size * n_heads)) :] = 0
    return subject.with_model("idle heads", model)


idle_heads = Graded("a share of {} of idle heads", _idle, sizes=(0.625, 0.75, 0.875), counts=0.75)


@named("two-back head")
def two_back_head(subject: Subject) -> Subject:
    """Model whose first head looks two places back, by the positions that turn fastest.

    Tokens have nothing in those d_head dimensions, so positions alone decide.
    """
    model = copy.deepcopy(subject.model)
    layer, d_head = model.layers[0], model.config.d_head
    subject.require(d_head <= model.config.d_model, "a d_head of at most d_model")
    pairs = torch.arange(0, d_head - 1, 2)
    speed = math.pi * model.config.position_base ** (-pairs / model.config.d_model)
    turn = torch.zeros(d_head, d_head)
    turn[pairs, pairs] = turn[pairs + 1, pairs + 1] = (2 * speed).cos()
    turn[pairs, pairs + 1] = (2 * speed).sin()
    turn[pairs + 1, pairs] = -(2 * speed).sin()
    look = 20 / d_head**0.25  # so that the right place has a score of some hundreds
    layer.W_Q.data[0], layer.W_K.data[0] = 0, 0
    layer.W_Q.data[0, :, :d_head] = look * torch.eye(d_head)
    layer.W_K.data[0, :, :d_head] = look * turn
    model.W_E.data[:d_head] = 0
    return subject.with_model("two-back head", model)


@claim(
    "correction-further-back",
    "besides the previous-token head, two induction heads also rely, by their keys, on a head "
    "that looks further back",
    source="follow-up",
    section="Correction: Attention Head Composition Diagram",
    reported="two induction heads, on a head that attends to the last several tokens",
    chapter="10-who-reads-whom",
    above=0.1,
    threshold_from="a tenth, an order of magnitude; ours",
    verdict="reproduced",
    found=(
        "in {seeds} two induction heads also rely on a head that looks further back: the "
        "weaker of the two edges does {range} of what the best edge from the previous-token "
        "head does."
    ),
    unit="%",
    controls=[untrained, turned_heads, another_head],
    sample=samples.OF_EDGES,
)
def keys_further_back(subject: Subject) -> Interval:
    """Effect of the second K edge from a head that looks further back, over the best from one back.

    Effects are changes of predictions on held-out text. The edge is the second best from the head
    of `further_back` into induction heads, for the claim is of two; it is compared with the best K
    edge from a previous-token head. Both are chosen in one half of the windows and measured in the
    other. 1: as much; 0 also where there are no two induction heads, or the head gives the last
    four places less than half of its attention; not a number if the edge of the previous-token head
    does less than `LEAST`. For `ANOTHER_HEAD`: the head with the largest such effect among those
    the story does not name. Paper: "Correction".
    """
    subject.require(subject.model.config.n_heads > 1, "two heads in a layer")
    change = about_composition.effects(subject).change.double()
    of_keys = change[:, composition.KINDS.index("K")]  # [window, later head, earlier head]
    (_, further), looks = further_back(subject)
    one_back = of_keys[..., [back.head for back in subject.previous_token_heads]].flatten(1)
    into = of_keys * (subject.matching > MATCHES)[:, None] * (looks > 0.5)
    measured = change.new_empty(len(change), 2)
    for half in (0, 1):
        chosen, other = into[half::2].mean(dim=0), slice(1 - half, None, 2)
        of_second, second = (
            strongest[1] for strongest in chosen.topk(2, dim=0)
        )  # of each earlier head
        earlier = further
        if subject.instead == ANOTHER_HEAD:
            roles = head_roles.cast(subject.model, subject.text)
            named = {further, roles.recoder.head, *(h for _, h in subject.previous_token_heads)}
            earlier = max(set(range(len(of_second))) - named, key=lambda h: float(of_second[h]))
        best = one_back[half::2].mean(dim=0).argmax()
        measured[other, 0] = into[other, second[earlier], earlier]
        measured[other, 1] = one_back[other, best]

    def share(mean: Tensor) -> float:
        return float(mean[0] / mean[1]) if mean[1] >= LEAST else math.nan

    return about_composition.of_mean(subject, share, measured)


@claim(
    "not-two-back",
    "heads look at the previous token, but none looks two tokens back",
    section="Virtual Attention Heads",
    reported="“often” the one, never the other",
    chapter="09-two-layers",
    below=0.5,
    threshold_from="half: a head that looks there half as much as another looks one back is such a head; ours",
    verdict="not reproduced",
    found=(
        "a head looks two tokens back: it gives that place {range} of what the best "
        "previous-token head gives the previous token. With the usual sinusoids, in one shorter "
        "training, none did."
    ),
    unit="%",
    controls=[untrained, two_back_head],
    sample=samples.MANY,
)
def two_back_over_one_back(subject: Subject) -> Float[Tensor, " document"]:
    """Attention two back, by the head that looks there most, over that of the best head one back.

    Both heads, of either layer, are chosen on every fourth window and measured on the others, per
    document of held-out text; the second is a mean over all. 0: no head looks two back; 1: as much
    as another looks one back. Paper: "Virtual Attention Heads".
    """
    inputs, _ = subject.windows(*samples.MANY)
    chosen = torch.arange(len(inputs)) % 4 == 0
    there = torch.full((2, *inputs.shape, len(heads.every(subject.model))), math.nan)
    for k, part in enumerate(inputs.split(4)):
        A = torch.cat(patterns.of_all_layers(subject.model, part), dim=1)
        for index, back in enumerate((1, 2)):
            looks = A.diagonal(-back, dim1=2, dim2=3).mT  # [window, dst - back, head]
            there[index, 4 * k : 4 * k + len(part), 3:] = looks[:, 3 - back :]
    one_back, two_back = (
        values[..., int(values[chosen, 3:].mean(dim=(0, 1)).argmax())].double() for values in there
    )
    two_back[chosen] = math.nan
    return subject.by_document(two_back) / one_back[~chosen, 3:].mean()


@claim(
    "few-compose",
    "most heads take part in no substantive composition",
    section="Analyzing a Two-Layer Model",
    reported="“most”",
    chapter="10-who-reads-whom",
    below=0.5,
    threshold_from=(
        "“most”, the paper's word; that a tenth of the strongest is substantive is ours: an "
        "order of magnitude"
    ),
    verdict="undecided",
    found=(
        "We cannot tell whether most heads stay out of composition that does something "
        "substantive: {range} of them take part ({interval}), and less than {threshold} was "
        "asked for."
    ),
    unit="%",
    whether="most heads take part in no substantive composition, by what edges do",
    controls=[untrained, graded_edges],
    planted=idle_heads,
    sample=samples.OF_EDGES,
    moved_by=[EMBEDDED],
)
def share_that_composes(subject: Subject) -> Interval:
    """Share of all heads that write or read an edge with a substantive effect. 0 to 1.

    An edge of any kind is substantive if it changes predictions on held-out text by at least a
    tenth as much as the strongest edge. The interval is over windows. Paper: "Analyzing a Two-Layer
    Model", which reads this off its scores, of twelve heads in a layer, before its Correction.
    """

    def share(mean: Tensor) -> float:
        does = (mean >= SUBSTANTIVE * mean.max()) & (mean > 0)
        return float(
            torch.cat([does.any(dim=0).any(dim=0), does.any(dim=0).any(dim=1)]).double().mean()
        )

    return about_composition.of_mean(
        subject, share, about_composition.effects(subject).change.double()
    )


@claim(
    "gradient-where-sure",
    "where an induction head is sure where to look, the derivative sees little of what an edge does",
    section="Related Work",
    reported="a caution, “might”: a small gradient and low attribution; not measured",
    chapter="18-five-years-on",
    below=0.5,
    threshold_from="half: ours, for “low” has no number; what is seen by less than half is missed more than seen",
    verdict="reproduced",
    found=(
        "in {seeds} the derivative misses most of what an edge does where the induction head "
        "is sure where to look: it sees {range} of it."
    ),
    unit="%",
    controls=[untrained],
    planted=built_induction,
    moved_by=[SPLIT],
)
def seen_by_the_derivative(subject: Subject) -> Float[Tensor, " passage"]:
    """Effect of an edge by the derivative over that by cutting, where a head is sure.

    The edge of the induction story: the previous-token head into the strongest matcher's keys. Its
    effect is its addition to the right token's logit, less the mean of all logits, in the second
    copy of random tokens, where the head gives the right source nine tenths of its attention or
    more (anywhere, if it never does). The ratio of the sizes, per passage; 1 if the derivative
    shows all, 0 if it shows nothing. Paper: "Related Work".
    """
    model = copy.deepcopy(subject.model).double()
    passages = subject.random_passages(samples.PASSAGES_CUT, seed=2)
    tokens = repeats.copies(passages)
    trace, length = model.trace(tokens), passages.shape[1]
    later, back = subject.induction_head, subject.previous_token_heads
    edges = {("K", later, head): trace.head_outputs[0][:, head.head] for head in back}
    place = torch.arange(length + 1, 2 * length)
    right = tokens[:, place + 1, None]

    def added(carried: float) -> Float[Tensor, "passage place"]:
        """Addition to the logit by the rest of the edge's vector, beyond the part `carried`."""
        rest = {edge: carried * written for edge, written in edges.items()}
        logits = path_patching.patched(model, trace, rest)
        gone = (trace.logits - logits)[:, place]
        return gone.gather(2, right)[..., 0] - gone.mean(dim=2)

    step = 1e-4
    sizes = torch.stack([(added(1 - step) / step).abs(), added(0.0).abs()])
    where = induction.followers(tokens)
    sure = (trace.patterns[-1][:, later.head] * where).sum(dim=2)[:, place] > SURE
    sure = sure if sure.any() else torch.ones_like(sure)
    by_derivative, by_cutting = (sizes * sure).sum(dim=2)
    return (by_derivative / by_cutting).where(by_cutting > 0, math.nan)
