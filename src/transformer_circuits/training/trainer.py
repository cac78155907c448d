"""The training loop, in one process; stopped at any moment, it resumes from its last record."""

import contextlib
import io
import math
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor
from tqdm.auto import tqdm

from transformer_circuits import files
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import windows
from transformer_circuits.training import hardware, recipe
from transformer_circuits.training.config import TrainConfig


class Trainer:
    """Training run: `for record in Trainer(...).run()` trains and yields a record per logged step.

    Trains on a GPU with CUDA (or ROCm) if there is one, else on the CPU. Other devices, such as
    Apple's, lack operations that `probe` may need.
    """

    def __init__(
        self,
        model: Transformer,
        config: TrainConfig,
        stream: Int[Tensor, " n_tokens"],
        folder: Path | None = None,
        *,
        every: int = 25,
        compile: bool | None = None,
        probe: Callable[[Transformer], dict] | None = None,
        repeat_weight: float = 1.0,
        differs: str = "",
    ):
        """Set up a run, or take up the one left in `folder`.

        `folder`: for the state, which is kept at every record; None keeps none.
        `every`: the fewest steps between two records.
        `compile`: whether to use `torch.compile`, about three times as fast; by default if it
        works.
        `probe`: measures the model at every record; its result becomes part of the record.
        `repeat_weight`: of targets in the loss that `windows.completes_repeat`; all others have 1.
        `differs`: the difference from other runs with the same model, config and text.
        """
        if (highest := int(stream.max())) >= model.config.n_vocab:
            raise files.UserError(
                f"the text has token {highest} but n_vocab is {model.config.n_vocab}"
            )
        self.model, self.config, self.stream, self.every = model, config, stream, every
        self.probe, self.repeat_weight, self.differs = probe, repeat_weight, differs
        self.state_path = folder / "state.pt" if folder else None
        self.step, self.seconds = 0, 0.0
        self.log: list[dict[str, float]] = []

        device = self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        mixed = hardware.has_bfloat16(device)
        self.autocast = torch.autocast(device.type, torch.bfloat16, enabled=mixed)
        self.stepping = contextlib.nullcontext() if mixed else hardware.WithoutBfloat16()
        model.to(device)
        recipe.normalise(model, config.rms_embed)
        self.optimizers = recipe.optimizers(model, config)
        self.peaks = [optimizer.param_groups[0]["lr"] for optimizer in self.optimizers]
        if self.state_path and self.state_path.exists():
            self._resume(self.state_path)
        self.loss = cross_entropy.loss_nats
        if compile or (compile is None and hardware.compiles(device)):
            for layer in model.layers:
                layer.attend = hardware.causal_blocks
            self.loss = torch.compile(self.loss)

    def run(self) -> Iterator[dict[str, float]]:
        """Train to the end; from time to time, and at the last step, keep the state and yield a record.

        Records are `every` steps apart or a twentieth of the steps made, whichever is more. If the
        loss stops being a number, a FloatingPointError is raised, and the last good state is kept.
        """
        terminal = sys.stderr.isatty()
        tokens_per_step = self.config.batch * self.model.config.n_ctx
        first, started = self.step, time.perf_counter()
        before = self.seconds
        with tqdm(
            total=self.config.steps,
            initial=self.step,
            unit="step",
            disable=not (terminal or "ipykernel" in sys.modules),
        ) as bar:
            while self.step < self.config.steps:
                loss = self._one_step()
                self.step += 1
                bar.update()
                if self.step < self._next_record():
                    continue
                nats, here = float(loss), time.perf_counter() - started
                if not math.isfinite(nats):
                    last = self.log[-1]["step"] if self.log else 0
                    raise FloatingPointError(
                        f"the loss is {nats} at step {self.step}; "
                        f"the state of step {last} is the last good one"
                    )
                self.seconds = before + here
                speed = (self.step - first) * tokens_per_step / here
                record = {
                    "step": self.step,
                    "tokens": self.step * tokens_per_step,
                    "seconds": round(self.seconds, 1),
                    "loss_nats": round(nats, 4),
                    "tokens_per_second": round(speed),
                }
                if self.probe:
                    record |= self.probe(self.model)
                self.log.append(record)
                self._save()
                bar.set_postfix_str(f"{nats:.3f} nats, {speed:,.0f} tokens/s")
                yield record
            if self.log and not terminal:
                nats = self.log[-1]["loss_nats"]
                bar.write(f"trained {self.step} steps, {nats} nats per token on the last batch")

    def _next_record(self) -> int:
        """Step of the next record: most changes early, so the intervals grow with the run."""
        last = self.log[-1]["step"] if self.log else 0
        return min(last + max(self.every, last // 20), self.config.steps)

    def _one_step(self) -> Tensor:
        """Make one step of all optimizers; returns the mean loss before it."""
        factor = recipe.schedule(self.step, self.config)
        for optimizer, peak in zip(self.optimizers, self.peaks, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = peak * factor
        inputs, targets = self._batch()
        seen = recipe.positions(self.step, self.config, self.model.config.n_layers)
        weights = None
        if self.repeat_weight != 1:
            repeats = windows.completes_repeat(inputs, targets)
            weights = torch.where(repeats, self.repeat_weight, 1.0)
        with self.autocast:
            loss = self.loss(
                self.model, inputs, targets, weights=weights, positions=seen.to(inputs.device)
            )
        loss.backward()
        # One odd batch, a table of numbers say, would throw a small model far off.
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            with self.stepping:
                optimizer.step()
            optimizer.zero_grad()
        recipe.normalise(self.model, self.config.rms_embed)
        return loss.detach()

    def _batch(self) -> tuple[Tensor, Tensor]:
        """Batch of the step, which depends on seed and step alone."""
        # More than a run has steps: no step of one seed draws the batch of another seed's.
        generator = torch.Generator().manual_seed(1_000_003 * self.config.seed + self.step)
        batch = windows.batch(
            self.stream, self.config.batch, self.model.config,
            best_of=self.config.best_of, generator=generator,
        )  # fmt: skip
        return tuple(part.to(self.device) for part in batch)

    @cached_property
    def _settings(self) -> str:
        """Settings that a state belongs to: the shape of the model, the plan of the run, and the text."""
        text = zlib.crc32(self.stream.contiguous().numpy())
        belongs = [vars(self.model.config), vars(self.config), f"text {text:08x}"]
        if self.repeat_weight != 1 or self.differs:
            belongs.append(f"repeats weigh {self.repeat_weight}; {self.differs}")
        return files.as_json(belongs)

    def _save(self) -> None:
        if self.state_path is None:
            return
        state = {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "log": self.log,
            "settings": self._settings,
        }
        written = io.BytesIO()  # a full disk is then met by our own writing, which names the file
        torch.save(state, written)
        with files.atomic(self.state_path) as temporary:
            temporary.write_bytes(written.getvalue())

    def _resume(self, path: Path) -> None:
        try:
            state = torch.load(path, self.device, weights_only=True)
        except Exception as error:  # torch raises whatever its reader of archives does
            raise files.UserError(
                f"{path} is damaged: {error}; move it away to start afresh"
            ) from error
        if state["settings"] != self._settings:
            raise files.UserError(
                f"{path} belongs to the run {state['settings']} but this one is "
                f"{self._settings}; move it away to start afresh"
            )
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.log = state["log"]
        self.step, self.seconds = self.log[-1]["step"], self.log[-1]["seconds"]
