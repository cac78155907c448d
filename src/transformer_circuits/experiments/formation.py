"""Planned trainings, made, kept and read: above all those that ask why induction heads form.

`python -m transformer_circuits experiments` writes `data/formation/runs.jsonl`: one line per training
of the plan beside it, with what was measured along it, which `records` reads. Another `Series` has
another plan, and lines of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.experiments import development, plan
from transformer_circuits.experiments.plan import Planned
from transformer_circuits.model import general, modified_attention
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training.trainer import Trainer

PLANTED, SPAN, REACH = "prose, repeats planted", 16, 8
"""The family of `with_repeats`; how many tokens one of its repeats has, and how many such spans back
it may have come before."""
EVERY = 204_800
"""Tokens from one record to the next, for every batch: 25 steps of the book's trainings."""


@dataclass(frozen=True)
class Series:
    """A plan of trainings, where the lines go that they leave, and what these hold."""

    plan: Path
    results: Path
    vocabulary: Path | None = None
    """The tokenizer, if it is not the book's own."""
    at_end: Callable[[Planned, Trainer], dict[str, Any]] | None = None
    """What the line has beside the log, measured when a training has ended."""


def why() -> Series:
    """The trainings of `data/formation/plan.toml`; `runs.jsonl` may not be there yet."""
    folder = plan.path().parent
    return Series(plan.path(), folder / "runs.jsonl", folder / "tokenizer.json")


def write(compile: bool | None = None, series: Series | None = None) -> None:
    """Make the trainings that a series, by default `why()`, has no line of; add each when it ends."""
    series = series or why()
    planned = plan.read(series.plan)

    def make(k: int) -> dict[str, Any]:
        training = planned[k]
        with tokenizer.using(series.vocabulary):
            torch.compiler.reset()  # else it gives up after the eighth model of one process
            run = trainer(training, compile)
            log = log_until(run, training.choices.tokens, training.title)
            return {"training": log} | (series.at_end(training, run) if series.at_end else {})

    complete(series.results, [training.row for training in planned], make)


def complete(
    path: Path, wanted: Sequence[dict[str, Any]], make: Callable[[int], dict[str, Any]]
) -> None:
    """Make the lines that a file of JSON Lines lacks; each is in it as soon as it is made.

    `wanted`: what each line begins with. A line that begins otherwise, made before a plan changed,
    goes when the first new one comes.
    `make`: the rest of the k-th line.
    """
    before = _lines(path)
    made = [_line(before, begins) for begins in wanted]
    for k, begins in enumerate(wanted):
        if made[k]:
            continue
        made[k] = begins | make(k)
        with files.atomic(path) as temporary:
            lines = [files.as_json(line) + "\n" for line in made if line]
            temporary.write_text("".join(lines), encoding="utf-8")


def _lines(path: Path) -> list[dict[str, Any]]:
    return files.read_json_lines(path) if path.exists() else []


def _line(lines: list[dict[str, Any]], begins: dict[str, Any]) -> dict[str, Any] | None:
    return next((line for line in lines if begins.items() <= line.items()), None)


def log_until(run: Trainer, tokens: int, title: str) -> list[development.Record]:
    """The log of a training up to the first record with so many tokens, made as far as need be.

    Of each record `development.KEPT` and `first_position` are kept, see `probe`.
    """
    records = run.run()
    while not run.log or run.log[-1]["tokens"] < tokens:
        record = next(records)
        print(f"{title}: {record['tokens']:,} of {tokens:,} tokens", flush=True)
    before = sum(record["tokens"] < tokens for record in run.log)
    return [
        {key: record[key] for key in (*development.KEPT, "first_position")}
        for record in run.log[: before + 1]
    ]


def _folder(planned: Planned) -> Path:
    return files.cache_dir() / "runs" / planned.title_of_state


@torch.no_grad()
def probe(model: Transformer, held_out: Int[Tensor, " n_tokens"]) -> development.Record:
    """`development.probe`, and how much each head attends to the first token of a window of text.

    `first_position` [layer][head]: a probability, the mean over the destinations of the window's
    second half, on the windows whose patterns `development.probe` reads.
    """
    inputs, _ = windows.evenly(held_out, 8, model.config)
    late = inputs.shape[1] // 2
    patterns = model.trace(inputs.to(model.W_E.device)).patterns
    first = [A[:, :, late:, 0].mean(dim=(0, 2)).tolist() for A in patterns]
    rounded = [[round(share, 4) for share in layer] for layer in first]
    return development.probe(model, held_out) | {"first_position": rounded}


def with_repeats(profile: str, shape: ModelConfig, best_of: int) -> Int[Tensor, " n_tokens"]:
    """Prose in which spans come again until as many targets complete a repeat as in Python.

    As many in the windows that a training reads. A span is overwritten with one of the `REACH`
    before it in its document. How often is found by measuring: that is corrected four times.
    """
    prose, code = (corpus.tokens_of(profile, "train", family) for family in ("prose", "python"))

    def rate(text: Int[Tensor, " n_tokens"]) -> float:
        generator = torch.Generator().manual_seed(0)
        seen = windows.batch(text, 1024, shape, best_of=best_of, generator=generator)
        return float(windows.completes_repeat(*seen).float().mean())

    bare, wanted = rate(prose), rate(code)
    share, text = 0.0, prose
    for _ in range(4):
        share += (wanted - rate(text)) / (1 - bare)
        text = overwritten(prose, share)
    print(f"targets that complete a repeat: {rate(text):.3f}, in code {wanted:.3f}", flush=True)
    return text


def overwritten(text: Int[Tensor, " n_tokens"], share: float) -> Int[Tensor, " n_tokens"]:
    """A text in which so large a share of its spans is one that stands before it in its document."""
    generator = torch.Generator().manual_seed(0)
    spans = text[: len(text) // SPAN * SPAN].clone().view(-1, SPAN)
    n = len(spans)
    source = torch.arange(n) - torch.randint(1, REACH + 1, (n,), generator=generator)
    document = (text == tokenizer.BEGIN).cumsum(dim=0)[: spans.numel()].view(-1, SPAN)
    chosen = torch.rand(n, generator=generator) < share
    chosen &= (source >= 0) & (document[source, 0] == document[:, -1])
    for k in chosen.nonzero().flatten().tolist():  # in order: a span may be a copy of a copy
        spans[k] = spans[source[k]]
    return torch.cat([spans.flatten(), text[spans.numel() :]])


def trainer(planned: Planned, compile: bool | None = None) -> Trainer:
    """The training of a run, or the one left in the cache."""
    choices, training = planned.choices, planned.training
    generator = torch.Generator().manual_seed(training.seed)
    if choices.norm:
        model: Transformer = general.with_norm(planned.shape, generator=generator)
    else:
        model = modified_attention.model(planned.shape, choices.first_layer, generator=generator)
    if choices.family == PLANTED:
        text = with_repeats(training.corpus, planned.shape, training.best_of)
    elif choices.family:
        text = corpus.tokens_of(training.corpus, "train", choices.family)
    else:
        text = corpus.tokens(training.corpus, "train")
    held_out = corpus.tokens(training.corpus, "validation")
    return Trainer(
        model,
        training,
        text,
        _folder(planned),
        every=max(1, EVERY // (training.batch * planned.shape.n_ctx)),
        compile=compile,
        probe=lambda model: probe(model, held_out),
        repeat_weight=choices.repeat_weight,
        differs="a norm" if choices.norm else choices.first_layer,
    )


def records(name: str) -> list[list[development.Record]]:
    """The logs of a run's seeds, in their order, each up to its last planned token.

    Raises:
        ValueError: if the plan has no such run.
        UserError: naming the training and the command that makes it, if one is missing.
    """
    planned = [training for training in plan.read() if training.choices.name == name]
    if not planned:
        raise ValueError(f'no run of {plan.path().name} is called "{name}"')
    lines, logs = _lines(why().results), []
    for training in planned:
        if not (line := _line(lines, training.row)):
            raise files.UserError(
                f'there is no log of "{training.title}": run python -m transformer_circuits experiments'
            )
        logs.append(line["training"])
    return logs


def every_seed(name: str) -> list[list[development.Record]]:
    """The logs of a run, seed by seed, and those of the run "NAME, more seeds", if the plan has it.

    Raises: as `records`.
    """
    further = f"{name}, more seeds"
    there = further in {training.choices.name for training in plan.read()}
    return records(name) + (records(further) if there else [])


def search() -> list[dict[str, Any]]:
    """What came of every training that was tried before there was a plan, `search.jsonl`."""
    return files.read_json_lines(plan.path().with_name("search.jsonl"))
