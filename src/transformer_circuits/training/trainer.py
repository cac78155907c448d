"""The training loop: resumable at any moment, in one process or many."""

import io
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor
from tqdm.auto import tqdm

from transformer_circuits import files
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows
from transformer_circuits.training import cross_entropy, hardware
from transformer_circuits.training.config import TrainConfig


def schedule(step: int, config: TrainConfig) -> float:
    """Factor on the learning rates at a step: linear warm-up, constant, linear to 0."""
    warm = min(1.0, (step + 1) / config.warmup_steps)
    done = step / config.steps
    return warm * min(1.0, (1 - done) / (1 - config.decay_from))


def optimizers(model: Transformer, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """AdamW for the two embeddings, Muon for the matrices of attention (and of MLPs)."""
    embeddings = [model.W_E, model.W_U]
    device = model.W_E.device.type
    adamw = torch.optim.AdamW(
        embeddings,
        lr=config.lr_embed,
        betas=(0.9, 0.98),
        weight_decay=0.0,
        fused=device in ("cpu", "cuda"),
    )
    matrices = [*model.layers.parameters(), *model.mlps.parameters()]
    if not matrices:
        return [adamw]
    return [
        adamw,
        torch.optim.Muon(matrices, lr=config.lr_attention, momentum=0.95, weight_decay=0.0),
    ]


class Trainer:
    """One run: `for record in Trainer(...).run()` trains and yields a record per logged step.

    Under `torchrun` every process takes its share of each batch. The batches are the same for any
    number of processes that divides the batch, and so, up to rounding, is the result.

    Trains on a GPU with CUDA (or ROCm) if there is one, else on the CPU. Other devices, such as
    Apple's, lack operations that `probe` may need.

    Raises:
        UserError: if the stream holds tokens beyond n_vocab, the processes do not divide the
            batch, or the state in `folder` is damaged or of another run.
        ValueError: if the precision is unknown.
    """

    def __init__(
        self,
        model: Transformer,
        config: TrainConfig,
        stream: Int[Tensor, " n_tokens"],
        folder: Path | None = None,
        every: int = 100,
        compile: bool | None = None,
        precision: str | None = None,
        probe: Callable[[Transformer], dict] | None = None,
    ):
        """Set up a run, or take up the one left in `folder`.

        `folder`: where the state is kept, every `every` steps; None keeps none.
        `compile`: whether to use `torch.compile`, which is about three times as fast; by default
        wherever there is a C++ compiler that works.
        `precision`: "bf16" or "no"; by default the faster one, see `hardware.precision`.
        `probe`: measures the model at every record; what it returns becomes part of the record.
        """
        if precision not in (None, "bf16", "no"):
            raise ValueError(f'precision is "{precision}" but must be "bf16" or "no"')
        if (highest := int(stream.max())) >= model.config.n_vocab:
            raise files.UserError(
                f"the text has token {highest} but n_vocab is {model.config.n_vocab}"
            )
        # Imported here, as only training needs it: analyses import this folder, too.
        from accelerate import Accelerator

        # Precision is ours: accelerate's is one for the whole process, and stays on the model.
        self.accelerator = Accelerator(mixed_precision="no", cpu=not torch.cuda.is_available())
        device = self.accelerator.device
        mixed = (precision or hardware.precision(device)) == "bf16"
        self.autocast = torch.autocast(device.type, torch.bfloat16, enabled=mixed)
        n_processes = self.accelerator.num_processes
        if config.batch % n_processes:
            raise files.UserError(
                f"batch is {config.batch} but {n_processes} processes do not divide it"
            )
        self.model, self.config, self.stream, self.every = model, config, stream, every
        self.probe = probe
        self.state_path = folder / "state.pt" if folder else None
        self.step, self.seconds = 0, 0.0
        self.log: list[dict[str, float]] = []
        model.to(device)
        self.optimizers = optimizers(model, config)
        self.peaks = [optimizer.param_groups[0]["lr"] for optimizer in self.optimizers]
        if self.state_path and self.state_path.exists():
            self._resume(self.state_path)
        self.wrapped = self.accelerator.prepare_model(model)
        self.loss = cross_entropy.loss_nats
        if compile is None:
            self.loss = hardware.compiled(self.loss)
        elif compile:
            self.loss = torch.compile(self.loss)

    def run(self) -> Iterator[dict[str, float]]:
        """Train to the end; every `every` steps, and at the last, keep the state and yield a record.

        Raises:
            FloatingPointError: if the loss stops being a number; the last good state is kept.
        """
        main = self.accelerator.is_main_process
        seen = sys.stderr.isatty() or "ipykernel" in sys.modules
        with tqdm(
            total=self.config.steps, initial=self.step, unit="step", disable=not (main and seen)
        ) as bar:
            yield from self._run(bar)
            if main and self.log and not sys.stderr.isatty():
                nats = self.log[-1]["loss_nats"]
                bar.write(f"trained {self.step} steps, {nats} nats per token on the last batch")

    def _run(self, bar: tqdm) -> Iterator[dict[str, float]]:
        tokens_per_step = self.config.batch * self.model.config.n_ctx
        started, first = time.perf_counter() - self.seconds, self.step
        fresh = time.perf_counter()
        while self.step < self.config.steps:
            value = self._one_step()
            self.step += 1
            bar.update()
            if self.step % self.every and self.step < self.config.steps:
                continue
            nats = float(value)
            if not math.isfinite(nats):
                raise FloatingPointError(
                    f"the loss is {nats} at step {self.step}; "
                    f"the state of step {self.log[-1]['step'] if self.log else 0} is the last good one"
                )
            self.seconds = time.perf_counter() - started
            speed = (self.step - first) * tokens_per_step / (time.perf_counter() - fresh)
            record = {
                "step": self.step, "tokens": self.step * tokens_per_step, "seconds": round(self.seconds, 1),
                "loss_nats": round(nats, 4), "tokens_per_second": round(speed),
            }  # fmt: skip
            if self.probe and self.accelerator.is_main_process:
                record |= self.probe(self.model)
            self.log.append(record)
            self._save()
            bar.set_postfix_str(f"{nats:.3f} nats, {speed:,.0f} tokens/s")
            yield record

    def _one_step(self) -> Tensor:
        factor = schedule(self.step, self.config)
        for optimizer, peak in zip(self.optimizers, self.peaks, strict=True):
            optimizer.param_groups[0]["lr"] = peak * factor
        inputs, targets = self._share()
        with self.autocast:
            loss = self.loss(self.wrapped, inputs, targets)
        self.accelerator.backward(loss)
        self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        return self.accelerator.reduce(loss.detach(), reduction="mean")

    def _share(self) -> tuple[Tensor, Tensor]:
        """This process's part of the step's batch, which depends on seed and step alone."""
        generator = torch.Generator().manual_seed(1_000_003 * self.config.seed + self.step)
        config, done = self.config, self.step / self.config.steps
        copies = config.copies if done >= config.copies_from else 0.0
        pair = windows.batch(
            self.stream, config.batch, self.model.config, copies=copies, generator=generator
        )
        rank, n = self.accelerator.process_index, self.accelerator.num_processes
        return tuple(part.chunk(n)[rank].to(self.accelerator.device) for part in pair)

    @property
    def _settings(self) -> str:
        """What a state belongs to: the shape of the model and the plan of the run."""
        return json.dumps([vars(self.model.config), vars(self.config)])

    def _save(self) -> None:
        if self.state_path is None or not self.accelerator.is_main_process:
            return
        state = {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "log": self.log,
            "settings": self._settings,
        }
        written = io.BytesIO()  # a full disk is then met by our own writing, which names the file
        torch.save(state, written)
        files.write_sealed(self.state_path, written.getvalue())

    def _resume(self, path: Path) -> None:
        content = files.read_sealed(path)
        if content is None:
            raise files.UserError(
                f"{path} is damaged, or was left by an older version of this code; "
                "delete it to start afresh"
            )
        device = self.accelerator.device
        state = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
        if state["settings"] != self._settings:
            raise files.UserError(
                f"{path} belongs to the run {state['settings']} but this one is {self._settings}; "
                "move it away to start afresh"
            )
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.log = state["log"]
        self.step, self.seconds = self.log[-1]["step"], self.log[-1]["seconds"]
