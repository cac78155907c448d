"""Training a model of the book: what it learns from, where its state is kept, what is saved."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus
from transformer_circuits.training import checkpoint, cross_entropy
from transformer_circuits.training.trainer import Trainer


@dataclass(frozen=True)
class Run:
    """A training that `prepare` has set up: `for record in run.trainer.run()`, then `run.save()`."""

    name: str
    folder: Path
    """Where `save` puts the trained model."""
    trainer: Trainer
    held_out: Int[Tensor, " n_tokens"]

    def save(self) -> float:
        """Write the log, the weights and their provenance; return the loss on held-out text.

        In nats per token, rounded to four digits, as the last record of the log has it from now
        on under `held_out_nats`.

        Raises:
            OSError: naming the file, if it cannot be written.
        """
        model, plan, log = self.trainer.model, self.trainer.config, self.trainer.log
        nats = round(float(cross_entropy.evaluate(model, self.held_out).mean()), 4)
        log[-1]["held_out_nats"] = nats
        with files.atomic(self.folder / "training.jsonl") as temporary:
            temporary.write_text("".join(json.dumps(record) + "\n" for record in log))
        digest = files.sha256(corpus.build(plan.corpus)["train"])
        checkpoint.save(self.folder, model.cpu(), plan, digest, int(log[-1]["tokens"]))
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

    `seed`: another than the one of the config gives another model, called `name`-seed-`seed`.
    `folder`: where the trained model goes; by default to its config, or for another seed to
    `checkpoint.other_seeds_dir`.
    `compile`: as for `Trainer`.
    `probe`: measures the model on held-out text at every record, as `development.probe` does. A
    model without layers has no heads to measure, and is not probed.

    Raises:
        UserError: if there is no such model, its config is not valid, the folder cannot be
            written, the text cannot be had, or the state of another run is in the way.
    """
    shape, plan = checkpoint.settings(name)
    if seed is None or seed == plan.seed:
        folder = folder or checkpoint.folder(name)
    else:
        plan = dataclasses.replace(plan, seed=seed)
        name = f"{name}-seed-{seed}"
        folder = folder or checkpoint.other_seeds_dir() / name
    state = files.cache_dir() / "runs" / name
    for place in (folder, state):
        files.require_writable(place)
    model = Transformer(shape, generator=torch.Generator().manual_seed(plan.seed))
    text, held_out = (corpus.tokens(plan.corpus, split) for split in corpus.SPLITS)
    on_held_out = (lambda model: probe(model, held_out)) if probe and shape.n_layers else None
    trainer = Trainer(model, plan, text, state, compile=compile, probe=on_held_out)
    return Run(name, folder, trainer, held_out)
