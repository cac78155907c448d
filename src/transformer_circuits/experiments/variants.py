"""What each choice of the training does: trainings that differ from the book's in one choice.

`python -m transformer_circuits variants` makes them, or goes on where it was stopped, and writes
`variants.jsonl` beside the two-layer model's weights, which
`checkpoint.records("two-layer", "variants")` reads: one line per training, with its log. Each is
stopped where its learning rate begins to fall, so it compares with the model's own log up to there.
"""

import dataclasses

from transformer_circuits import files
from transformer_circuits.experiments import development, formation
from transformer_circuits.training import checkpoint, runs
from transformer_circuits.training.config import TrainConfig

FROM_THE_START = "positions from the start"
NO_DECAY = "no decay, lengths free"
CHANGES: dict[str, dict[str, float]] = {
    FROM_THE_START: {"blind_steps": 0},
    NO_DECAY: {"rms_embed": 0.0, "decay_unembed": 0.0, "decay_attention": 0.0},
}
"""What differs from the plan that the model's `config.toml` has."""

PLANNED: list[tuple[str, str, int]] = [
    ("two-layer", NO_DECAY, 0),
    ("two-layer", FROM_THE_START, 0),
    ("two-layer-mlp", FROM_THE_START, 0),
    ("two-layer", FROM_THE_START, 1),
    ("two-layer", FROM_THE_START, 2),
]
"""Model, variant and seed of each training, in the order in which they are made."""


def write(compile: bool | None = None) -> None:
    """Make the trainings that `variants.jsonl` has not, and add each to it when it ends."""
    wanted = [_wanted(*one) for one in PLANNED]
    path = checkpoint.folder("two-layer") / "variants.jsonl"
    formation.complete(path, wanted, lambda k: {"training": _train(wanted[k], compile)})


def _wanted(name: str, variant: str, seed: int) -> dict:
    """What the line of a training begins with."""
    _, plan = checkpoint.settings(name)
    plan = dataclasses.replace(plan, seed=seed, moments=False, **CHANGES[variant])
    return {"model": name, "variant": variant, "plan": dataclasses.asdict(plan)}


def _train(wanted: dict, compile: bool | None) -> list[development.Record]:
    """The log of a training up to the first record at which the rate has begun to fall."""
    shape, _ = checkpoint.settings(wanted["model"])
    plan = TrainConfig.from_dict(wanted["plan"])
    title = f"{wanted['model']}, {wanted['variant']}, seed {plan.seed}"
    state = files.cache_dir() / "runs" / title.replace(", ", "-").replace(" ", "-")
    run = runs.trainer(shape, plan, state, compile=compile, probe=development.probe)
    falls = plan.decay_from * plan.steps * plan.batch * shape.n_ctx
    return formation.log_until(run, falls, title)
