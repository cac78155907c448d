"""Runner of `data/trainings/plan.toml`: trainings beside those of the book's own models.

`python -m tools trainings` makes those that have no line in `records.jsonl`, one after the other.
The state of a training, and in the end its model, are in `data/cache/runs/`.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tools import changed_layers
from transformer_circuits import files
from transformer_circuits.analysis import patterns
from transformer_circuits.experiments import development, trainings
from transformer_circuits.experiments.trainings import PLANTED, SEEDS
from transformer_circuits.model import general
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.settings import Table
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training import checkpoint
from transformer_circuits.training.config import TrainConfig
from transformer_circuits.training.trainer import Trainer

EVERY = 204_800
"""Tokens from one record to the next, for every batch: 25 steps of the book's trainings."""
KEPT = (
    "step", "tokens", "seconds", "held_out", "in_context_learning_score", "previous_token",
    "matching_text", "matching_random", "twice_loss", "twice_right_first", "first_position",
    "two_back",
)  # fmt: skip
"""Fields of each record that a line keeps, see `probe`."""
SPAN, REACH = 16, 8
"""Tokens of one planted repeat, and the most such spans between it and the first copy."""


@dataclass(frozen=True)
class Choices(Table):
    """Run but for its `training` and `shape`; the plan explains each key."""

    table = "run"

    name: str
    model: str
    tokens: int
    first_layer: str
    repeat_weight: float
    family: str
    norm: bool
    positions: str

    def __post_init__(self):
        for name, known in (
            ("first_layer", [*changed_layers.LAYERS]),
            ("positions", ["", "usual"]),
        ):
            value = getattr(self, name)
            self._require(value in known, name, value, f"be one of {known}")


UNCHANGED = {"first_layer": "", "repeat_weight": 1.0, "family": "", "norm": False, "positions": ""}
"""Choices of a run that does not name them."""


@dataclass(frozen=True)
class Planned:
    """Training by the plan: a run with a seed."""

    choices: Choices
    shape: ModelConfig
    training: TrainConfig
    tokenizer: Path | None
    """File of its tokenizer, if it is not the book's own."""

    @property
    def title(self) -> str:
        return f"{self.choices.name}, seed {self.training.seed}"

    @property
    def begins(self) -> dict[str, Any]:
        """Beginning of the line of the training; a line that begins otherwise is of another plan."""
        choices = dataclasses.asdict(self.choices)
        for later in ("norm", "positions"):  # older lines do not name them
            if not choices[later]:
                del choices[later]
        training = dataclasses.asdict(self.training)
        del training["checkpoints"]  # none is kept
        return {
            "run": choices.pop("name"),
            "seed": self.training.seed,
            "choices": choices,
            "shape": dataclasses.asdict(self.shape),
            "training_plan": training,
        }

    @property
    def folder(self) -> Path:
        """Folder of its state, and in the end of its model."""
        return files.cache_dir() / "runs" / self.title.replace(", ", "-").replace(" ", "-")


def planned() -> list[Planned]:
    """Trainings of the plan, all, in the order in which they are made.

    Raises:
        UserError: naming the file and the run, if the plan is not valid.
    """
    path = trainings.path() / "plan.toml"
    every: list[Planned] = []
    for series in files.read_toml(path).values():
        runs, rounds = series.pop("run"), []
        for number, run in enumerate(runs, start=1):
            try:
                of_run = _of_run(series, run)
                rounds += [(run.get("round", number), training) for training in of_run]
            except (files.UserError, TypeError, AttributeError) as error:
                name = f'"{run.get("name")}"'
                raise files.damaged(path, f"is not right in the run {name}: {error}") from error
        rounds.sort(key=lambda pair: (pair[0], pair[1].training.seed))
        every += [training for _, training in rounds]
    titles = [training.title for training in every]
    if twice := sorted({title for title in titles if titles.count(title) > 1}):
        raise files.damaged(path, f"has more than one run called {twice}")
    return every


def _of_run(series: dict, run: dict) -> Iterator[Planned]:
    """Trainings of one run, one for each seed."""
    values = UNCHANGED | series | run
    values.pop("round", None), values.pop("why")
    seeds, tokenizer_name = values.pop("seeds", SEEDS), values.pop("tokenizer", None)
    changes = {key: series.get(key, {}) | values.pop(key, {}) for key in ("training", "shape")}
    choices = Choices.from_dict(values)
    shape, training = checkpoint.settings(choices.model)
    shape = ModelConfig.from_dict(dataclasses.asdict(shape) | changes["shape"])
    recipe = dataclasses.asdict(training) | {"checkpoints": ()} | changes["training"]
    for seed in seeds:
        yield Planned(
            choices,
            shape,
            TrainConfig.from_dict(recipe | {"seed": seed}),
            trainings.path() / tokenizer_name if tokenizer_name else None,
        )


def write(compile: bool | None = None) -> None:
    """Make the trainings that have no line in the records; each has its line as soon as it ends.

    A line of another plan goes when the first new one comes. `compile`: as for `Trainer`.
    """
    path, wanted = trainings.path() / "records.jsonl", planned()
    before = files.read_json_lines(path) if path.exists() else []
    lines = [
        next((line for line in before if training.begins.items() <= line.items()), None)
        for training in wanted
    ]
    for k, training in enumerate(wanted):
        if lines[k]:
            continue
        lines[k] = training.begins | {"training": log(training, compile)}
        with files.atomic(path) as temporary:
            made = [files.as_json(line) + "\n" for line in lines if line]
            temporary.write_text("".join(made), encoding="utf-8")


def log(training: Planned, compile: bool | None = None) -> list[development.Record]:
    """Log of a training up to the first record with as many tokens as planned.

    The training runs as far as need be. A model that its config describes fully is saved.
    """
    torch.compiler.reset()  # else it gives up after the eighth model of one process
    tokens = training.choices.tokens
    with tokenizer.using(training.tokenizer):
        run = trainer(training, compile)
        records = run.run()
        while not run.log or run.log[-1]["tokens"] < tokens:
            record = next(records)
            print(f"{training.title}: {record['tokens']:,} of {tokens:,} tokens", flush=True)
        if not (training.choices.norm or training.choices.first_layer):
            digest = files.sha256(corpus.build(training.training.corpus)["train"])
            checkpoint.save(training.folder, run.model, training.training, digest, run.log)
    before = sum(record["tokens"] < tokens for record in run.log)
    return [{key: record[key] for key in KEPT} for record in run.log[: before + 1]]


def trainer(training: Planned, compile: bool | None = None) -> Trainer:
    """Trainer of a planned training, from its first step or from its saved state."""
    choices, recipe = training.choices, training.training
    generator = torch.Generator().manual_seed(recipe.seed)
    if choices.norm:
        model: Transformer = general.with_norm(training.shape, generator=generator)
    else:
        model = changed_layers.model(training.shape, choices.first_layer, generator=generator)
    if choices.positions:
        model.W_P.copy_(usual_sinusoids(training.shape.n_ctx, training.shape.d_model))
    if choices.family == PLANTED:
        text = with_repeats(recipe.corpus, training.shape, recipe.best_of)
    elif choices.family:
        text = corpus.tokens_of(recipe.corpus, "train", choices.family)
    else:
        text = corpus.tokens(recipe.corpus, "train")
    held_out = corpus.tokens(recipe.corpus, "validation")
    return Trainer(
        model,
        recipe,
        text,
        training.folder,
        every=max(1, EVERY // (recipe.batch * training.shape.n_ctx)),
        compile=compile,
        probe=lambda model: probe(model, held_out),
        repeat_weight=choices.repeat_weight,
        differs="a norm" if choices.norm else choices.first_layer or choices.positions,
    )


def usual_sinusoids(n_ctx: int, d_model: int) -> Float[Tensor, "n_ctx d_model"]:
    """Position vectors with the frequencies of "Attention is all you need": 10000^(-2i/d_model).

    In radians per token, so from 1 down to nearly 1/10,000. As long as ours: a root mean square
    of about 1 in each dimension.
    """
    frequency = 10_000 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = torch.arange(n_ctx, dtype=torch.float64)[:, None] * frequency
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)
    return (2**0.5 * pairs.flatten(start_dim=1)).float()


@torch.no_grad()
def probe(model: Transformer, held_out: Int[Tensor, " n_tokens"]) -> development.Record:
    """Measurements of `development.probe`, and two more shares of each head's attention, [layer][head] each.

    Both on the windows whose patterns `development.probe` reads: `two_back`, to the token before
    the previous one, and `first_position`, to the first token of a window, from its second half.
    """
    inputs, _ = windows.evenly(held_out, 8, model.config)
    late = inputs.shape[1] // 2
    layers = model.trace(inputs.to(model.W_E.device)).patterns
    shares = {
        "first_position": [A[:, :, late:, 0].mean(dim=(0, 2)).tolist() for A in layers],
        "two_back": [patterns.by_distance(A, 3)[:, 2].tolist() for A in layers],
    }
    return development.probe(model, held_out) | {
        name: [[round(share, 4) for share in layer] for layer in of_layers]
        for name, of_layers in shares.items()
    }


def with_repeats(profile: str, shape: ModelConfig, best_of: int) -> Int[Tensor, " n_tokens"]:
    """Prose in which spans come again until as many targets complete a repeat as in Python.

    As many in the windows that a training reads. A span is overwritten with one of the `REACH`
    before it in its document. Their share is found by measuring, with four corrections.
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
    """Text in which this share of the spans is replaced by one that stands before it in its document."""
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
