"""Plans of trainings: `data/formation/plan.toml`, short ones that ask why induction heads form, and
`data/study/plan.toml`, models of several sizes.
"""

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from transformer_circuits import files
from transformer_circuits.model import modified_attention
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.settings import Table
from transformer_circuits.training import checkpoint
from transformer_circuits.training.config import TrainConfig

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Choices(Table):
    """One run of the plan but for its `training` and `shape`. The file says what each key means."""

    table = "run"

    name: str
    why: str
    model: str
    tokens: int
    first_layer: str
    repeat_weight: float
    family: str
    norm: bool
    """Whether a root mean square norm stands before every read, see `general.with_norm`."""

    def __post_init__(self):
        known = modified_attention.LAYERS
        self._require(
            self.first_layer in known, "first_layer", self.first_layer, f"be one of {[*known]}"
        )


@dataclass(frozen=True)
class Planned:
    """One training: a run of the plan with a seed."""

    choices: Choices
    shape: ModelConfig
    training: TrainConfig

    @property
    def title(self) -> str:
        return f"{self.choices.name}, seed {self.training.seed}"

    @cached_property
    def row(self) -> dict[str, Any]:
        """What the line of the training begins with; a line with another plan is of no use."""
        choices = dataclasses.asdict(self.choices)
        del choices["why"]
        if not choices["norm"]:  # lines of runs without one do not name it
            del choices["norm"]
        training = dataclasses.asdict(self.training)
        del training["checkpoints"]  # it changes nothing in what is recorded
        return {
            "run": choices.pop("name"),
            "seed": self.training.seed,
            "choices": choices,
            "shape": dataclasses.asdict(self.shape),
            "training_plan": training,
        }

    @property
    def title_of_state(self) -> str:
        return f"experiment-{self.title}".replace(", ", "-").replace(" ", "-")


def path() -> Path:
    """`data/formation/plan.toml`."""
    return files.data_dir() / "formation" / "plan.toml"


def study() -> Path:
    """`data/study/plan.toml`."""
    return files.data_dir() / "study" / "plan.toml"


def read(place: Path | None = None) -> list[Planned]:
    """Every training of a plan, by default of `path()`, in the order in which they are made.

    That is run by run. A run may name its `seeds`, if they are not `SEEDS`. Runs with the same `round` take turns: the first seed of each, then the next.

    Raises:
        UserError: naming the file and the run, if the plan is not valid; or if the config of a
            model that a run begins from is not.
    """
    place = place or path()
    tables, planned = files.read_toml(place), []
    for number, run in enumerate(tables["run"], start=1):
        try:
            planned += _run(tables["base"], run, number)
        except (files.UserError, TypeError, AttributeError) as error:
            name = f'run {number}, "{run.get("name")}"'
            raise files.damaged(place, f"is not right in {name}: {error}") from error
    titles = [training.title for _, training in planned]
    if twice := sorted(
        {training.choices.name for _, training in planned if titles.count(training.title) > 1}
    ):
        raise files.damaged(place, f"has more than one run called {twice}")
    planned.sort(key=lambda pair: (pair[0], pair[1].training.seed))
    return [training for _, training in planned]


def _run(base: dict, run: dict, number: int) -> list[tuple[int, Planned]]:
    """The trainings of one run, with its round: by default one of its own.

    Raises:
        UserError: if the run is not valid.
    """
    values = base | run
    round, seeds = values.pop("round", number), values.pop("seeds", SEEDS)
    changes = {key: base.get(key, {}) | values.pop(key, {}) for key in ("training", "shape")}
    choices = Choices.from_dict({"norm": False} | values)
    shape, training = checkpoint.settings(choices.model)
    shape = ModelConfig.from_dict(dataclasses.asdict(shape) | changes["shape"])
    plan = dataclasses.asdict(training) | {"checkpoints": ()} | changes["training"]
    return [
        (round, Planned(choices, shape, TrainConfig.from_dict(plan | {"seed": seed})))
        for seed in seeds
    ]
