"""Controls: what a rule must fail on, each made of a subject (`placebos`: of the log of its training)."""

import copy
import dataclasses
import functools
from collections.abc import Callable

import torch

from transformer_circuits.analysis import ablation, heads
from transformer_circuits.claims import findings, subjects
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


class Control:
    """What is made of a subject, by the name that verdicts give it; made once for each subject."""

    def __init__(self, name: str, make: Callable[[Subject], Subject]):
        self.name, self._make = name, subjects.once(make)
        functools.update_wrapper(self, make)

    def __call__(self, subject: Subject) -> Subject:
        return self._make(subject)

    def __get__(self, instance, owner=None):  # like a function, so that Sphinx documents it as one
        return self


class Drawn(Control):
    """A control in which chance has a part: each of its draws is another. The control is the first."""

    def __init__(self, name: str, make: Callable[[Subject, int], Subject]):
        super().__init__(name, functools.partial(make, seed=1))
        functools.update_wrapper(self, make)
        self._make_draw, self._of_seed = make, {}

    def draw(self, subject: Subject, seed: int) -> Subject:
        """One of its draws, made once for each subject: rules of one module share it."""
        make = functools.partial(self._make_draw, seed=seed)
        return self._of_seed.setdefault(seed, subjects.once(make))(subject)

    def anew(self, subject: Subject, seed: int) -> Subject:
        """The same draw, kept by nobody: in another basis it takes much memory."""
        return self._make_draw(subject, seed=seed)


def named(name: str) -> Callable[[Callable[[Subject], Subject]], Control]:
    """Make a function of a subject the `Control` of this name."""
    return functools.partial(Control, name)


def drawn(name: str) -> Callable[[Callable[[Subject, int], Subject]], Drawn]:
    """Make a function of a subject and a seed the `Drawn` control of this name."""
    return functools.partial(Drawn, name)


class Graded:
    """An effect that is planted in several sizes, and the smallest that a claim could mean."""

    def __init__(
        self,
        what: str,
        make: Callable[[Subject, float], Subject],
        sizes: tuple[float, ...],
        counts: float,
    ):
        self.what, self.counts = what, counts
        self.of = {
            size: Control(what.format(f"{size:g}"), functools.partial(make, size=size))
            for size in sizes
        }


@drawn("untrained")
def untrained(subject: Subject, seed: int) -> Subject:
    """Random weights, and the same ones whatever basis the subject's stream is in."""
    subject = subject.as_stored or subject
    return subject.with_model("untrained", subjects.random_weights(subject, seed))


@named("one layer")
def one_layer(subject: Subject) -> Subject:
    """The model with one layer from the same seed."""
    return subject.sibling("one-layer")


@named("two layers")
def two_layers(subject: Subject) -> Subject:
    """The model with two layers from the same seed."""
    return subject.sibling("two-layer")


@named("shuffled text")
def shuffled_text(subject: Subject) -> Subject:
    """The same tokens of each document in another order."""
    generator = torch.Generator().manual_seed(1)
    document = (subject.text == tokenizer.BEGIN).cumsum(dim=0)
    text = subject.text.clone()
    ends = document.unique_consecutive(return_counts=True)[1].cumsum(0).tolist()
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        first = start + int(text[start] == tokenizer.BEGIN)
        text[first:end] = text[first:end][torch.randperm(end - first, generator=generator)]
    return dataclasses.replace(subject, name="shuffled text", text=text)


@drawn("random heads")
def random_heads(subject: Subject, seed: int) -> Subject:
    """The trained embeddings, and between them heads as they are before training."""
    model = subjects.random_weights(subject, seed).to(subject.model.W_E.dtype)
    model.W_E.data, model.W_U.data = subject.model.W_E.data, subject.model.W_U.data
    return subject.with_model("random heads", model)


@named("without heads")
def without_heads(subject: Subject) -> Subject:
    """The direct path alone."""
    model = ablation.without(subject.model, heads.every(subject.model))
    return subject.with_model("without heads", model)


@named("heads without effect")
def heads_without_effect(subject: Subject) -> Subject:
    """Every head looks where it did and moves what it moved, a millionth as much of it."""
    model = copy.deepcopy(subject.model)
    for layer in model.layers:
        layer.W_O_concat.mul_(1e-6)
    return subject.with_model("heads without effect", model)


@named("shuffled heads")
def shuffled_heads(subject: Subject) -> Subject:
    """Each head looks where it did, but moves what the head before it in its layer moved."""
    model = copy.deepcopy(subject.model)
    for layer in model.layers:
        layer.W_V.data.copy_(layer.W_V.roll(1, dims=0))
        layer.W_O.data.copy_(layer.W_O.roll(1, dims=0))
    return subject.with_model("shuffled heads", model)


@drawn("turned heads")
def turned_heads(subject: Subject, seed: int) -> Subject:
    """Every first-layer head writes in directions of a random rotation of its own.

    The singular values of all circuits stay; that what is written meets what is read is gone.
    """
    model = copy.deepcopy(subject.model)
    generator, W_O = torch.Generator().manual_seed(seed), model.layers[0].W_O
    for index in range(len(W_O)):
        normal = torch.randn(2 * W_O.shape[1:2], generator=generator).to(W_O)
        W_O[index] = torch.linalg.qr(normal).Q @ W_O[index]
    return subject.with_model("turned heads", model)


@named("another head in its place")
def another_head(subject: Subject) -> Subject:
    """In place of the head that is asked about, one of which the story says nothing."""
    subject.require(subject.model.config.n_heads > 3, "four heads in a layer")
    return dataclasses.replace(subject, instead=subjects.ANOTHER_HEAD)


@named("ordinary begin")
def ordinary_begin(subject: Subject) -> Subject:
    """The begin token looks like the commonest token of the text; all else is as it was."""
    model = copy.deepcopy(subject.model)
    often = subject.text.long().bincount(minlength=model.config.n_vocab)
    often[tokenizer.BEGIN] = 0
    model.W_E.data[:, tokenizer.BEGIN] = model.W_E.data[:, int(often.argmax())]
    return subject.with_model("ordinary begin", model)


@named("token frequencies")
def token_frequencies(subject: Subject) -> Subject:
    """No layers, and after every token the same prediction: how common each token is."""
    config = dataclasses.replace(subject.model.config, n_layers=0, d_mlp=0)
    model = Transformer(config).requires_grad_(False).eval().to(subject.model.W_E.dtype)
    often = subject.text.long().bincount(minlength=config.n_vocab) + 1
    model.W_E.data.zero_()[0] = 1
    model.W_U.data[:, 0] = (often / often.sum()).log()
    return subject.with_model("token frequencies", model)


white_basis = Control(findings.WHITE, subjects.white)
"""The same function of tokens, its residual stream written so that text uses all directions alike."""


@named("rotated basis")
def rotated_basis(subject: Subject) -> Subject:
    """The same function of tokens, its residual stream written in a random basis."""
    d = subject.model.config.d_model
    turn = torch.linalg.qr(torch.randn(d, d, generator=torch.Generator().manual_seed(1))).Q
    return subjects.in_basis(subject, "rotated basis", turn)


@named("another seed unchanged")
def another_seed_unchanged(subject: Subject) -> Subject:
    """In place of each short training with a choice changed, one of another seed without."""
    return dataclasses.replace(subject, instead=subjects.ANOTHER_SEED)


@named("a head given two back")
def given_two_back(subject: Subject) -> Subject:
    """In place of the short training with a previous-token head given, one whose head looks two back."""
    return dataclasses.replace(subject, instead="two back given")


@named("keys two back")
def keys_two_back(subject: Subject) -> Subject:
    """In place of the short training with keys one token back, one with keys two back."""
    return dataclasses.replace(subject, instead="one layer, keys two back")
