"""Training runs of the book's models: their text, their state, and their saving."""

import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.model import cross_entropy, quantisation
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus
from transformer_circuits.training import checkpoint
from transformer_circuits.training.config import TrainConfig
from transformer_circuits.training.trainer import Trainer


@dataclass(frozen=True)
class Run:
    """Training that `prepare` has set up: `for record in run.records()`, then `run.save()`."""

    name: str
    folder: Path
    """Folder of the trained model and its checkpoints, after `save`."""
    state: Path
    """Folder of the training's state, and of its checkpoints until `save`."""
    trainer: Trainer

    def records(self) -> Iterator[dict]:
        """Train to the end, as `Trainer.run`, and keep the checkpoints that the plan asks for."""
        if self.trainer.step == 0:
            # Those of a state that was deleted.
            shutil.rmtree(self.state / "checkpoints", ignore_errors=True)
        self._keep_checkpoint()  # it may have been stopped between the record and its checkpoint
        for record in self.trainer.run():
            self._keep_checkpoint()
            yield record

    def _keep_checkpoint(self) -> None:
        """Keep the present weights if the plan asks for a checkpoint since the last record."""
        trainer = self.trainer
        before = trainer.log[-2]["step"] if len(trainer.log) > 1 else 0
        due = any(before < step <= trainer.step for step in trainer.config.checkpoints)
        missing = trainer.step not in checkpoint.steps(self.state)
        if due and missing:
            checkpoint.save_checkpoint(self.state, trainer.model, trainer.step)

    def save(self) -> float:
        """Write log, checkpoints, weights and their provenance; return the loss on held-out text.

        In nats per token, rounded to four digits, also in the last record of the log under
        `held_out_nats`. On the text that `cross_entropy` names.
        """
        model, plan, log = self.trainer.model, self.trainer.config, self.trainer.log
        quantisation.round_(model)  # measured as it is saved; positions are not rounded
        held_out = corpus.tokens(plan.corpus, "validation")
        nats = round(float(cross_entropy.evaluate(model, held_out).mean()), 4)
        log[-1]["held_out_nats"] = nats
        checkpoint.take_checkpoints(self.state, self.folder)
        digest = files.sha256(corpus.build(plan.corpus)["train"])
        checkpoint.save(self.folder, model.cpu(), plan, digest, log)
        return nats


def prepare(
    name: str,
    *,
    seed: int | None = None,
    folder: Path | None = None,
    compile: bool | None = None,
    probe: Callable[[Transformer, Tensor], dict] | None = None,
) -> Run:
    """Set up the training of the model called `name`, or take it up where it was interrupted.

    `seed`: another than the one of the config gives another model, `checkpoint.of_seed`, which
    keeps no checkpoints.
    `folder`: for the trained model; by default its folder among the models of the book. A folder
    that cannot be written is refused now, and not after the training.
    `compile`: as for `Trainer`.
    `probe`: measures the model on held-out text at every record, as `development.probe` does. A
    model without layers has no heads to measure, and is not probed.
    """
    shape, plan = checkpoint.settings(name)
    if seed is None or seed == plan.seed:
        folder = folder or checkpoint.folder(name)
    else:
        plan = dataclasses.replace(plan, seed=seed, checkpoints=())
        name = checkpoint.of_seed(name, seed)
        folder = folder or checkpoint.models_dir() / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
    state = files.cache_dir() / "runs" / name
    return Run(name, folder, state, trainer(shape, plan, state, compile=compile, probe=probe))


def trainer(
    shape: ModelConfig,
    plan: TrainConfig,
    state: Path,
    *,
    compile: bool | None = None,
    probe: Callable[[Transformer, Tensor], dict] | None = None,
) -> Trainer:
    """Training of a new model of this shape by a plan, or the one left in the folder `state`."""
    model = Transformer(shape, generator=torch.Generator().manual_seed(plan.seed))
    text, held_out = (corpus.tokens(plan.corpus, split) for split in ("train", "validation"))
    on_held_out = (lambda model: probe(model, held_out)) if probe and shape.n_layers else None
    return Trainer(model, plan, text, state, compile=compile, probe=on_held_out)
