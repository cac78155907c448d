"""What a rule is tried on: the models of the book, and controls on which it must fail."""

import copy
import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.analysis import ablation, composition, heads
from transformer_circuits.analysis.one_layer import skip_trigram_families, skip_trigram_lists
from transformer_circuits.model import hand_built
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training import checkpoint, cross_entropy


class NotToBeHad(files.UserError):
    """What a metric or a control needs is not there, and cannot be, for a model of one's own."""


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
    own: bool = False
    """Whether it is a reader's own model, without siblings from the same seed."""

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
            NotToBeHad: if this is a reader's own model.
        """
        if self.own:
            raise NotToBeHad(f"{self.name} has no sibling {name}")
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


def of_folder(place: Path) -> Subject:
    """A reader's own model: a folder with `config.toml` and `weights.safetensors`.

    Raises:
        UserError: if there is no such model, it is damaged, or it has another vocabulary.
    """
    text = corpus.tokens("small", "validation")
    log = place / "training.jsonl"
    records = tuple(files.read_json_lines(log)) if log.is_file() else ()
    return Subject(str(place), checkpoint.load_own(place), text, records, own=True)


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


def _deleting_head(subject: Subject) -> Subject:
    """A first head that looks at the present token and writes the negative of what it reads.

    It reads the d_head directions in which the embeddings of the text vary most. W_U is W_Eᵀ, so
    that eigenvalues over tokens are negative, too.
    """
    model = copy.deepcopy(subject.model)
    layer, d_head = model.layers[0], model.config.d_head
    counts = subject.text.long().bincount(minlength=model.config.n_vocab).to(model.W_E)
    varied = torch.linalg.eigh(model.W_E * counts @ model.W_E.T).eigenvectors[:, -d_head:]
    layer.W_V.data[0], layer.W_O.data[0] = varied.T, -varied
    # The first pairs of positions turn fastest, so that each place is most like itself.
    look = math.sqrt(20 / math.sqrt(d_head)) * torch.eye(d_head, model.config.d_model)
    layer.W_Q.data[0], layer.W_K.data[0] = look, look
    model.W_U.data = model.W_E.T.clone()
    return dataclasses.replace(subject, name="deleting head", model=model, log=())


def _two_layers(subject: Subject) -> Subject:
    return subject.sibling("two-layer")


def _planted_skip_trigrams(subject: Subject, every: int = 2) -> Subject:
    """One layer whose heads hold every other skip-trigram of the paper's families, of its list, and
    of brackets, and nothing else; or one of `every` so many.

    Each token is a vector of random signs, of which every head moves a part; an output reads the
    vectors of its sources, and a little noise, so that no two outputs are alike.
    """
    config = dataclasses.replace(subject.model.config, n_layers=1, d_mlp=0)
    texts = tokenizer.texts()[: config.n_vocab]
    kinds = [
        *skip_trigram_families.borne_out(texts, subject.text, config.n_ctx).values(),
        skip_trigram_lists.borne_out(texts, subject.text, config.n_ctx),
        skip_trigram_lists.brackets(texts),
    ]
    model = Transformer(config).requires_grad_(False).eval()
    generator = torch.Generator().manual_seed(1)
    model.W_E.data = torch.randint(2, model.W_E.shape, generator=generator) * 2.0 - 1
    model.W_U.normal_(std=0.25 * config.d_head**-0.5, generator=generator)
    for src, _, out in {triple for triples in kinds for triple in triples[::every]}:
        model.W_U[out] += model.W_E[:, src] / config.d_head
    layer = model.layers[0]
    for weight in (layer.W_Q_concat, layer.W_K_concat, layer.W_V_concat):
        weight.zero_()
    for h in range(config.n_heads):
        moved = torch.arange(h * config.d_head, (h + 1) * config.d_head) % config.d_model
        each = torch.arange(config.d_head)
        layer.W_V[h][each, moved] = 1.0
        layer.W_O[h][moved, each] = 1.0
    return dataclasses.replace(subject, name="planted skip-trigrams", model=model, log=())


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


def _built_q_composition(subject: Subject) -> Subject:
    """The first head of the second layer queries with what the first of the first layer writes."""
    model = copy.deepcopy(subject.model)
    writes, W_Q = model.layers[0].W_O[0].T, model.layers[1].W_Q
    W_Q[0] = writes * (W_Q[0].norm() / writes.norm())
    return dataclasses.replace(subject, name="built Q-composition", model=model, log=())


def _hidden_k_composition(subject: Subject) -> Subject:
    """A head of the second layer whose key reads one of the first, but whose query does not.

    Its key is what the other writes; its query reads nothing that the other reads. So the score is
    high by the right formula, and 0 by the published one. Its key is four times as long as it was,
    and its output sixteen times, so that it surely matters what it looks at.
    """
    model = copy.deepcopy(subject.model)
    first, second = model.layers
    writes, W_Q, W_K = first.W_O[0].T, second.W_Q, second.W_K
    W_K[0] = writes * (4 * W_K[0].norm() / writes.norm())
    read = torch.linalg.qr(first.W_V[0].T).Q  # [d_model, d_head]
    W_Q[0] -= W_Q[0] @ read @ read.T
    second.W_O[0] *= 16
    return dataclasses.replace(subject, name="hidden K-composition", model=model, log=())


def _graded_edges(subject: Subject) -> Subject:
    """Random weights whose composition is graded, so that scores order what the edges do.

    The second layer reads one half of the stream, and each head of the first layer writes more
    into it than the head before.
    """
    model, half = _random(subject), subject.model.config.d_model // 2
    W_O, second = model.layers[0].W_O, model.layers[1]
    for index in range(len(W_O)):
        W_O[index, :half] *= (index + 1) / len(W_O)
    for weight in (second.W_Q_concat, second.W_K_concat, second.W_V_concat):
        weight[:, half:] = 0
    return dataclasses.replace(subject, name="graded edges", model=model, log=())


def _built_virtual_head(subject: Subject) -> Subject:
    """Two previous-token heads in a row, on text in which the token two back always comes next.

    Nothing is predicted by the direct path or by one head alone. The subject gives nothing to it.
    """
    n_vocab, n_ctx = 23, 40
    triples = torch.combinations(torch.arange(1, n_vocab), 3)[::30]  # [document, 3]
    begin = torch.full((len(triples), 1), tokenizer.BEGIN)
    text = torch.cat([begin, triples.repeat(1, n_ctx)], dim=1).flatten()
    return Subject("built virtual head", hand_built.two_back(n_vocab, n_ctx), text)


def _built_induction(subject: Subject) -> Subject:
    """The hand-built induction circuit, on random tokens that come twice.

    Its heads work together through patterns alone. The subject gives nothing to it.
    """
    n_vocab, n_ctx = 101, 121
    generator = torch.Generator().manual_seed(1)
    passage = torch.randint(1, n_vocab, (40, n_ctx // 2), generator=generator)
    begin = torch.full((len(passage), 1), tokenizer.BEGIN)
    text = torch.cat([begin, passage, passage], dim=1).flatten()
    return Subject("built induction", hand_built.induction(n_vocab, n_ctx), text)


def _rotated(subject: Subject) -> Subject:
    """The same function of tokens, its residual stream written in a random basis."""
    d = subject.model.config.d_model
    turn = torch.linalg.qr(torch.randn(d, d, generator=torch.Generator().manual_seed(1))).Q
    return _in_basis(subject, "rotated basis", turn)


def _outsized(subject: Subject) -> Subject:
    """The same function of tokens, with one coordinate of the residual stream thirty times as large."""
    basis = torch.eye(subject.model.config.d_model)
    basis[0, 0] = 30
    return _in_basis(subject, "outsized coordinate", basis)


def _in_basis(subject: Subject, name: str, basis: Float[Tensor, "d_model d_model"]) -> Subject:
    model = composition.change_basis(subject.model, basis.to(subject.model.W_E))
    return dataclasses.replace(subject, name=name, model=model)


def _random(subject: Subject) -> Transformer:
    """A model of the subject's shape with random weights, none of them zero as before training."""
    model = Transformer(subject.model.config).requires_grad_(False).eval()
    model.randomise(generator=torch.Generator().manual_seed(1))
    return model


CONTROLS: dict[str, Callable[[Subject], Subject]] = {
    "untrained": _untrained,
    "one layer": _one_layer,
    "shuffled text": _shuffled_text,
    "random heads": _random_heads,
    "without heads": _without_heads,
    "ordinary begin": _ordinary_begin,
    "token frequencies": _token_frequencies,
    "shuffled heads": _shuffled_heads,
    "deleting head": _deleting_head,
    "two layers": _two_layers,
    "planted skip-trigrams": _planted_skip_trigrams,
    "sparsely planted skip-trigrams": functools.partial(_planted_skip_trigrams, every=5),
    "turned heads": _turned_heads,
    "built Q-composition": _built_q_composition,
    "hidden K-composition": _hidden_k_composition,
    "graded edges": _graded_edges,
    "built virtual head": _built_virtual_head,
    "built induction": _built_induction,
    "rotated basis": _rotated,
    "outsized coordinate": _outsized,
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
