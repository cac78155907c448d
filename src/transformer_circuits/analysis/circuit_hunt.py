"""Circuit hunts: small models with a hidden circuit, and an automatic marker of answers.

A hunt is a two-layer model with weights set by hand, hidden by random rotations, and sequences that
come twice. Some of its heads do induction together; the hunter names them, and the edges between
them that are used. An answer is marked by cutting, never by looking it up: the named parts must do
the work alone, and every one must be needed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import (
    ablation,
    composition,
    heads,
    induction,
    path_patching,
)
from transformer_circuits.analysis.heads import Head
from transformer_circuits.analysis.path_patching import EdgeName
from transformer_circuits.model import cross_entropy, hand_built
from transformer_circuits.model.transformer import Transformer

LEVELS = {
    1: "a head that takes notes, and a head that finds",
    2: "the same among distractors, with a red herring",
    3: "a team of finders, and a head that writes tokens anew",
}
N_VOCAB, N_HEADS, LONGEST = 16, 6, 9
"""Tokens, of which 0 opens every line; heads in a layer; tokens of the longest passage."""
SHARE = 0.03
"""Share of the model's gain that an answer may miss, and that each part must be worth."""
_SHARP, _MARGIN = 40.0, 6.0
"""Lead of the right place over others in score, and of the right token over others in logit."""


class Circuit(NamedTuple):
    """Heads, and the used edges between them."""

    heads: frozenset[Head]
    edges: frozenset[tuple[str, Head, Head]]


def circuit(members: Sequence[heads.HeadName], edges: Sequence[EdgeName]) -> Circuit:
    """Answer from heads and edges; an edge is its kind and two heads, such as `("K", (1, 2), (0, 3))`."""
    named = ((kind, heads.named(later), heads.named(earlier)) for kind, later, earlier in edges)
    return Circuit(frozenset(map(heads.named, members)), frozenset(named))


@dataclass(frozen=True)
class Hunt:
    """A model with a hidden circuit, and the lines on which answers are tried."""

    model: Transformer
    tokens: Int[Tensor, "batch pos"]
    targets: Int[Tensor, "batch pos"]
    """Next tokens in second copies; -100 elsewhere, which is not counted."""
    planted: Circuit
    """Solution, for those who give up."""


@dataclass(frozen=True)
class Mark:
    """Mark for an answer, and its reason."""

    right: bool
    because: str

    def __str__(self) -> str:
        return f"{'✓ right' if self.right else '✗ not yet'}: {self.because}"


@torch.no_grad()
def hunt(level: int, seed: int) -> Hunt:
    """Hunt of a level (see `LEVELS`), made from a seed; other seeds hide other heads.

    Raises:
        ValueError: if there is no such level.
    """
    if level not in LEVELS:
        raise ValueError(f"a level is one of {[*LEVELS]} but {level!r} was asked for")
    generator = torch.Generator().manual_seed(10 * seed + level)
    n_ctx = 1 + 2 * LONGEST
    names = ("token", "note", "code", "spare", "output")
    sizes = dict.fromkeys(names, N_VOCAB) | {"place": n_ctx, "noise": N_VOCAB}
    at = hand_built.blocks(**sizes)
    model = hand_built.empty(N_VOCAB, n_ctx, at["noise"].stop, n_ctx, N_HEADS)
    model.W_E[at["token"]] = model.W_U[:, at["output"]] = torch.eye(N_VOCAB, dtype=torch.float64)
    model.W_P[:, at["place"]] = torch.eye(n_ctx, dtype=torch.float64)
    free = [torch.randperm(N_HEADS, generator=generator).tolist() for _ in model.layers]
    hide = _Hider(model, at, free)
    planted = hide.team(generator) if level == 3 else hide.pair(twice=level == 2)
    if level > 1:
        hide.herring()
        hide.distractors()
    _idle(model, at, free, generator)
    _rotate(model, generator)
    return Hunt(model.float(), *_lines(generator), planted)


class _Hider:
    """Builder that sets heads of an empty model, each a free one of its layer."""

    def __init__(self, model: Transformer, at: dict[str, slice], free: list[list[int]]):
        self.model, self.at, self.free = model, at, free

    def note_taker(self, *writes: str, back: int = 1) -> Head:
        """Set a head that looks `back` tokens back, and writes the token there into some blocks."""
        head, place = Head(0, self.free[0].pop()), self.at["place"]
        M = _SHARP * hand_built.one_back(self.model.config.n_ctx, back)
        hand_built.look(self.model, 0, place, place, M, head.head)
        for block in writes:
            hand_built.move(self.model, 0, self.at["token"], self.at[block], head.head)
        return head

    def finder(self, asks: str, sees: str, moves: str, writes: str, times: float) -> Head:
        """Set a head that looks where block `sees` equals its block `asks`, and moves `moves` to `writes`."""
        head, M = Head(1, self.free[1].pop()), _SHARP * torch.eye(N_VOCAB)
        hand_built.look(self.model, 1, self.at[asks], self.at[sees], M, head.head)
        hand_built.move(self.model, 1, self.at[moves], self.at[writes], head.head, times)
        return head

    def pair(self, twice: bool) -> Circuit:
        """Set two heads; with `twice`, the first also writes an unread copy, which lowers the score."""
        notes = self.note_taker("note", *["noise"] * twice)
        finds = self.finder("token", "note", "token", "output", _MARGIN)
        return circuit([notes, finds], [("K", finds, notes)])

    def team(self, generator: torch.Generator) -> Circuit:
        """Set two or three finders that share the work, ask with re-coded tokens and move them."""
        notes, n = (
            self.note_taker("note", "noise"),
            int(torch.randint(2, 4, (), generator=generator)),
        )
        recodes, place = Head(0, self.free[0].pop()), self.at["place"]
        same_place = _SHARP * torch.eye(self.model.config.n_ctx)
        hand_built.look(self.model, 0, place, place, same_place, recodes.head)
        hand_built.move(self.model, 0, self.at["token"], self.at["code"], recodes.head)
        team = [self.finder("code", "note", "code", "output", _MARGIN / n) for _ in range(n)]
        read = {"K": notes, "Q": recodes, "V": recodes}
        edges = [(kind, finds, earlier) for finds in team for kind, earlier in read.items()]
        return circuit([notes, recodes, *team], edges)

    def herring(self) -> None:
        """Set a second circuit that matches and copies as well, but far too softly to matter."""
        self.note_taker("spare")
        self.finder("token", "spare", "token", "output", _MARGIN / 100)

    def distractors(self) -> None:
        """Set a head that looks two back, and writes where nobody reads."""
        self.note_taker("noise", back=2)


def _idle(model: Transformer, at: dict[str, slice], free: list[list[int]], generator) -> None:
    """Give all free heads random attention, and a small output of no use."""
    for layer, of_layer in zip(model.layers, free, strict=True):
        for head in of_layer:
            for weight in (layer.W_Q, layer.W_K, layer.W_V):
                shape = weight[head].shape
                weight[head] = torch.randn(shape, generator=generator) / math.sqrt(shape[1])
            shape = layer.W_O[head, at["noise"]].shape
            layer.W_O[head, at["noise"]] = 0.2 * torch.randn(shape, generator=generator).double()


def _rotate(model: Transformer, generator: torch.Generator) -> None:
    """Turn the stream, and the inside of every head, so that no weight stays readable."""

    def turn(n: int) -> Float[Tensor, "n n"]:
        return torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=generator)).Q

    R = turn(model.config.d_model)
    model.W_E.copy_(R @ model.W_E)
    model.W_U.copy_(model.W_U @ R.T)
    model.W_P.copy_(model.W_P @ R.T)
    for layer in model.layers:
        for head in range(N_HEADS):
            asked, moved = turn(model.config.d_head), turn(model.config.d_head)
            layer.W_Q[head] = asked @ layer.W_Q[head] @ R.T
            layer.W_K[head] = asked @ layer.W_K[head] @ R.T
            layer.W_V[head] = moved @ layer.W_V[head] @ R.T
            layer.W_O[head] = R @ layer.W_O[head] @ moved.T


def _lines(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Lines on which answers are tried, passages of different tokens that come twice; and their targets."""
    lines, targets = [], []
    for length in range(LONGEST - 2, LONGEST + 1):
        for _ in range(3):
            passage = torch.randperm(N_VOCAB - 1, generator=generator)[:length] + 1
            line = torch.zeros(1 + 2 * LONGEST, dtype=torch.long)
            line[1 : 2 * length + 1] = passage.repeat(2)
            line[2 * length + 1 :] = passage[0]
            target = torch.full_like(line, -100)
            target[length + 1 : 2 * length] = passage[1:]
            lines.append(line)
            targets.append(target)
    return torch.stack(lines), torch.stack(targets)


def left(hunted: Hunt, kept: Circuit) -> float:
    """Loss of a circuit alone: no other head writes, and no other edge is read. [nats per token]

    Raises:
        ValueError: if it names a head or an edge that is not there, or an edge of a head not named.
    """
    model = hunted.model
    if not isinstance(kept, Circuit):
        raise ValueError(f"an answer is made by circuit(heads, edges), but this is {kept!r}")
    for head in kept.heads:
        heads.one(model, head)
    for kind, later, earlier in kept.edges:
        path_patching.edge(model, kind, later, earlier)
        if {later, earlier} - kept.heads:
            raise ValueError(f"{_named(kind, later, earlier)} is of a head that is not named")
    alone = ablation.without(model, set(heads.every(model)) - kept.heads)
    earlier, later = ([head for head in kept.heads if head.layer == layer] for layer in range(2))
    trace = alone.trace(hunted.tokens)
    nothing = torch.zeros_like(trace.residual[1])
    cut: dict[EdgeName, Tensor] = {
        (kind, to, by): nothing
        for kind in composition.KINDS for to in later for by in earlier
        if (kind, to, by) not in kept.edges
    }  # fmt: skip
    return float(cross_entropy.mean(path_patching.patched(alone, trace, cut), hunted.targets))


def mark(hunted: Hunt, answer: Circuit) -> Mark:
    """Mark for an answer by cutting: whether it does the work alone, and needs each of its parts.

    Raises:
        ValueError: as from `left`.
    """
    alone = left(hunted, answer)
    everyone = set(heads.every(hunted.model))
    intact = float(cross_entropy.mean(hunted.model(hunted.tokens), hunted.targets))
    nobody = ablation.without(hunted.model, everyone)(hunted.tokens)
    gain = float(cross_entropy.mean(nobody, hunted.targets)) - intact
    if alone > intact + SHARE * gain:
        does = max(0.0, 1 - (alone - intact) / gain)
        return Mark(False, f"alone, what you named does {does:.0%} of the work")
    for edge in sorted(answer.edges):
        less = answer._replace(edges=answer.edges - {edge})
        if left(hunted, less) < alone + SHARE * gain:
            return Mark(False, f"all works as well when {_named(*edge)} is cut")
    for head in sorted(answer.heads):
        edges = frozenset(edge for edge in answer.edges if head not in edge[1:])
        if left(hunted, Circuit(answer.heads - {head}, edges)) < alone + SHARE * gain:
            return Mark(False, f"all works as well without head {head}")
    return Mark(True, "it does the work alone, and every part of it is needed")


def _named(kind: str, later: Head, earlier: Head) -> str:
    return f"the edge {kind} from {earlier} to {later}"


def by_scores(hunted: Hunt) -> Circuit:
    """Answer without cutting: heads by their patterns, edges by composition scores.

    All heads of the second layer that match prefixes, and of each kind the edges into them that
    score twice as high as the usual edge.
    """
    A = hunted.model.trace(hunted.tokens).patterns[1]
    matching = induction.prefix_matching_score(A, hunted.tokens)
    finders = [Head(1, int(head)) for head in (matching > 0.5).nonzero()[:, 0]]
    edges = []
    for kind in composition.KINDS:
        scores = composition.scores(hunted.model, kind, basis="stored")
        strong = scores > 2 * scores.median()
        edges += [
            (kind, to, by)
            for to in finders
            for by in heads.of_layer(hunted.model, 0)
            if strong[to.head, by.head]
        ]
    return circuit([*finders, *(by for _, _, by in edges)], edges)
