"""Planned trainings, made, kept and read: above all those that ask why induction heads form.

`python -m transformer_circuits experiments` writes `experiments.jsonl` beside the two-layer model's
weights: one line per training that the plan has no other log for, with what was measured along it.
`records` reads these and the others together. Another `Series` has another plan, and lines of its
own.
"""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.experiments import development, plan
from transformer_circuits.experiments.plan import Planned
from transformer_circuits.experiments.variants import KEPT
from transformer_circuits.model import altered
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training import checkpoint
from transformer_circuits.training.trainer import Trainer

EVERY = 204_800
"""Tokens from one record to the next, for every batch: 25 steps of the book's trainings."""

COMMAND = "python -m transformer_circuits experiments"


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
    """The trainings of `data/experiments.toml`."""
    return Series(plan.path(), path())


def write(compile: bool | None = None, series: Series | None = None) -> None:
    """Make the trainings that a series, by default `why()`, has no line of; add each when it ends.

    A line of another plan, made before the plan changed, goes when the first new one comes.

    Raises:
        UserError: if the plan or the file is damaged, or a state of another training is in the way.
    """
    series = series or why()
    planned = [one for one in plan.read(series.plan) if not one.choices.taken_from]
    found = _found(planned, series.results)
    for one in planned:
        if one.title in found:
            continue
        with tokenizer.using(series.vocabulary):
            found[one.title] = one.row | _made(one, compile, series)
        lines = [json.dumps(found[other.title]) + "\n" for other in planned if other.title in found]
        with files.atomic(series.results) as temporary:
            temporary.write_text("".join(lines), encoding="utf-8")


def _made(one: Planned, compile: bool | None, series: Series) -> dict[str, Any]:
    run = _train(one, compile)
    log = _kept(run.log, one.choices.tokens, "first_position")
    return {"training": log} | (series.at_end(one, run) if series.at_end else {})


def path() -> Path:
    """`experiments.jsonl`, which may not be there yet."""
    return checkpoint.folder("two-layer") / "experiments.jsonl"


def _found(planned: list[Planned], results: Path | None = None) -> dict[str, dict[str, Any]]:
    """By title, the lines that the file has of these trainings as they are planned now."""
    results = results or path()
    rows = files.read_json_lines(results) if results.exists() else []
    pairs = ((one, row) for one in planned for row in rows)
    return {one.title: row for one, row in pairs if one.row.items() <= row.items()}


def status(series: Series | None = None) -> list[str]:
    """One line for each training of a plan, in order: whether it is there, and what it is for."""
    series = series or why()
    planned = plan.read(series.plan)
    found = _found([one for one in planned if not one.choices.taken_from], series.results)
    lines = []
    for one in planned:
        log = one.choices.taken_from
        state = "done" if one.title in found else _state(one)
        if log:
            state = f"in {log}.jsonl" if _taken(one) else f"missing in {log}.jsonl"
        lines.append(f"{one.title}: {state} ({one.choices.why})")
    return lines


def _state(one: Planned) -> str:
    return "begun" if (_folder(one) / "state.pt").exists() else "to do"


def _folder(one: Planned) -> Path:
    return files.cache_dir() / "runs" / one.title_of_state


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


def trainer(one: Planned, compile: bool | None = None) -> Trainer:
    """The training of a run, or the one left in the cache.

    Raises:
        UserError: if the text cannot be had, or the state of another run is in the way.
    """
    choices, training = one.choices, one.training
    generator = torch.Generator().manual_seed(training.seed)
    model = altered.model(one.shape, choices.first_layer, generator=generator)
    family = (choices.family,) if choices.family else ()
    source = corpus.tokens_of if choices.family else corpus.tokens
    text = source(training.corpus, "train", *family)
    held_out = corpus.tokens(training.corpus, "validation")
    return Trainer(
        model,
        training,
        text,
        _folder(one),
        every=max(1, EVERY // (training.batch * one.shape.n_ctx)),
        compile=compile,
        probe=lambda model: probe(model, held_out),
        repeat_weight=choices.repeat_weight,
        differs=choices.first_layer,
    )


def _train(one: Planned, compile: bool | None) -> Trainer:
    """A training, made up to the first record with as many tokens as planned."""
    torch.compiler.reset()  # else it gives up compiling after the eighth model of one process
    run = trainer(one, compile)
    records = run.run()
    while not run.log or run.log[-1]["tokens"] < one.choices.tokens:
        record = next(records)
        print(f"{one.title}: {record['tokens']:,} of {one.choices.tokens:,} tokens", flush=True)
    return run


def _kept(log: list[development.Record], tokens: int, *also: str) -> list[development.Record]:
    """What is kept of a log: `KEPT` of each record, up to the first that has so many tokens."""
    before = sum(record["tokens"] < tokens for record in log)
    return [{key: record[key] for key in (*KEPT, *also)} for record in log[: before + 1]]


def _taken(one: Planned) -> list[development.Record]:
    """The log of a run that other trainings made; empty if there is none with this plan."""
    model, wanted = one.choices.model, one.row["training_plan"]
    if one.choices.taken_from == "variants":
        rows = checkpoint.records("two-layer", "variants")
        logs = [r["training"] for r in rows if (r["model"], r["plan"]) == (model, wanted)]
    else:
        names = checkpoint.seeds(model)
        same = [name for name in names if _settings(name) == (one.shape, one.training)]
        logs = [checkpoint.records(name) for name in same]
    return _kept(logs[0], one.choices.tokens) if logs else []


def _settings(name: str) -> tuple[Any, Any]:
    """Shape and plan of a model of the book, its moments aside."""
    shape, training = checkpoint.settings(name)
    return shape, dataclasses.replace(training, moments=False)


def records(name: str) -> list[list[development.Record]]:
    """The logs of a run's seeds, in their order, each up to its last planned token.

    Raises:
        ValueError: if the plan has no such run.
        UserError: naming the training and the command that makes it, if one is missing.
    """
    planned = [one for one in plan.read() if one.choices.name == name]
    if not planned:
        raise ValueError(f'no run of {plan.path().name} is called "{name}"')
    found = _found([one for one in planned if not one.choices.taken_from])
    logs = []
    for one in planned:
        source = one.choices.taken_from
        log = _taken(one) if source else found.get(one.title, {}).get("training")
        if not log:
            command = "python -m transformer_circuits variants" if source == "variants" else COMMAND
            raise files.UserError(f'there is no log of "{one.title}": run {command}')
        logs.append(log)
    return logs
