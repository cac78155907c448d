"""Claims about copying: heads that copy or do not, deletion, and vectors moved from the begin token."""

import copy
import math
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits.analysis import (
    ablation,
    composition,
    copying_scores,
    heads,
    patterns,
)
from transformer_circuits.analysis.heads import Head
from transformer_circuits.claims import samples
from transformer_circuits.claims.controls import (
    Graded,
    heads_without_effect,
    named,
    random_heads,
    shuffled_heads,
    shuffled_text,
    untrained,
    white_basis,
)
from transformer_circuits.claims.measurement import claim
from transformer_circuits.claims.rewritings import EMBEDDED, SPLIT
from transformer_circuits.claims.subjects import Subject, Unavailable, once
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer

EXCEPTIONS = 1 / 6
"""Share of heads that do not copy in the paper: 2 of 12."""
OF_SUPPRESSION: samples.Sample = (32, 128)
VALUE, MOVED, LOGITS = "the value v", "what is moved, W_O v", "what this adds to the logits"
"""Three vectors that a head takes from a place; each has its length."""
AGO = 16
"""Distance back to the prediction that another is compared with, or half of a short passage."""


@cache
def ov_score(subject: Subject, head: Head) -> float:
    """Positivity Σλ/Σ|λ| of a head's OV circuit, past all other layers; 0 if the head writes nothing."""
    if not subject.model.layers[head[0]].W_O[head[1]].any():
        return 0.0
    return copying_scores.positivity(heads.full_ov(subject.model, head).eigenvalues())


@once
def bound(subject: Subject) -> float:
    """Four standard deviations above the mean OV score of random heads between the same embeddings."""
    model, generator = subject.model, torch.Generator().manual_seed(0)
    null = copying_scores.null(model.W_U, model.W_E, model.config.d_head, 200, generator=generator)
    return float(null.mean() + 4 * null.std())


def _deleting(subject: Subject, size: float) -> Subject:
    """Model whose first head looks at the present token and subtracts a part of what it reads.

    The head reads the d_head directions in which the embeddings of the text vary most. W_U is W_Eᵀ,
    so that eigenvalues over tokens are negative, too. `size`: the share of the squared length there
    that the head deletes.
    """
    model = _looking_at_itself(subject)
    layer, d_head = model.layers[0], model.config.d_head
    counts = subject.text.long().bincount(minlength=model.config.n_vocab).to(model.W_E)
    varied = torch.linalg.eigh(model.W_E * counts @ model.W_E.T).eigenvectors[:, -d_head:]
    layer.W_V.data[0], layer.W_O.data[0] = varied.T, -(1 - math.sqrt(1 - size)) * varied
    model.W_U.data = model.W_E.T.clone()
    return subject.with_model("deleting head", model)


def _looking_at_itself(subject: Subject) -> Transformer:
    """Copy of the model whose first head looks at the present token."""
    model = copy.deepcopy(subject.model)
    layer, d_head = model.layers[0], model.config.d_head
    subject.require(d_head <= model.config.d_model, "a d_head of at most d_model")
    # The first pairs of positions turn fastest, so that each place is most like itself.
    look = math.sqrt(20 / math.sqrt(d_head)) * torch.eye(d_head, model.config.d_model)
    layer.W_Q.data[0], layer.W_K.data[0] = look, look
    return model


deleting_head = Graded(
    "a head that deletes a share of {} of what it reads",
    _deleting,
    sizes=(0.5, 0.75, 1.0),
    counts=0.75,
)


@named("head that writes at random")
def random_writer(subject: Subject) -> Subject:
    """Model whose first head looks at the present token, and reads and writes random directions.

    Its eigenvalues sum to less than 0, its weights are of the size of a deleting head's; other
    heads of its layer write nothing.
    """
    model = _looking_at_itself(subject)
    layer, generator = model.layers[0], torch.Generator().manual_seed(1)
    normal = torch.randn(2, *layer.W_O[0].shape, generator=generator)
    reads, writes = torch.linalg.qr(normal).Q.to(layer.W_O)
    trace = (reads.T @ writes).trace()  # the sum of the eigenvalues of W_OV
    layer.W_V[0], layer.W_O[0] = reads.T, -trace.sign() * writes
    layer.W_O[1:] = 0
    return subject.with_model("head that writes at random", model)


@named("suppressing head")
def suppressing_head(subject: Subject) -> Subject:
    """Model whose last layer's first head looks at tokens that the stream predicts, and lowers them.

    W_U is W_Eᵀ. The head looks for tokens that are like the stream in the d_head directions in
    which the embeddings of the text vary most, and writes their negative. Positions are taken away,
    so that tokens alone decide.
    """
    model = copy.deepcopy(subject.model)
    layer, d_head = model.layers[-1], model.config.d_head
    subject.require(d_head <= model.config.d_model, "a d_head of at most d_model")
    counts = subject.text.long().bincount(minlength=model.config.n_vocab).to(model.W_E)
    spread = torch.linalg.eigh(model.W_E * counts @ model.W_E.T)
    varied = spread.eigenvectors[:, -d_head:]
    length = (varied.T @ model.W_E).norm(dim=0).mean()
    layer.W_Q.data[0] = layer.W_K.data[0] = varied.T * (20 * d_head**0.5) ** 0.5 / length
    layer.W_V.data[0], layer.W_O.data[0] = varied.T, -4 * varied
    model.W_P.zero_()
    model.W_U.data = model.W_E.T.clone()
    return subject.with_model("suppressing head", model)


@claim(
    "copying-heads",
    "most heads of a one-layer model copy",
    section="Detecting Copying Behavior",
    reported="10 of 12; in the authors' video this is what “capacity” means",
    chapter="07-copying",
    of="one-layer",
    above=0.5,
    threshold_from=(
        "“most”, the paper's word; it reports 10 of 12. With six heads only six of six clear "
        "it, though five of six is the paper's share: harder, by our few heads"
    ),
    unit="%",
    controls=[untrained, random_heads, heads_without_effect],
    moved_by=[SPLIT],
    also=white_basis,
)
def share_of_copying_heads(subject: Subject) -> Float[Tensor, " head"]:
    """Last-layer heads with an OV score four standard deviations above random heads'. 1 or 0 for each.

    The score is that of the head alone, past the layers before; random heads stand between the same
    trained embeddings, in this basis. A head without effect (`Subject.does`) copies nothing. Paper:
    "Detecting Copying Behavior", and the authors' video on results of two layers.
    """
    last = heads.of_layer(subject.model, subject.model.config.n_layers - 1)
    copies = [subject.does(head) and ov_score(subject, head) > bound(subject) for head in last]
    return torch.tensor(copies, dtype=torch.float64)


share_in_second_layer = claim(
    "copying-second-layer",
    "most heads of the second layer copy",
    section="the authors' video on results of two layers",
    reported="7 of 12",
    chapter="09-two-layers",
    above=0.5,
    threshold_from="half; the authors count 7 of 12",
    verdict="reproduced",
    found="in {seeds} most heads of the second layer copy, by their eigenvalues: {range} of them.",
    unit="%",
    controls=[untrained, random_heads, heads_without_effect],
    moved_by=[SPLIT],
    also=white_basis,
)(share_of_copying_heads.function)


@claim(
    "positional-exceptions",
    "the heads that copy least look at the present and the previous token",
    section="Detecting Copying Behavior",
    reported="2 of 12, “primarily positional”",
    chapter="08-every-head",
    of="one-layer",
    above=0.5,
    threshold_from=(
        "half: “primarily positional” and “mostly attend to the present token”, in the "
        "authors' video; a number and that each of these heads must reach it are ours, for the"
        " video says it of both"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} the heads that copy least look at the present and the previous token, with"
        " {range} of their attention or more."
    ),
    unit="%",
    controls=[untrained, shuffled_heads, heads_without_effect],
    sample=samples.OF_PASSAGES,
    moved_by=[SPLIT, EMBEDDED],
)
def attention_of_exceptions(subject: Subject) -> Float[Tensor, " passage"]:
    """Attention of the heads that copy least to the present and the previous token. 0 to 1.

    The sixth of all heads (as in the paper, 2 of 12; rounded up) with the lowest OV scores, among
    those with an effect (`Subject.does`; not a number if none has): chosen by OV circuits, measured
    by attention. Of these, the head that looks near least. Positions 0 and 1 are left out, for
    there is little else to look at. Paper: "Detecting Copying Behavior", and its video on one-layer
    results.
    """
    every = heads.every(subject.model)
    doing = sorted(filter(subject.does, every), key=lambda head: ov_score(subject, head))
    if not doing:
        return torch.tensor([math.nan])
    chosen = doing[: math.ceil(EXCEPTIONS * len(every))]
    A = patterns.of_all_layers(subject.model, subject.windows(*samples.OF_PASSAGES)[0])
    near = torch.stack([_near(A[head.layer][:, head.head]) for head in chosen])  # [head, passage]
    return near[int(near.mean(dim=1).argmin())]


@claim(
    "memory-deletion",
    "a first-layer head with negative eigenvalues that looks at the present token deletes from"
    " the stream what it reads there",
    section="Subspaces and Residual Stream Bandwidth",
    reported="“some attention heads”, “potentially”",
    chapter="08-every-head",
    above=0.5,
    threshold_from=(
        "ours: half of what a head can delete that takes away d_head dimensions, each used "
        "like any other; the paper gives no number"
    ),
    sometimes=True,
    verdict="no case",
    found=(
        "In our models no head of the first layer that looks mostly at the present token has "
        "eigenvalues that are negative on balance and deletes, so they do not show whether "
        "such a head does."
    ),
    unit="even shares",
    controls=[random_writer, shuffled_heads],
    planted=deleting_head,
    sample=samples.OF_PASSAGES,
    moved_by=[SPLIT, EMBEDDED],
)
def deletion_by_negative_head(subject: Subject) -> Float[Tensor, " passage"]:
    """Squared length that a head deletes from the stream it stands in. 1 is an even share.

    An even share is d_head/d_model: the loss of d_head dimensions, each used like any other. 0: the
    stream is as long as without the head. Negative: longer. Lengths are measured in the basis in
    which text uses all directions of the embedding alike. The head is the first-layer one with the
    lowest Σλ/Σ|λ| of W_OV among those that give the present token more than half of their
    attention; not a number if there is none, or its score is not below 0. Paper: "Subspaces and
    Residual Stream Bandwidth", in a footnote.
    """
    model = subject.model
    tokens, _ = subject.windows(*samples.OF_PASSAGES)
    x, W_P = model.embed(tokens)
    layer = model.layers[0]
    A = layer.pattern(x, x, W_P)
    present = A.diagonal(dim1=2, dim2=3).mean(dim=(0, 2))  # [head]
    scores = {
        head: copying_scores.positivity(heads.W_OV(model, head).eigenvalues())
        for head in heads.of_layer(model, 0)
        if present[head.head] > 0.5 and layer.W_O[head.head].any()
    }
    head = min(scores, key=scores.__getitem__, default=None)
    if head is None or scores[head] >= 0:
        return torch.tensor([math.nan])
    written = layer.head_outputs(x, A)[:, head.head]
    even = model.config.d_head / model.config.d_model
    try:
        reads = composition.white_basis(model, tokens, layer=0)
    except ValueError as error:
        raise Unavailable(f"{subject.name} has no basis for lengths: {error}") from error
    return copying_scores.deletion(reads, x[:, 1:].double(), written[:, 1:].double()) / even


@claim(
    "copy-suppression",
    "heads lower what is already predicted (copy suppression); we look for it in the head with"
    " the lowest eigenvalues",
    source="follow-up",
    section="McDougall et al. 2023",
    reported="77 % of head 10.7's effect, in GPT-2 small",
    chapter="08-every-head",
    below=0.0,
    threshold_from=(
        "0: it lowers all that it sees alike, predicted or not; ours, for the 77 % are of "
        "another measure. So is the choice of the head: the source starts from one that was "
        "known, and says nothing of eigenvalues"
    ),
    verdict="not reproduced",
    found=(
        "our head with the lowest eigenvalues does not lower what is already predicted: it "
        "misses the bound by {off}. The source found one that does, in a larger model."
    ),
    unit="logits",
    whether="a head with negative eigenvalues lowers what is already predicted",
    controls=[untrained, random_heads],
    planted=suppressing_head,
    sample=OF_SUPPRESSION,
    moved_by=[SPLIT, EMBEDDED],
)
def suppression_by_negative_head(subject: Subject) -> Float[Tensor, " passage"]:
    """Addition of a head to the logit of the earlier token predicted most, less that to another. [logits]

    The head is the one with the lowest OV score of all layers, if that is below 0; else not a
    number. At each place, among the tokens of the text so far: the head's own addition to the logit
    of the token that is predicted most without it, less its addition to the one that was predicted
    most 16 places before. Below 0, the head lowers tokens that are already predicted; a head that
    lowers all tokens alike has 0. Source: McDougall et al. 2023, "Copy Suppression".
    """
    model, tokens = subject.model, subject.windows(*OF_SUPPRESSION)[0]
    head = min(heads.every(model), key=lambda head: ov_score(subject, head))
    if ov_score(subject, head) >= 0:
        return torch.tensor([math.nan])
    trace = model.trace(tokens)
    written = trace.head_outputs[head.layer][:, head.head]
    W_U, seen = model.W_U[tokens].mT, torch.ones(2 * tokens.shape[1:], dtype=torch.bool).tril()
    added = written @ W_U  # [passage, dst, token of the passage]
    without = ((trace.residual[-1] - written) @ W_U).masked_fill(~seen, -torch.inf)
    predicted = without.argmax(dim=2)  # [passage, dst]
    ago = min(AGO, tokens.shape[1] // 2)
    here, before = (
        added[:, ago:].gather(2, token[..., None])[..., 0]
        for token in (predicted[:, ago:], predicted[:, :-ago])
    )
    return (here - before).mean(dim=1)


@claim(
    "value-weighted",
    "what heads rest on moves little: the begin token's value is short, which only a pattern "
    "weighted by the length of values shows",
    section="Analyzing a Two-Layer Model",
    chapter="08-every-head",
    below=0.5,
    threshold_from=(
        "ours, and softer than “small”, which has no number: at one half the plain pattern "
        "shows twice as much as is moved, so that a weighted one is worth drawing"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} the begin token moves little: the vector moved from it is {range} as long "
        "as those moved from other places."
    ),
    unit="%",
    whether="what heads rest on moves little",
    controls=[untrained, random_heads, heads_without_effect],
    sample=samples.SHORT,
    moved_by=[SPLIT],
    also=white_basis,
)
def length_of_begin_value(subject: Subject) -> Float[Tensor, " passage"]:
    """Length of the vector moved from the begin token, over that from other places. 1 is as long.

    The vector is W_O v, not the value v itself; lengths as in `lengths_of_begin`. Paper: "Analyzing
    a Two-Layer Model", whose patterns are weighted by the length of values, v, to show “how big a
    vector is moved”. A matrix inside a head, M W_V with W_O M⁻¹, may give v any length while no
    logit changes; W_O v stays.
    """
    return lengths_of_begin(subject)[MOVED]


@once
def lengths_of_begin(subject: Subject) -> dict[str, Float[Tensor, " passage"]]:
    """Length of a head's vector from the begin token over that from other places, by kind of vector.

    The value v, whose length depends on how the head is written down but on no basis of the stream;
    the vector W_O v that is moved, the same in any basis inside the head; and its addition to the
    logits, less their mean over the vocabulary, which neither changes. Mean over all heads with an
    effect (`Subject.does`), weighted by their attention to the begin token: those that rest there
    count.
    """
    model = subject.model
    W_U = model.W_U - model.W_U.mean(dim=0)
    stream = torch.eye(model.config.d_model).to(W_U)
    grams = {MOVED: stream, LOGITS: W_U.T @ W_U}  # y gram y: the squared length of what y is there
    by_passage: dict[str, list[Tensor]] = {way: [] for way in (VALUE, *grams)}
    passages = subject.windows(*samples.SHORT)[0].clone()
    passages[:, 0] = tokenizer.BEGIN
    for part in passages.split(16):
        x, W_P = model.embed(part)
        looked, ratios = [], {way: [] for way in by_passage}
        for index, layer in enumerate(model.layers):
            A = layer.pattern(x, x, W_P)
            for h in range(model.config.n_heads):
                if subject.does((index, h)):
                    v, W_O = x @ layer.W_V[h].T, layer.W_O[h]
                    squared = {VALUE: v * v}
                    squared |= {way: (v @ (W_O.T @ gram @ W_O)) * v for way, gram in grams.items()}
                    looked.append(A[:, h, 1:, 0].mean(dim=-1))
                    for way, parts in squared.items():
                        lengths = parts.sum(dim=-1).clamp(min=0).sqrt()
                        others = lengths[:, 1:].mean(dim=-1).clamp(min=1e-12)
                        ratios[way].append(lengths[:, 0] / others)
            x = x + layer(x, W_P, A)
        if not looked:
            return dict.fromkeys(by_passage, torch.tensor([math.nan]))
        weight = torch.stack(looked)  # [head, passage]
        for way, of_heads in ratios.items():
            weighted = weight * torch.stack(of_heads)
            mean = weighted.sum(dim=0) / weight.sum(dim=0).clamp(min=1e-12)
            by_passage[way].append(mean)
    return {way: torch.cat(means) for way, means in by_passage.items()}


@claim(
    "positional-words",
    "the previous-token head helps where the present token continues a word",
    section="Primarily Positional Attention Heads",
    reported="couldn + 't and others",
    chapter="08-every-head",
    of="one-layer",
    above=0.05,
    threshold_from=(
        "ours: five per cent in perplexity; heads that learned nothing differ by about a "
        "hundredth of a nat"
    ),
    verdict="reproduced",
    found=(
        "in {seeds} the previous-token head is worth more where a word goes on than elsewhere,"
        " by {range}."
    ),
    unit="nats per token",
    controls=[random_heads, shuffled_text],
    sample=samples.OF_WORDS,
    moved_by=[SPLIT],
)
def worth_inside_words(subject: Subject) -> Float[Tensor, " passage"]:
    """Worth of the previous-token head where a word goes on, less its worth elsewhere. [nats]

    A word goes on where the present token continues one (`tokenizer.inside_words`); the prediction
    is of the token after it. A head's worth is the rise of the loss when the head is switched off;
    the head is the first-layer one that looks one back most (`head_roles`). If the other head with
    the highest OV score is worth more inside words, too, its difference is taken off. 0: no more
    than elsewhere. Not a number where a passage has no such place. Paper: "Primarily Positional
    Attention Heads".
    """
    model, (inputs, targets) = subject.model, subject.windows(*samples.OF_WORDS)
    subject.require(len(heads.every(model)) > 1, "two heads")
    previous = subject.previous_token_head
    others = [head for head in heads.every(model) if head != previous]
    copier = max(others, key=lambda head: ov_score(subject, head))
    inside = tokenizer.inside_words(inputs)
    intact, off = ablation.losses_without_heads(model, inputs, targets, [previous, copier])
    of_previous, of_copier = (
        (rise.masked_fill(~inside, math.nan).nanmean(dim=1))
        - rise.masked_fill(inside, math.nan).nanmean(dim=1)
        for rise in (losses_off - intact for losses_off in off)
    )
    return of_previous - of_copier if of_copier.nanmean() > 0 else of_previous


def _near(pattern: Float[Tensor, "batch dst src"]) -> Float[Tensor, " batch"]:
    """Mean attention to the present token and the one before it, from position 2 on."""
    here, previous = (pattern.diagonal(-back, dim1=1, dim2=2) for back in (0, 1))
    return (here[:, 2:] + previous[:, 1:]).mean(dim=1)
