"""Training plan and provenance of a model: two tables of `config.toml`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_circuits import files
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.settings import Table


@dataclass(frozen=True)
class TrainConfig(Table):
    """Plan of one training run."""

    table = "training"

    seed: int
    """From 0 to 2³² - 1."""
    steps: int
    batch: int
    """Sequences per step."""
    lr_embed: float
    """Peak learning rate of AdamW, for W_E and W_U."""
    lr_attention: float
    """Peak learning rate of Muon, for W_Q, W_K, W_V and W_O, and the weights of MLPs."""
    warmup_steps: int
    decay_from: float
    """Fraction of the run after which the learning rate falls linearly to 0."""
    corpus: str
    """Profile of the corpus, "small" or "full"."""
    best_of: int = 1
    """Windows drawn near each other for each that is trained on, the one that repeats itself most:
    see `windows.batch`. From repeats induction can be learned.
    """
    decay_unembed: float = 0.0
    """Decoupled weight decay of W_U: each step takes the learning rate times this part off it."""
    decay_attention: float = 0.0
    """Decoupled weight decay of the weights of `lr_attention`, where noise of small batches would pile up.
    """
    rms_embed: float = 0.0
    """Root mean square of each token's embedding, to which it is scaled after every step; 0 leaves
    it free. A decay in its place would wear down the embeddings of rare tokens most."""
    blind_steps: int = 0
    """Steps in which layers after the first see no positions, before half as many in which these
    grow to full strength. 0 shows them from the start.
    """
    checkpoints: tuple = ()
    """Steps after which the weights are kept, too, in order. Each is that of a record, or the first
    record after it counts.
    """

    def __post_init__(self):
        for names, holds, expected in (
            (("seed",), lambda v: 0 <= v < 2**32, "lie between 0 and 2**32 - 1"),
            (("steps", "batch", "warmup_steps", "best_of"), lambda v: v >= 1, "be at least 1"),
            (("lr_embed", "lr_attention"), lambda v: v > 0, "be positive"),
            (
                ("decay_unembed", "decay_attention", "rms_embed", "blind_steps"),
                lambda v: v >= 0,
                "be at least 0",
            ),
            (("decay_from",), lambda v: 0 <= v < 1, "lie in [0, 1)"),
            (("corpus",), lambda v: v in ("small", "full"), 'be "small" or "full"'),
            (
                ("checkpoints",),
                lambda v: list(v) == sorted(set(v)) and all(0 < step < self.steps for step in v),
                f"be steps from 1 to {self.steps - 1}, in order",
            ),
        ):
            for name in names:
                value = getattr(self, name)
                self._require(holds(value), name, value, expected)


@dataclass(frozen=True)
class Provenance(Table):
    """Sources of the weights, so that a mismatch is detected."""

    table = "provenance"

    corpus_sha256: str
    tokenizer_sha256: str
    weights_sha256: str
    torch: str
    tokens: int
    """Training tokens seen."""


def read(path: Path, *needed: str) -> dict[str, Any]:
    """Tables of a `config.toml`: `model`, `training` and `provenance` as their dataclasses."""
    tables = files.read_toml(path)
    if absent := [name for name in needed if name not in tables]:
        raise files.damaged(path, f"has no table {absent}")
    for kind in (ModelConfig, TrainConfig, Provenance):
        if kind.table in tables:
            try:
                tables[kind.table] = kind.from_dict(tables[kind.table])
            except files.UserError as error:
                raise files.damaged(path, f"is not right: {error}") from error
    return tables
