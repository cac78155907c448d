"""Controls: what a rule must fail on, each made of a subject; and by name what is `planted` for it."""

import copy
import dataclasses
import functools
from collections.abc import Callable
from functools import cache

import torch

from transformer_circuits.analysis import ablation, heads
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer
from transformer_circuits.verdicts import placebos, planted, subjects
from transformer_circuits.verdicts.subjects import Subject


def _untrained(subject: Subject) -> Subject:
    model = subjects.random_weights(subject)
    return dataclasses.replace(subject, name="untrained", model=model, log=())


def _one_layer(subject: Subject) -> Subject:
    return subject.sibling("one-layer")


def _shuffled_text(subject: Subject) -> Subject:
    """The same tokens of each document in another order."""
    generator = torch.Generator().manual_seed(1)
    document = (subject.text == tokenizer.BEGIN).cumsum(dim=0)
    text = subject.text.clone()
    ends = document.unique_consecutive(return_counts=True)[1].cumsum(0).tolist()
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        first = start + int(text[start] == tokenizer.BEGIN)
        text[first:end] = text[first:end][torch.randperm(end - first, generator=generator)]
    return dataclasses.replace(subject, name="shuffled text", text=text)


def _random_heads(subject: Subject) -> Subject:
    """The trained embeddings, and between them heads as they are before training."""
    model = subjects.random_weights(subject)
    model.W_E.data, model.W_U.data = subject.model.W_E.data, subject.model.W_U.data
    return dataclasses.replace(subject, name="random heads", model=model, log=())


def _without_heads(subject: Subject) -> Subject:
    """The direct path alone."""
    model = ablation.without(subject.model, heads.every(subject.model))
    return dataclasses.replace(subject, name="without heads", model=model, log=())


def _ordinary_begin(subject: Subject) -> Subject:
    """The begin token looks like the commonest token of the text; all else is as it was."""
    model = copy.deepcopy(subject.model)
    often = subject.text.long().bincount(minlength=model.config.n_vocab)
    often[tokenizer.BEGIN] = 0
    model.W_E.data[:, tokenizer.BEGIN] = model.W_E.data[:, int(often.argmax())]
    return dataclasses.replace(subject, name="ordinary begin", model=model, log=())


def _token_frequencies(subject: Subject) -> Subject:
    """No layers, and after every token the same prediction: how common each token is."""
    config = dataclasses.replace(subject.model.config, n_layers=0, d_mlp=0)
    model = Transformer(config).requires_grad_(False).eval().to(subject.model.W_E.dtype)
    often = subject.text.long().bincount(minlength=config.n_vocab) + 1
    model.W_E.data.zero_()[0] = 1
    model.W_U.data[:, 0] = (often / often.sum()).log()
    return dataclasses.replace(subject, name="token frequencies", model=model, log=())


def _shuffled_heads(subject: Subject) -> Subject:
    """Each head looks where it did, but moves what the head before it in its layer moved."""
    model = copy.deepcopy(subject.model)
    for layer in model.layers:
        layer.W_V.data.copy_(layer.W_V.roll(1, dims=0))
        layer.W_O.data.copy_(layer.W_O.roll(1, dims=0))
    return dataclasses.replace(subject, name="shuffled heads", model=model, log=())


def _two_layers(subject: Subject) -> Subject:
    return subject.sibling("two-layer")


def _turned_heads(subject: Subject) -> Subject:
    """Every first-layer head writes in directions of a random rotation of its own.

    The singular values of all circuits stay; that what is written meets what is read is gone.
    """
    model = copy.deepcopy(subject.model)
    generator, W_O = torch.Generator().manual_seed(1), model.layers[0].W_O
    for index in range(len(W_O)):
        normal = torch.randn(2 * W_O.shape[1:2], generator=generator).to(W_O)
        W_O[index] = torch.linalg.qr(normal).Q @ W_O[index]
    return dataclasses.replace(subject, name="turned heads", model=model, log=())


def _rotated(subject: Subject) -> Subject:
    """The same function of tokens, its residual stream written in a random basis."""
    d = subject.model.config.d_model
    turn = torch.linalg.qr(torch.randn(d, d, generator=torch.Generator().manual_seed(1))).Q
    return subjects.in_basis(subject, "rotated basis", turn)


def _null_runs(subject: Subject) -> Subject:
    return dataclasses.replace(subject, null_runs=True)


def _losses_of_one_layer(subject: Subject) -> Subject:
    """The losses of the one-layer model, beside the subject's own heads."""
    log = placebos.losses_of(subject.sibling("one-layer").log, subject.log)
    return dataclasses.replace(subject, name="losses of one layer", log=log)


def _with_log(name: str, change: Callable[[placebos.Log], placebos.Log]):
    def changed(subject: Subject) -> Subject:
        return dataclasses.replace(subject, name=name, log=change(subject.log))

    return changed


CONTROLS: dict[str, Callable[[Subject], Subject]] = {
    "untrained": _untrained,
    "one layer": _one_layer,
    "shuffled text": _shuffled_text,
    "random heads": _random_heads,
    "without heads": _without_heads,
    "ordinary begin": _ordinary_begin,
    "token frequencies": _token_frequencies,
    "shuffled heads": _shuffled_heads,
    "deleting head": planted.deleting_head,
    "suppressing head": planted.suppressing_head,
    "two layers": _two_layers,
    "planted skip-trigrams": planted.planted_skip_trigrams,
    "sparsely planted skip-trigrams": functools.partial(planted.planted_skip_trigrams, every=5),
    "a head for each destination": functools.partial(
        planted.planted_skip_trigrams, by_destination=True
    ),
    "turned heads": _turned_heads,
    "built Q-composition": planted.built_q_composition,
    "hidden K-composition": planted.hidden_k_composition,
    "graded edges": planted.graded_edges,
    "built virtual head": planted.built_virtual_head,
    "built induction": planted.built_induction,
    "rotated basis": _rotated,
    "outsized coordinate": planted.outsized,
    "another seed unchanged": _null_runs,
    "losses of one layer": _losses_of_one_layer,
    "heads sooner": _with_log("heads sooner", lambda log: placebos.heads_moved(log, 2.0)),
    "heads later": _with_log("heads later", lambda log: placebos.heads_moved(log, 0.5)),
    "heads swapped": _with_log("heads swapped", placebos.heads_swapped),
    "loss for heads": _with_log("loss for heads", placebos.loss_for_heads),
    "plateau before heads": _with_log("plateau before heads", placebos.plateau_before_heads),
}
"""What a control makes of a subject, by the name that rules give it."""


@cache
def control(name: str, subject: Subject) -> Subject:
    """The control of this name for a subject.

    Raises:
        ValueError: if there is no such control.
    """
    if name not in CONTROLS:
        raise ValueError(f'no control is called "{name}"; there are {[*CONTROLS]}')
    return CONTROLS[name](subject)
