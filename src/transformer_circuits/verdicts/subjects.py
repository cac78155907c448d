"""What a rule is tried on: the models of the book, and controls on which it must fail."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import ablation, heads
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training import checkpoint, cross_entropy
from transformer_circuits.verdicts import placebos


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, and the held-out text that it is measured on. Two are alike only if they are one."""

    name: str
    """What it is called in `data/models/`, or the path it was read from."""
    model: Transformer
    text: Int[Tensor, " n_tokens"]
    """Held-out tokens, documents parted by BEGIN."""
    log: tuple[dict, ...] = ()
    """The records along its training, see `development.probe`; empty where there are none."""

    def windows(self, n: int) -> tuple[Int[Tensor, "n n_ctx"], Int[Tensor, "n n_ctx"]]:
        """Inputs and targets of `n` evenly spaced windows of the text."""
        return windows.evenly(self.text, n, self.model.config)

    def by_document(self, values: Float[Tensor, "n n_ctx"]) -> Float[Tensor, " document"]:
        """The mean in each document of what was measured at each target of `windows(n)`.

        Places that are not a number are left out, as are documents without any other.
        """
        n, n_ctx = values.shape
        first = windows.starts(self.text, n, self.model.config)
        document = (self.text == tokenizer.BEGIN).cumsum(dim=0)
        offset = int(not self.model.config.begin)
        ids = document[first[:, None] + offset + torch.arange(n_ctx)]
        _, index = ids.unique(return_inverse=True)
        there = ~values.isnan()
        sums = values.new_zeros(int(index.max()) + 1).index_add_(0, index[there], values[there])
        counts = index[there].bincount(minlength=len(sums))
        return (sums / counts)[counts > 0]

    @cache  # noqa: B019 (subjects live as long as the process)
    def losses(self, n: int = 64) -> Float[Tensor, "n n_ctx"]:
        """Loss at each target of `windows(n)`. [nats]"""
        inputs, targets = self.windows(n)
        return torch.cat(
            [
                cross_entropy.per_token(self.model(*batch[:1]), batch[1])
                for batch in cross_entropy.batches(inputs, targets)
            ]
        )

    def sibling(self, name: str) -> "Subject":
        """The model of the book called `name` that was trained from the same seed.

        Raises:
            UserError: if there is no such model, or it was not trained.
        """
        seed = self.name.rpartition("-seed-")[2] if "-seed-" in self.name else ""
        return named(checkpoint.of_seed(name, int(seed)) if seed else name)


@cache
def named(name: str) -> Subject:
    """A model of the book, with the small profile's held-out text.

    Raises:
        UserError: if there is no such model, or it was not trained.
    """
    text = corpus.tokens("small", "validation")
    return Subject(name, checkpoint.load(name), text, tuple(checkpoint.records(name)))


def of_seeds(name: str) -> list[Subject]:
    """A model of the book and those that differ from it in their seed alone."""
    return [named(one) for one in checkpoint.seeds(name)]


def _untrained(subject: Subject) -> Subject:
    model = _random(subject)
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
    model = _random(subject)
    model.W_E.data, model.W_U.data = subject.model.W_E.data, subject.model.W_U.data
    return dataclasses.replace(subject, name="random heads", model=model, log=())


def _without_heads(subject: Subject) -> Subject:
    """The direct path alone."""
    model = ablation.without(subject.model, heads.every(subject.model))
    return dataclasses.replace(subject, name="without heads", model=model, log=())


def _random(subject: Subject) -> Transformer:
    """A model of the subject's shape with random weights, none of them zero as before training."""
    model = Transformer(subject.model.config).requires_grad_(False).eval()
    model.randomise(generator=torch.Generator().manual_seed(1))
    return model


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
