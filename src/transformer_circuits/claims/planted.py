"""What is planted for a rule to find: subjects with the effect built in."""

import copy
import dataclasses
import math
from collections import Counter
from functools import cache

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_circuits.analysis.one_layer import skip_trigram_families, skip_trigram_lists
from transformer_circuits.analysis.one_layer.skip_trigrams import SkipTrigram
from transformer_circuits.claims import subjects
from transformer_circuits.claims.controls import Control, Graded, named
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model import hand_built
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


def _deleting(subject: Subject, size: float) -> Subject:
    """A first head that looks at the present token and writes the negative of a part of what it reads.

    It reads the d_head directions in which the embeddings of the text vary most. W_U is W_Eᵀ, so
    that eigenvalues over tokens are negative, too. `size`: the share of the squared length there
    that it deletes.
    """
    model = _looking_at_itself(subject)
    layer, d_head = model.layers[0], model.config.d_head
    counts = subject.text.long().bincount(minlength=model.config.n_vocab).to(model.W_E)
    varied = torch.linalg.eigh(model.W_E * counts @ model.W_E.T).eigenvectors[:, -d_head:]
    layer.W_V.data[0], layer.W_O.data[0] = varied.T, -(1 - math.sqrt(1 - size)) * varied
    model.W_U.data = model.W_E.T.clone()
    return subject.with_model("deleting head", model)


def _looking_at_itself(subject: Subject) -> Transformer:
    """A copy of the model whose first head looks at the present token."""
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
    """A first head that looks at the present token and reads and writes anywhere.

    Its eigenvalues are below 0 on balance, its weights of the size of a deleting head's; other heads of
    its layer write nothing.
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
    """A first head of the last layer that looks at what the stream predicts, and lowers it.

    W_U is W_Eᵀ. The head looks for tokens that are like the stream in the d_head directions in which
    the embeddings of the text vary most, and writes the negative of what it finds there. Positions
    are taken away, so that it goes by tokens alone.
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


@cache
def of_families(
    text: Int[Tensor, " n_tokens"], n_vocab: int, n_ctx: int
) -> dict[str, list[SkipTrigram]]:
    """The members of the paper's families that a text can bear out."""
    return skip_trigram_families.borne_out(tokenizer.texts()[:n_vocab], text, n_ctx)


@cache
def of_list(text: Int[Tensor, " n_tokens"], n_vocab: int, n_ctx: int) -> list[SkipTrigram]:
    """Those of the paper's own list that a text has."""
    return skip_trigram_lists.borne_out(tokenizer.texts()[:n_vocab], text, n_ctx)


def _with_skip_trigrams(subject: Subject, every: int = 2, destinations: int = 0) -> Subject:
    """One layer whose heads hold the whole of the paper's list, all brackets and indents, and one of
    `every` so many members of the paper's families, and nothing else.

    Each token is a vector of random signs, of which every head moves a part; an output reads the
    vectors of its sources, and a little noise, so that no two outputs are alike. `destinations`: for
    so many of the list, the commonest first, only the part that one head moves, another head for
    another destination.
    """
    config = dataclasses.replace(subject.model.config, n_layers=1, d_mlp=0)
    texts = tokenizer.texts()[: config.n_vocab]
    families = of_families(subject.text, config.n_vocab, config.n_ctx).values()
    triples = {triple for members in families for triple in members[::every]}
    listed = of_list(subject.text, config.n_vocab, config.n_ctx)
    common = Counter(dst for _, dst in {(triple.src, triple.dst) for triple in listed})
    own = {dst for dst, _ in common.most_common(destinations)}
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
        read = moved[dst % config.n_heads] if dst in own else torch.arange(config.d_model)
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
    """`_with_skip_trigrams`, of the families the shares that are given."""
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


@named("built Q-composition")
def built_q_composition(subject: Subject) -> Subject:
    """The first head of the second layer queries with what the first of the first layer writes."""
    model = copy.deepcopy(subject.model)
    writes, W_Q = model.layers[0].W_O[0].T, model.layers[1].W_Q
    W_Q[0] = writes * (W_Q[0].norm() / writes.norm())
    return subject.with_model("built Q-composition", model)


@named("hidden K-composition")
def hidden_k_composition(subject: Subject) -> Subject:
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
    return subject.with_model("hidden K-composition", model)


@named("graded edges")
def graded_edges(subject: Subject) -> Subject:
    """Random weights whose composition is graded, so that scores order what the edges do.

    The second layer reads one half of the stream, and each head of the first layer writes more
    into it than the head before. It is the same whatever basis the subject's stream is in.
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


def _copying(subject: Subject, size: float) -> Subject:
    """Random embeddings, and heads of which a part writes what they read where it is read.

    W_U is W_Eᵀ. `size`: the part of W_O that is W_Vᵀ; the rest is random, and of the same size.
    """
    model = subjects.random_weights(subject)
    model.W_U.data = model.W_E.T.clone()
    layer = model.layers[-1]
    like = layer.W_V.mT * (layer.W_O.norm() / layer.W_V.norm())
    layer.W_O.data.copy_(size * like + (1 - size) * layer.W_O)
    return subject.with_model("copying heads", model)


copying_in_part = Graded(
    "a part of {} of every head that copies", _copying, sizes=(0.25, 0.5, 1.0), counts=0.5
)


def _idle(subject: Subject, size: float) -> Subject:
    """Random weights, of which a share of the heads of either layer, but not all, write nothing."""
    model = subjects.random_weights(subject)
    n_heads = model.config.n_heads
    for layer in model.layers:
        layer.W_O[max(1, n_heads - round(size * n_heads)) :] = 0
    return subject.with_model("idle heads", model)


idle_heads = Graded("a share of {} of idle heads", _idle, sizes=(0.625, 0.75, 0.875), counts=0.75)


@named("two-back head")
def two_back_head(subject: Subject) -> Subject:
    """A first head that looks two places back, by the positions that turn fastest.

    Tokens have nothing in those d_head dimensions, so that it goes by positions alone.
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


@named("built virtual head")
def built_virtual_head(subject: Subject) -> Subject:
    """Two previous-token heads in a row, on text in which the token two back always comes next.

    Nothing is predicted by the direct path or by one head alone. The subject gives nothing to it.
    """
    n_vocab, n_ctx = 23, 40
    triples = torch.combinations(torch.arange(1, n_vocab), 3)[::30]  # [document, 3]
    begin = torch.full((len(triples), 1), tokenizer.BEGIN)
    text = torch.cat([begin, triples.repeat(1, n_ctx)], dim=1).flatten()
    return Subject("built virtual head", hand_built.two_back(n_vocab, n_ctx), text)


@named("built induction")
def built_induction(subject: Subject) -> Subject:
    """The hand-built induction circuit, on random tokens that come twice.

    Its heads work together through patterns alone. The subject gives nothing to it.
    """
    n_vocab, n_ctx = 101, 121
    generator = torch.Generator().manual_seed(1)
    passage = torch.randint(1, n_vocab, (40, n_ctx // 2), generator=generator)
    begin = torch.full((len(passage), 1), tokenizer.BEGIN)
    text = torch.cat([begin, passage, passage], dim=1).flatten()
    return Subject("built induction", hand_built.induction(n_vocab, n_ctx), text)


def _outsized(subject: Subject, size: float) -> Subject:
    """The same function of tokens, with one coordinate of the residual stream so many times as large."""
    basis = torch.eye(subject.model.config.d_model)
    basis[0, 0] = size
    return subjects.in_basis(subject, "outsized coordinate", basis)


outsized_coordinate = Graded(
    "a coordinate {} times as large", _outsized, sizes=(3.0, 6.0, 12.0), counts=6.0
)
