"""Claims about trained attention heads: the resting place, and the previous-token head."""

import copy
import dataclasses
import math

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import composition, patterns
from transformer_circuits.claims import about_composition, samples
from transformer_circuits.claims.controls import (
    heads_without_effect,
    named,
    shuffled_heads,
    untrained,
)
from transformer_circuits.claims.measurement import claim
from transformer_circuits.claims.rewritings import EMBEDDED
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.text import tokenizer
from transformer_circuits.text.tokenizer import BEGIN

COUNTS = 0.01
"""Least change of predictions by a head's edges that counts as an effect. [nats]"""
SHORT = 64
"""Tokens of a short window: the shorter, the larger an even share for the begin token."""


@named(f"windows of {SHORT} tokens")
def in_short_windows(subject: Subject) -> Subject:
    """Subject with the same model, on windows of at most `SHORT` tokens."""
    return dataclasses.replace(subject, longest=SHORT)


@named("ordinary begin")
def ordinary_begin(subject: Subject) -> Subject:
    """Subject whose begin token has the embedding of the commonest token of the text."""
    model = copy.deepcopy(subject.model)
    often = subject.text.long().bincount(minlength=model.config.n_vocab)
    often[tokenizer.BEGIN] = 0
    model.W_E.data[:, tokenizer.BEGIN] = model.W_E.data[:, int(often.argmax())]
    return subject.with_model("ordinary begin", model)


@claim(
    "resting-place",
    "the begin token serves heads as a resting place",
    section="Model Details",
    chapter="03-attention-heads",
    above=0.5,
    threshold_from=(
        "to rest there is to give it most of the attention; ours. One head is enough, which is"
        " softer than the paper's heads: if not even this one rests, none does"
    ),
    verdict="undecided",
    found=(
        "Asked whether heads rest on the begin token. In short windows: yes, but so do heads that "
        "do nothing (the head that looks at it most gives it {other} of its attention). In whole "
        "contexts: no ({range})."
    ),
    unit="%",
    controls=[untrained, ordinary_begin, heads_without_effect],
    sample=samples.WHOLE,
    also=in_short_windows,
)
def attention_to_begin(subject: Subject) -> Float[Tensor, " window"]:
    """Attention to the begin token, by the head that gives it most. A probability, 0 to 1.

    The begin token opens each window and parts documents within it. The head is chosen on every
    fourth window and measured on the others, so that the choice does not flatter it. A longer
    window leaves less attention for any one token, so both whole contexts and short windows are
    measured. (`about_induction.rests` asks whether heads rest when there is nothing to do.) Above 0.5, the head rests there: the begin token gets more than all of the text
    together. Mean over all places but the first, which has nothing else to look at. Paper: "Model
    Details".
    """
    shares = []
    for tokens in subject.windows(*samples.WHOLE)[0].split(4):
        by_layer = patterns.of_all_layers(subject.model, tokens)
        begin = (tokens == BEGIN).to(by_layer[0])[:, None, :, None]  # [window, 1, src, 1]
        shares.append(torch.cat([(A @ begin)[:, :, 1:, 0].mean(dim=-1) for A in by_layer], dim=1))
    to_begin = torch.cat(shares)  # [window, head]
    chosen = torch.arange(len(to_begin)) % 4 == 0
    measured = to_begin[:, int(to_begin[chosen].mean(dim=0).argmax())]
    return measured.masked_fill(chosen, math.nan)


@claim(
    "previous-token-head",
    "the first-layer head that others compose with most, by their keys, looks at the previous "
    "token, less at the present one and two back",
    section="Analyzing a Two-Layer Model",
    reported="mostly",
    corrected="the paper's Correction adds to it: K-composition with the previous-token head is as "
    "important as before, but some induction heads also compose with a head that looks at "
    "the last several tokens",
    chapter="03-attention-heads",
    above=0.5,
    threshold_from="“mostly”, the paper's word",
    verdict="reproduced",
    found=(
        "in {seeds} the first-layer head that later heads compose with most, by their keys, "
        "gives the previous token {range} of its attention."
    ),
    unit="%",
    controls=[untrained, shuffled_heads, heads_without_effect],
    sample=samples.MANY,
    moved_by=[EMBEDDED],
)
def attention_one_back(subject: Subject) -> Float[Tensor, " document"]:
    """Attention to the previous token, by the first-layer head that others compose with most. 0 to 1.

    The head is the one whose K edges together change predictions most
    (`about_composition.effects`): chosen by how others use it, measured by its attention. Not a
    number if those edges change predictions by less than a hundredth of a nat. Above 0.5, every
    other place gets less, among them the present one and two back. Places after the first two.
    Paper: "Analyzing a Two-Layer Model".
    """
    change = about_composition.effects(subject).change.double()
    of_head = change[:, composition.KINDS.index("K")].mean(dim=0).sum(dim=0)
    if of_head.max() < COUNTS:
        return torch.tensor([math.nan])
    model, (inputs, _), rows = subject.model, subject.windows(*samples.MANY), []
    for part in inputs.split(16):
        x, W_P = model.embed(part)
        A = model.layers[0].pattern(x, x, W_P, head=int(of_head.argmax()))[:, 0]
        rows.append(A.diagonal(-1, dim1=1, dim2=2))
    measured = F.pad(torch.cat(rows), (1, 0), value=math.nan)  # [window, dst]
    measured[:, 1] = math.nan
    return subject.by_document(measured)
