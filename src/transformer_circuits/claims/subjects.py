"""Subjects of measurement: the models of the book, a reader's own, and each with random weights."""

import copy
import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.analysis import composition, head_roles, present_token
from transformer_circuits.analysis.heads import Head
from transformer_circuits.claims import samples
from transformer_circuits.model.general import GeneralTransformer
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training import checkpoint


class Unavailable(files.UserError):
    """Raised where a reader's own model lacks the requirements of a measurement or a control.

    The only error that a scorecard shows as "unavailable"; any other is a bug, or damage.
    """


ANOTHER_SEED = "another seed"
ANOTHER_HEAD = "another head"
LEAST = 0.05
"""Least addition to the logits, as a share of that by the present token alone, of a head with an effect."""
WHITE: samples.Sample = (24, 512)
"""Windows of training text on which the stream is made white."""
Log = tuple[dict, ...]
"""Records along a training, see `development.probe`."""
LOGGED = ("tokens", "held_out", "in_context_learning_score", "previous_token", "matching_random",
          "matching_text")  # fmt: skip
"""Fields that rules and their controls read in the records of a training; see `development.probe`."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Model, and the held-out text on which it is measured. Two subjects are equal only if identical."""

    name: str
    """Name in `data/models/`, or the path the model was read from."""
    model: Transformer
    text: Int[Tensor, " n_tokens"]
    """Held-out tokens, documents parted by BEGIN."""
    log: Log = ()
    """Empty where there is none."""
    readers_own: bool = False
    """True if it is a reader's own model, without siblings from the same seed."""
    of_the_book: bool = False
    """True if the text is the book's held-out text, of whose documents the packages are known."""
    as_stored: "Subject | None" = None
    """Subject with the same function of tokens in its stored basis, where this one's basis is another."""
    instead: str = ""
    """Run of `data/trainings/plan.toml` in place of the one that is measured; or `ANOTHER_SEED`,
    the unchanged run of another seed, so that the difference is chance; or `ANOTHER_HEAD`.
    """
    longest: int | None = None
    """Most tokens of a window; by default, a whole context."""
    kept: dict = field(default_factory=dict, init=False, repr=False)
    """Results of `once` for it."""

    @cached_property
    def matching(self) -> Float[Tensor, " head"]:
        """Prefix matching of the heads of the last layer, see `head_roles.matching`. 0 to 1."""
        return self.as_stored.matching if self.as_stored else head_roles.matching(self.model)

    @property
    def induction_head(self) -> Head:
        """Last-layer head that matches prefixes best."""
        return Head(len(self.model.layers) - 1, int(self.matching.argmax()))

    @cached_property
    def previous_token_head(self) -> Head:
        """First-layer head that looks most at the token before, see `head_roles`."""
        if self.as_stored:
            return self.as_stored.previous_token_head
        return head_roles.previous_token_head(self.model, self.text)

    @cached_property
    def in_embedding(self) -> tuple[Head, ...]:
        """Heads that count as part of the embedding, for they move nothing, see `present_token`."""
        if self.as_stored:
            return self.as_stored.in_embedding
        inputs, _ = self.windows(*samples.OF_EFFECTS)
        return present_token.heads(self.model, inputs)

    @cached_property
    def previous_token_heads(self) -> list[Head]:
        """Heads that look one back, if there are several, see `head_roles.previous_token_heads`."""
        if self.as_stored:
            return self.as_stored.previous_token_heads
        return head_roles.previous_token_heads(self.model, self.text)

    @cached_property
    def added(self) -> Float[Tensor, "layer head"]:
        """Size of each head's own addition to the logits, as a share of that of the direct path.

        Root mean squares over places of text and over the vocabulary; logits are taken from their
        mean. 0: the head does nothing to them. The same in every basis of the stream.
        """
        if self.as_stored:
            return self.as_stored.added
        model, (inputs, _) = self.model, self.windows(*samples.OF_EFFECTS)
        W_U = model.W_U - model.W_U.mean(dim=0)
        gram = W_U.T @ W_U  # x gram x is the squared length of what x does to the logits
        x, W_P = model.embed(inputs)
        direct, rows = ((x @ gram) * x).sum(dim=-1).mean(), []
        for index, layer in enumerate(model.layers):
            A = layer.pattern(x, x, W_P)
            r = layer.results(x, W_P, A)  # what heads write before W_O, so before gram, too
            of_r = layer.W_O.mT @ gram @ layer.W_O  # [head, d_head, d_head]
            rows.append(((r @ of_r) * r).sum(dim=-1).mean(dim=(0, 2)))
            x = x + layer(x, W_P, A)
            x = x + model.mlps[index](x) if model.mlps else x
        return (torch.stack(rows) / direct.clamp(min=1e-30)).sqrt()

    def does(self, head: tuple[int, int]) -> bool:
        """True if a head has an effect: it adds at least `LEAST` of the addition of the direct path."""
        return bool(self.added[head[0], head[1]] >= LEAST)

    def require(self, holds: bool, needed: str) -> None:
        """Raise an error that says what is needed, unless it is there."""
        if not holds:
            raise Unavailable(f"this needs {needed}, which {self.name} does not have")

    def probed(self) -> Log:
        """Log, in which each record must have all of `LOGGED`."""
        self.require(bool(self.log), "a log of its training")
        for name in LOGGED:
            self.require(all(name in record for record in self.log), f'"{name}" in every record')
        return self.log

    def windows(
        self, n: int, n_ctx: int | None = None
    ) -> tuple[Int[Tensor, "n n_ctx"], Int[Tensor, "n n_ctx"]]:
        """Inputs and targets of `n` evenly spaced windows of the text.

        Windows have a whole context, or `n_ctx` tokens, where that is less.
        """
        return windows.evenly(self.text, n, self.model.config, n_ctx=self._tokens(n_ctx))

    def _tokens(self, n_ctx: int | None) -> int:
        """Tokens of a window, for a request of so many or of whole contexts."""
        context = self.model.config.n_ctx
        return min(n_ctx or context, self.longest or context, context)

    def random_passages(
        self, n: int, seed: int, length: int = head_roles.LENGTH
    ) -> Int[Tensor, "n length"]:
        """Uniformly random tokens that fit twice into a context, see `head_roles`."""
        return head_roles.random_passages(self.model.config, n, seed, length)

    def _documents(self, n: int, n_ctx: int) -> Int[Tensor, "n n_ctx"]:
        """Number of the document that each target of `windows(n, n_ctx)` stands in; from 1."""
        first = windows.starts(self.text, n, self.model.config, n_ctx=n_ctx)
        document = (self.text == tokenizer.BEGIN).cumsum(dim=0)
        offset = int(not self.model.config.begin)
        return document[first[:, None] + offset + torch.arange(n_ctx)]

    def by_document(self, values: Float[Tensor, "n n_ctx"]) -> Float[Tensor, " document"]:
        """Mean in each document of the values at each target of evenly spaced windows.

        The windows are those of `windows(n)`, or of `windows(n, n_ctx)`. Places that are not a
        number are left out; a document without any other is not a number itself.
        """
        return samples.by_group(values, self._documents(*values.shape))

    def packages_of(
        self, n: int, n_ctx: int | None = None, *, units: int
    ) -> Int[Tensor, " unit"] | None:
        """Package that each unit comes from: each document of `windows(n, n_ctx)`, or each window.

        None for another number of units, or a text with unknown packages.
        """
        if not self.of_the_book:
            return None
        documents = self._documents(n, self._tokens(n_ctx))
        present = documents.unique()
        if units not in (len(present), n):
            return None
        places = present if units == len(present) else documents[:, documents.shape[1] // 2]
        return _packages()[places - 1]

    def with_model(self, name: str, model: Transformer) -> "Subject":
        """Subject with another model on the same text, whose training left no log."""
        return dataclasses.replace(self, name=name, model=model, log=(), as_stored=None)

    def sibling(self, name: str) -> "Subject":
        """Model of the book called `name` from the same seed; a reader's own model has none."""
        if self.readers_own:
            raise Unavailable(f"{self.name} has no sibling {name}")
        seed = self.name.rpartition("-seed-")[2] if "-seed-" in self.name else ""
        return named(checkpoint.of_seed(name, int(seed)) if seed else name)


Made = TypeVar("Made")


def once(make: Callable[[Subject], Made]) -> Callable[[Subject], Made]:
    """Wrap a function of a subject so that it is called once for each; the result dies with the subject."""

    @functools.wraps(make)
    def made(subject: Subject) -> Made:
        if make not in subject.kept:
            subject.kept[make] = make(subject)
        return subject.kept[make]

    return made


@cache
def held_out() -> Int[Tensor, " n_tokens"]:
    """Token ids of the small corpus's held-out text: one tensor for all models, not to be written into.

    So results that depend on the text alone are computed once and not again for each seed.
    """
    return corpus.tokens("small", "validation")


@cache
def _packages() -> Int[Tensor, " document"]:
    """Package of each document of the held-out text, as a number."""
    names = [document.name.split("/")[0] for document in corpus.read("small", "validation")]
    number = {name: index for index, name in enumerate(dict.fromkeys(names))}
    return torch.tensor([number[name] for name in names])


@cache
def named(name: str) -> Subject:
    """Model of the book, with the small profile's held-out text."""
    log = tuple(checkpoint.records(name))
    return Subject(name, checkpoint.load(name), held_out(), log, of_the_book=True)


def of_seeds(name: str) -> list[Subject]:
    """Model of the book and those that differ from it in their seed alone."""
    return [named(model) for model in checkpoint.seeds(name)]


def of_folder(place: Path) -> Subject:
    """Reader's own model, from a source that `own_model.load` reads.

    Raises:
        UserError: if there is no such model, it is damaged, or it has another vocabulary.
    """
    from transformer_circuits.interop import own_model  # a fifth of all code, for this alone

    model, log = own_model.load(place), place / "training.jsonl"
    if model.config.n_vocab != (n_vocab := tokenizer.load().get_vocab_size()):
        raise files.UserError(
            f"{place} has n_vocab {model.config.n_vocab}, but rules measure in {n_vocab} tokens"
        )
    records = tuple(files.read_json_lines(log)) if log.is_file() else ()
    return Subject(str(place), model, held_out(), records, readers_own=True, of_the_book=True)


def random_weights(subject: Subject, seed: int = 1) -> Transformer:
    """Model of the subject's shape with random weights, none of them zero as before training.

    The same in whatever basis the subject's stream is: so positions are those of the shape.
    """
    if isinstance(subject.model, GeneralTransformer):
        model: Transformer = copy.deepcopy(subject.model)
    else:
        model = Transformer(subject.model.config).requires_grad_(False).eval()
    model.randomise(generator=torch.Generator().manual_seed(seed))
    return model


def of_white(subject: Subject) -> Int[Tensor, "window pos"]:
    """Windows on which the stream is made white: `WHITE` ones of the small training text.

    Of the subject's own text, if that is not the book's.
    """
    text = corpus.tokens("small", "train") if subject.of_the_book else subject.text
    (n, n_ctx), shape = WHITE, subject.model.config
    return windows.evenly(text, n, shape, n_ctx=min(n_ctx, shape.n_ctx))[0]


@once
def white_basis(subject: Subject) -> Float[Tensor, "d_model d_model_too"]:
    """`composition.white_basis` on the windows of `of_white`."""
    return composition.white_basis(subject.model, of_white(subject))


@once
def white(subject: Subject) -> Subject:
    """Subject in the basis where the stream after its first layer is white on text.

    All directions that text uses count alike there, see `composition.white_basis`.

    Raises:
        Unavailable: if the text does not fill the stream's dimensions, or a norm holds the basis.
    """
    try:
        other = composition.change_basis(subject.model, white_basis(subject))
    except ValueError as error:
        raise Unavailable(f"{subject.name} has no white basis: {error}") from error
    return dataclasses.replace(
        subject, name=f"{subject.name}, white", model=other, as_stored=subject
    )


def in_basis(subject: Subject, name: str, basis: Float[Tensor, "d_model d_model"]) -> Subject:
    """Subject with its residual stream turned by a change of basis."""
    model = composition.change_basis(subject.model, basis.to(subject.model.W_E))
    return dataclasses.replace(subject, name=name, model=model, as_stored=None)
