"""Time and memory of the book's analyses, next to TransformerLens (the extra `peers`).

First two layers: paths, edges, composition scores. Then a layer's spectra and skip-trigrams. Last, what
one asks of a foreign model first, by the size of its vocabulary: nothing ever holds a matrix of
n_vocab² numbers, which with 50,278 tokens would be ten gigabytes for each circuit. Every measurement
has a process of its own. The page *Speed and memory* says what each line is.
"""

import multiprocessing
import re
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from tools import peers
from transformer_circuits.analysis import (
    composition,
    copying_scores,
    expansion,
    heads,
    induction,
    path_patching,
    patterns,
    repeats,
)
from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.model import hand_built
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer

SIZES = (2048, 8192, 32768, 50278)
"""Of vocabularies."""


def main() -> None:
    """Measure everything and print it line by line."""
    for n_heads, n_pos in ((6, 256), (12, 256), (12, 128)):
        print(*alone(two_layers, n_heads, n_pos), sep="\n", flush=True)
    for n_vocab in (2048, 4096):
        print(*alone(circuits, n_vocab), sep="\n", flush=True)
    for row in rows():
        print(row, flush=True)


def alone(run: Callable[..., Any], *arguments: object) -> Any:
    """What a function of a module returns in a process of its own, whose memory nothing else fills."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(run, arguments)


def peak() -> float:
    """The most memory that this process has held so far. [MB]

    On Linux not by `getrusage`, whose count a new process takes over from the one that started it.
    """
    if (status := Path("/proc/self/status")).is_file():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _seconds(run: Callable[[], object], warm: bool = True) -> float:
    if warm:
        run()
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _random(**shape: int) -> Transformer:
    model = Transformer(ModelConfig(n_ctx=512, position_base=1000.0, **shape)).requires_grad_(False)
    model.randomise(generator=torch.Generator().manual_seed(0))
    return model


@torch.no_grad()
def two_layers(n_heads: int, n_pos: int) -> list[str]:
    """Scores, all edges and all paths of a random model with d_head 64; memory of the paths."""
    model = _random(n_layers=2, n_heads=n_heads, d_head=64, d_model=64 * n_heads, n_vocab=2048)
    tokens = torch.randint(2048, (1, n_pos), generator=torch.Generator().manual_seed(0))
    before, kinds = peak(), composition.KINDS
    paths = _seconds(lambda: expansion.paths(model, tokens))
    more = peak() - before
    edges = _seconds(lambda: path_patching.loss_increase(model, tokens, tokens))
    scores = _seconds(lambda: [composition.scores(model, kind, basis="stored") for kind in kinds])
    peer = peers.hooked(model)
    their_scores = _seconds(lambda: [peer.all_composition_scores(kind) for kind in kinds])
    their_edges = _seconds(lambda: peers.loss_increase(peer, tokens, tokens))
    what, lens = f"{n_heads} + {n_heads} heads, {n_pos} tokens:", "    TransformerLens, the same"
    return [
        f"{what} {(1 + n_heads) ** 2} paths {paths:.3f} s, {more:,.0f} MB more",
        f"{what} all {3 * n_heads**2} edges patched {edges:.2f} s",
        f"{what} all composition scores {scores:.3f} s",
        f"{lens} scores: {their_scores:.3f} s, {their_scores / scores:.1f} times as long",
        f"{lens} edges: {their_edges:.2f} s, {their_edges / edges:.1f} times as long",
    ]


@torch.no_grad()
def circuits(n_vocab: int) -> list[str]:
    """Spectra of a layer of eight random heads; time and memory of one head's skip-trigrams."""
    model = _random(n_layers=1, n_heads=8, d_head=64, d_model=256, n_vocab=n_vocab)
    each, before = heads.every(model), peak()

    def trigrams() -> int:
        factors = skip_trigrams.factors(model, each[0])
        return skip_trigrams.rank(factors, skip_trigrams.top(factors, 100)[50])

    taken = _seconds(trigrams, warm=False)
    lines = [
        f"n_vocab {n_vocab}: a head's 100 strongest skip-trigrams, and the rank of one, among",
        f"    {n_vocab**3:,}: {taken:.2f} s, {peak() - before:,.0f} MB more",
    ]
    whole = heads.full_ov(model, each[0]).dense()
    spectra = {
        "this book, 8 spectra": lambda: [heads.full_ov(model, h).eigenvalues() for h in each],
        "TransformerLens FactoredMatrix, 8 spectra": lambda: peers.spectra(model),
        "torch.linalg.eigvals, dense, 1 spectrum": lambda: torch.linalg.eigvals(whole),
    }
    timed = ((name, _seconds(run)) for name, run in spectra.items())
    return lines + [f"n_vocab {n_vocab}: {name:44} {seconds:8.3f} s" for name, seconds in timed]


def planted(n_vocab: int) -> Transformer:
    """A model in which heads 0.11 and 1.11 do induction and all others are random.

    Its shape is that of `attn_only_2L_half`, which courses use: 2 × 12 heads × 64, d_model 768.
    """
    shape = ModelConfig(
        n_layers=2, n_heads=12, d_model=768, d_head=64, n_vocab=n_vocab, n_ctx=2048,
        position_base=1000.0,
    )  # fmt: skip
    generator = torch.Generator().manual_seed(0)
    return hand_built.induction_in_few_dimensions(shape, generator=generator)


def induction_tests(model: Transformer) -> str:
    """Random passages that come twice: how often the second is foretold, and which head matches."""
    generator = torch.Generator().manual_seed(1)
    every = torch.ones(model.config.n_vocab)
    drawn = repeats.drawn(every, 8, 100, generator=generator)
    right = repeats.predictions(model, drawn).right_first()[1]
    tokens = repeats.copies(drawn)
    A = patterns.of_all_layers(model, tokens)
    matching = induction.prefix_matching_score(A[1], tokens)
    back = patterns.by_distance(A[0], 2)[:, 1]
    return f"right first {right:.0%}, matching 1.{matching.argmax()}, one back 0.{back.argmax()}"


def spectra(model: Transformer) -> str:
    """Eigenvalues of the second layer's OV circuits, and of its QK circuits through head 0.11."""
    circuits = {f"copying {h}": heads.full_ov(model, h) for h in heads.of_layer(model, 1)}
    circuits |= {
        f"matching {h}": composition.matching(model, h, (0, 11)) for h in heads.of_layer(model, 1)
    }
    scores = {k: copying_scores.positivity(c.eigenvalues()) for k, c in circuits.items()}
    return ", ".join(sorted(scores, key=scores.get)[-2:])


def own_ranks(model: Transformer) -> str:
    """For every token, how many others a head raises above it."""
    ranks = copying_scores.own_ranks(heads.full_ov(model, (1, 11)))
    return f"own token first {(ranks == 0).float().mean():.0%}"


def pairs(model: Transformer) -> str:
    """The outputs that every head raises most, and the destinations that look there, for one token."""
    token, found = model.config.n_vocab // 2, []
    for head in heads.every(model):
        raised = heads.full_ov(model, head).columns([token])[:, 0].topk(10).indices
        looks = heads.full_qk(model, head).columns([token])[:, 0].topk(10).indices
        found.append((raised[0], looks[0]))
    return f"1.11 raises {'its source' if found[-1][0] == token else 'another'} most"


def edges(model: Transformer) -> str:
    """All composition scores."""
    best = (
        (kind, *composition.top_pairs(composition.scores(model, kind, basis="stored"))[0])
        for kind in composition.KINDS
    )
    return ", ".join(f"{kind} {later} ← {earlier}" for kind, later, earlier in best)


TASKS: dict[str, Callable[[Transformer], str]] = {
    "induction tests": induction_tests,
    "eigenvalues": spectra,
    "own ranks, one head": own_ranks,
    "pairs of a token": pairs,
    "composition scores": edges,
}
"""What is measured, and what it says of the planted model."""


def measured(task: str, n_vocab: int) -> tuple[float, float, str]:
    """Seconds of a task, the most memory that this process ever held [MB], and what was found."""
    torch.set_num_threads(min(2, torch.get_num_threads()))
    model = planted(n_vocab)
    started = time.perf_counter()
    with torch.no_grad():
        found = TASKS[task](model)
    return time.perf_counter() - started, peak(), found


def rows(tasks: tuple[str, ...] = tuple(TASKS), sizes: tuple[int, ...] = SIZES) -> Iterator[str]:
    """A line for every task and size of the vocabulary; the memory has PyTorch and the model in it."""
    for task in tasks:
        for n_vocab in sizes:
            seconds, megabytes, found = alone(measured, task, n_vocab)
            yield f"n_vocab {n_vocab:6}: {task:20} {seconds:7.2f} s, {megabytes:6,.0f} MB; {found}"
