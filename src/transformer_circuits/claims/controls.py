"""Controls that several modules use: subjects on which a rule must fail, and plants that it must find.

Controls of a single module stand beside its rules.
"""

import copy
import dataclasses
import functools
from collections.abc import Callable

import torch

from transformer_circuits.claims import findings, subjects
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import hand_built
from transformer_circuits.text import tokenizer


class Control:
    """Named change of a subject into another; made once for each subject."""

    def __init__(self, name: str, make: Callable[[Subject], Subject]):
        self.name, self._make = name, subjects.once(make)
        functools.update_wrapper(self, make)

    def __call__(self, subject: Subject) -> Subject:
        return self._make(subject)


class Drawn(Control):
    """Control with chance in it: each draw is another subject. The control itself is the first draw."""

    def __init__(self, name: str, make: Callable[[Subject, int], Subject]):
        super().__init__(name, functools.partial(make, seed=1))
        functools.update_wrapper(self, make)
        self._make_draw, self._of_seed = make, {}

    def draw(self, subject: Subject, seed: int) -> Subject:
        """Draw by its seed, made once for each subject: rules of one module share it."""
        make = functools.partial(self._make_draw, seed=seed)
        return self._of_seed.setdefault(seed, subjects.once(make))(subject)

    def anew(self, subject: Subject, seed: int) -> Subject:
        """Draw by its seed, not kept: in another basis it takes much memory."""
        return self._make_draw(subject, seed=seed)


def named(name: str) -> Callable[[Callable[[Subject], Subject]], Control]:
    """Make a function of a subject the `Control` of this name."""
    return functools.partial(Control, name)


def drawn(name: str) -> Callable[[Callable[[Subject, int], Subject]], Drawn]:
    """Make a function of a subject and a seed the `Drawn` control of this name."""
    return functools.partial(Drawn, name)


class Graded:
    """Effect that is planted in several sizes, and the smallest that a claim could mean."""

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
    """Subject with random weights, the same in whatever basis its stream is."""
    subject = subject.as_stored or subject
    return subject.with_model("untrained", subjects.random_weights(subject, seed))


@named("one layer")
def one_layer(subject: Subject) -> Subject:
    """Subject with one layer from the same seed."""
    return subject.sibling("one-layer")


@named("shuffled text")
def shuffled_text(subject: Subject) -> Subject:
    """Subject on text in which the tokens of each document are shuffled."""
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
    """Subject with the trained embeddings, and heads as before training between them."""
    model = subjects.random_weights(subject, seed).to(subject.model.W_E.dtype)
    model.W_E.data, model.W_U.data = subject.model.W_E.data, subject.model.W_U.data
    return subject.with_model("random heads", model)


@named("heads without effect")
def heads_without_effect(subject: Subject) -> Subject:
    """Subject whose heads look where they did, and write a millionth as much."""
    model = copy.deepcopy(subject.model)
    for layer in model.layers:
        layer.W_O_concat.mul_(1e-6)
    return subject.with_model("heads without effect", model)


@named("shuffled heads")
def shuffled_heads(subject: Subject) -> Subject:
    """Subject whose heads look where they did, but move as the previous head of the layer did."""
    model = copy.deepcopy(subject.model)
    for layer in model.layers:
        layer.W_V.data.copy_(layer.W_V.roll(1, dims=0))
        layer.W_O.data.copy_(layer.W_O.roll(1, dims=0))
    return subject.with_model("shuffled heads", model)


@drawn("turned heads")
def turned_heads(subject: Subject, seed: int) -> Subject:
    """Subject whose first-layer heads each write through a random rotation of their own.

    The singular values of all circuits stay; the meeting of written and read directions is gone.
    """
    model = copy.deepcopy(subject.model)
    generator, W_O = torch.Generator().manual_seed(seed), model.layers[0].W_O
    for index in range(len(W_O)):
        normal = torch.randn(2 * W_O.shape[1:2], generator=generator).to(W_O)
        W_O[index] = torch.linalg.qr(normal).Q @ W_O[index]
    return subject.with_model("turned heads", model)


white_basis = Control(findings.WHITE, subjects.white)
"""Subject with the same function of tokens, its stream in a basis that text uses alike in all directions.
"""


@named("graded edges")
def graded_edges(subject: Subject) -> Subject:
    """Subject with random weights whose composition is graded, so that scores order the effects of edges.

    The second layer reads one half of the stream, and each head of the first layer writes more into
    it than the head before. The same in whatever basis the subject's stream is.
    """
    if subject.as_stored:
        return graded_edges(subject.as_stored)
    model, half = subjects.random_weights(subject), subject.model.config.d_model // 2
    W_O, second = model.layers[0].W_O, model.layers[1]
    for index in range(len(W_O)):
        W_O[index, :half] *= (index + 1) / len(W_O)
    for weight in (second.W_Q_concat, second.W_K_concat, second.W_V_concat):
        weight[:, half:] = 0
    return subject.with_model("graded edges", model)


@named("built induction")
def built_induction(subject: Subject) -> Subject:
    """Hand-built induction circuit, on random tokens that come twice.

    Its heads work together through patterns alone. Nothing of the subject is used.
    """
    n_vocab, n_ctx = 101, 121
    generator = torch.Generator().manual_seed(1)
    passage = torch.randint(1, n_vocab, (40, n_ctx // 2), generator=generator)
    begin = torch.full((len(passage), 1), tokenizer.BEGIN)
    text = torch.cat([begin, passage, passage], dim=1).flatten()
    return Subject("built induction", hand_built.induction(n_vocab, n_ctx), text)
