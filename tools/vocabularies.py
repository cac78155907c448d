"""Time and memory of what one asks a foreign model first, by the size of its vocabulary.

Nothing here ever holds a matrix of n_vocab² numbers: with 50,278 tokens that would be ten gigabytes
for each circuit. Every measurement has a process of its own, whose peak of memory it is.
"""

import multiprocessing
import re
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from transformer_circuits.analysis import (
    composition,
    copying_scores,
    heads,
    induction,
    patterns,
    repeats,
)
from transformer_circuits.model import hand_built
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer

SIZES = (2048, 8192, 32768, 50278)
LENGTH, N_PASSAGES = 100, 8
"""Tokens of a passage that comes twice, and how many of them."""


def shape(n_vocab: int) -> ModelConfig:
    """That of `attn_only_2L_half`, which courses use: 2 × 12 heads × 64, d_model 768."""
    return ModelConfig(
        n_layers=2, n_heads=12, d_model=768, d_head=64, n_vocab=n_vocab, n_ctx=2048,
        position_base=1000.0,
    )  # fmt: skip


def planted(n_vocab: int) -> Transformer:
    """A model of `shape` in which heads 0.11 and 1.11 do induction and all others are random."""
    generator = torch.Generator().manual_seed(0)
    return hand_built.induction_in_few_dimensions(shape(n_vocab), generator=generator)


def induction_tests(model: Transformer) -> str:
    """Random passages that come twice: how often the second is foretold, and which head matches."""
    generator = torch.Generator().manual_seed(1)
    every = torch.ones(model.config.n_vocab)
    drawn = repeats.drawn(every, N_PASSAGES, LENGTH, generator=generator)
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
    best = [
        f"{kind} {later} ← {earlier}"
        for kind in composition.KINDS
        for later, earlier in composition.top_pairs(composition.scores(model, kind))
    ]
    return ", ".join(best)


TASKS: dict[str, Callable[[Transformer], str]] = {
    "induction tests": induction_tests,
    "eigenvalues": spectra,
    "own ranks, one head": own_ranks,
    "pairs of a token": pairs,
    "composition scores": edges,
}
"""What is measured, and what it says of the planted model."""


def peak() -> float:
    """The most memory that this process has held so far. [MB]

    On Linux not by `getrusage`, whose count a new process takes over from the one that started it.
    """
    if (status := Path("/proc/self/status")).is_file():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(run: Callable[..., Any], *arguments: object) -> Any:
    """What a function of a module returns in a process of its own, whose memory nothing else fills."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(run, arguments)


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
