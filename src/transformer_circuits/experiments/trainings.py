"""Records of the trainings beside those of the book's own models, `data/trainings`.

Its `plan.toml` lists them with their reasons; `records.jsonl` has a line for each training that was
made, and `python -m tools trainings` makes the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from transformer_circuits import files
from transformer_circuits.experiments.development import Record
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.training.config import TrainConfig

SEEDS = (0, 1, 2)
"""Seeds of every run that names no others in the plan."""
PLANTED = "prose, repeats planted"
"""Name of a run on prose in which as many targets complete a repeat as in Python."""
STORED, WHITE = "estimates", "estimates_white"
"""Bases of the stream in which a model of the study of size was measured: as stored, or white on text."""
ENOUGH_HEADS = 4
"""Heads in a layer from which on there is something to choose among them."""


@dataclass(frozen=True)
class Training:
    """Training by a run of the plan with a seed, and its measurements."""

    line: Mapping[str, Any]
    """Line of the file; `data/trainings/README.md` explains each key."""

    @property
    def run(self) -> str:
        """Name of its run in the plan."""
        return self.line["run"]

    @property
    def seed(self) -> int:
        """Seed of first weights and of windows."""
        return self.line["seed"]

    @property
    def log(self) -> list[Record]:
        """Measurements along the training, see `development.probe`."""
        return self.line["training"]

    @property
    def shape(self) -> ModelConfig:
        """Shape of its model."""
        return ModelConfig.from_dict(self.line["shape"])

    @property
    def recipe(self) -> TrainConfig:
        """Plan of its training."""
        return TrainConfig.from_dict(self.line["training_plan"] | {"checkpoints": ()})

    @property
    def tokens(self) -> int:
        """Tokens read."""
        return self.line["choices"]["tokens"]

    @property
    def width(self) -> int:
        """d_model."""
        return self.line["shape"]["d_model"]

    @property
    def n_heads(self) -> int:
        """Heads in a layer."""
        return self.line["shape"]["n_heads"]

    @property
    def crowded(self) -> bool:
        """True if its heads write more than the stream has room for."""
        return self.n_heads * self.line["shape"]["d_head"] > self.width

    @property
    def normed(self) -> bool:
        """True if a norm stands before every read."""
        return self.line["choices"].get("norm", False)

    @property
    def loss(self) -> float:
        """Loss on held-out text at the end, of a model of the study of size. [nats per token]"""
        return self.line["held_out"]["nats_per_token"]

    def interval(self, claim: str, basis: str = STORED) -> tuple[float, float, float, int] | None:
        """Mean, ends and number of units of a claim's measurement; None if it has no case."""
        measured = self.line[basis].get(claim, {})
        if "mean" not in measured:
            return None
        return measured["mean"], measured["low"], measured["high"], measured["n"]


def path() -> Path:
    """Folder `data/trainings`."""
    return files.data_dir() / "trainings"


@cache
def read() -> tuple[Training, ...]:
    """Recorded trainings, in the order of the plan."""
    return tuple(map(Training, files.read_json_lines(path() / "records.jsonl")))


def of_run(name: str) -> list[Training]:
    """Trainings of a run, in the order of their seeds.

    Raises:
        UserError: if none was recorded.
    """
    if trainings := [training for training in read() if training.run == name]:
        return trainings
    raise files.UserError(
        f'{path() / "records.jsonl"} has no run "{name}": python -m tools trainings makes those '
        "that the plan beside it has"
    )


def logs(run: str) -> list[list[Record]]:
    """Logs of a run's trainings, in the order of their seeds; raises as `of_run`."""
    return [training.log for training in of_run(run)]


def every_log(run: str) -> list[list[Record]]:
    """Logs of a run's trainings, then those of the run "NAME, more seeds", if there is one."""
    further = f"{run}, more seeds"
    return logs(run) + [training.log for training in read() if training.run == further]


def why() -> dict[str, str]:
    """Purpose of each run of the plan, by its name."""
    series = files.read_toml(path() / "plan.toml").values()
    return {run["name"]: run["why"] for of_series in series for run in of_series["run"]}


def search() -> list[dict[str, Any]]:
    """Results of every training that was tried before there was a plan, `search.jsonl`."""
    return files.read_json_lines(path() / "search.jsonl")


def of_sizes(*, normed: bool = False) -> list[Training]:
    """Trainings of the study of size: by proportions, tokens, width, seed.

    `normed`: those of the models with a norm instead, which are no part of the curves over width.
    """
    return sorted(
        (training for training in read() if "edges" in training.line and training.normed == normed),
        key=lambda training: (training.crowded, training.tokens, training.width, training.seed),
    )


def in_width_alone(*, normed: bool = False) -> dict[int, list[Training]]:
    """Trainings of the study with the paper's proportions, by their number of tokens, the fewest first.

    Trainings of one entry differ in nothing but width and seed; those of the last entry read as
    many tokens as the book's own models, which are among them. `normed`: see `of_sizes`.
    """
    by_tokens: dict[int, list[Training]] = {}
    for training in of_sizes(normed=normed):
        if not training.crowded:
            by_tokens.setdefault(training.tokens, []).append(training)
    return by_tokens
