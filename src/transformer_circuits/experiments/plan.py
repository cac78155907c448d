"""Plans of trainings: `data/experiments.toml`, short ones that ask why induction heads form, and
`data/study/plan.toml`, models of several sizes.
"""

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from transformer_circuits import files
from transformer_circuits.model import altered
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.settings import Table
from transformer_circuits.training import checkpoint
from transformer_circuits.training.config import TrainConfig

SEEDS = (0, 1, 2)
LOGS = ("", "training", "variants")


@dataclass(frozen=True)
class Choices(Table):
    """One run of the plan but for its `training` and `shape`. The file says what each key means."""

    table = "run"

    name: str
    why: str
    model: str
    tokens: int
    taken_from: str
    first_layer: str
    repeat_weight: float
    family: str

    def __post_init__(self):
        for name, holds, expected in (
            ("name", bool(self.name), "not be empty"),
            ("tokens", self.tokens > 0, "be positive"),
            ("taken_from", self.taken_from in LOGS, f"be one of {LOGS}"),
            ("first_layer", self.first_layer in altered.LAYERS, f"be one of {[*altered.LAYERS]}"),
            ("repeat_weight", self.repeat_weight >= 0, "be at least 0"),
        ):
            self._require(holds, name, getattr(self, name), expected)
        ours = self.first_layer or self.family or self.repeat_weight != 1
        alone = not (self.taken_from and ours)
        self._require(alone, "taken_from", self.taken_from, "be empty: no log has such a run")


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
        return {
            "run": choices.pop("name"),
            "seed": self.training.seed,
            "choices": choices,
            "shape": dataclasses.asdict(self.shape),
            "training_plan": dataclasses.asdict(self.training),
        }

    @property
    def title_of_state(self) -> str:
        return f"experiment-{self.title}".replace(", ", "-").replace(" ", "-")


def path() -> Path:
    """`data/experiments.toml`."""
    return files.data_dir() / "experiments.toml"


def study() -> Path:
    """`data/study/plan.toml`."""
    return files.data_dir() / "study" / "plan.toml"


def read(place: Path | None = None) -> list[Planned]:
    """Every training of a plan, by default of `path()`, in the order in which they are made.

    That is run by run. Runs with the same `round` take turns: the first seed of each, then the next.

    Raises:
        UserError: naming the file and the run, if the plan is not valid; or if the config of a
            model that a run begins from is not.
    """
    place = place or path()
    tables = files.read_toml(place)
    unknown = sorted(tables.keys() - {"base", "run"})
    base, runs = tables.get("base"), tables.get("run")
    if unknown or not isinstance(base, dict) or not isinstance(runs, list) or not runs:
        raise files.damaged(place, "must have one table [base] and tables [[run]], no others")
    planned: list[tuple[int, Planned]] = []
    for number, run in enumerate(runs, start=1):
        name = run.get("name", "") if isinstance(run, dict) else ""
        try:
            planned += _run(base, run, number)
        except (files.UserError, TypeError, AttributeError) as error:
            raise files.damaged(
                place, f'is not right in run {number}, "{name}": {error}'
            ) from error
    titles = [one.title for _, one in planned]
    if twice := sorted({one.choices.name for _, one in planned if titles.count(one.title) > 1}):
        raise files.damaged(place, f"has more than one run called {twice}")
    planned.sort(key=lambda pair: (pair[0], pair[1].training.seed))
    return [one for _, one in planned]


def _run(base: dict, run: dict, number: int) -> list[tuple[int, Planned]]:
    """The trainings of one run, with its round: by default one of its own.

    Raises:
        UserError: if the run is not valid.
    """
    values = base | run
    round = values.pop("round", number)
    if type(round) is not int:
        raise files.UserError(f"round is {round!r} but must be a whole number")
    changes = {key: base.get(key, {}) | values.pop(key, {}) for key in ("training", "shape")}
    choices = Choices.from_dict(values)
    shape, training = checkpoint.settings(choices.model)
    shape = ModelConfig.from_dict(dataclasses.asdict(shape) | changes["shape"])
    plan = dataclasses.asdict(training) | {"moments": False} | changes["training"]
    if choices.taken_from == "training" and any(changes.values()):
        raise files.UserError(f"taken_from is 'training', and no log has {changes}")
    if "seed" in changes["training"]:
        raise files.UserError(f"[training] has a seed, but each run has those of {SEEDS}")
    if choices.first_layer and not shape.n_layers:
        raise files.UserError(f"first_layer is {choices.first_layer!r} but there are no layers")
    return [
        (round, Planned(choices, shape, TrainConfig.from_dict(plan | {"seed": seed})))
        for seed in SEEDS
    ]
