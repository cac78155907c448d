"""How a model is trained, and what its weights were trained from: two tables of `config.toml`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_circuits import files
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.settings import Table


@dataclass(frozen=True)
class TrainConfig(Table):
    """One training run. Steps and batches are counted over all processes together."""

    table = "training"

    seed: int
    """From 0 to 2³² - 1."""
    steps: int
    batch: int
    """Sequences per step."""
    lr_embed: float
    """Peak learning rate of AdamW, for W_E and W_U."""
    lr_attention: float
    """Peak learning rate of Muon, for W_Q, W_K, W_V and W_O."""
    warmup_steps: int
    decay_from: float
    """Fraction of the run after which the learning rate falls linearly to 0."""
    corpus: str
    """Which profile of the corpus, "small" or "full"."""
    copies: float = 0.0
    """Share of each batch's windows in which a passage comes twice; 0 for natural text alone."""
    copies_from: float = 0.0
    """Fraction of the run that comes before the first such window."""

    def __post_init__(self):
        for names, holds, expected in (
            (("seed",), lambda v: 0 <= v < 2**32, "lie between 0 and 2**32 - 1"),
            (("steps", "batch", "warmup_steps"), lambda v: v >= 1, "be at least 1"),
            (("lr_embed", "lr_attention"), lambda v: v > 0, "be positive"),
            (("decay_from",), lambda v: 0 <= v < 1, "lie in [0, 1)"),
            (("copies", "copies_from"), lambda v: 0 <= v <= 1, "lie in [0, 1]"),
            (("corpus",), lambda v: v in ("small", "full"), 'be "small" or "full"'),
        ):
            for name in names:
                value = getattr(self, name)
                self._require(holds(value), name, value, expected)


@dataclass(frozen=True)
class Provenance(Table):
    """What the weights were trained from, so that a mismatch is detected."""

    table = "provenance"

    corpus_sha256: str
    tokenizer_sha256: str
    weights_sha256: str
    torch: str
    tokens: int
    """Training tokens seen."""


def read(path: Path, *needed: str) -> dict[str, Any]:
    """The tables of a `config.toml`: `model`, `training` and `provenance` as their dataclasses.

    Raises:
        UserError: naming the file, if it is not TOML, a `needed` table is missing, or one of the
            three has unknown, missing or invalid keys.
    """
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
