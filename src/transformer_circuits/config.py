"""What a model is and how it was trained: two frozen dataclasses, read from and written to TOML."""

import json
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any


class _Table:
    """A dataclass that is one table of a TOML file."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "_Table":
        """Build from a table.

        Raises:
            ValueError: on a key the class does not have, or a key of it that is missing.
        """
        known = {field.name for field in fields(cls)}
        unknown, missing = sorted(values.keys() - known), sorted(known - values.keys())
        if unknown or missing:
            raise ValueError(
                f"[{cls.table}] has unknown keys {unknown} and misses {missing}; "
                f"it takes exactly {sorted(known)}"
            )
        return cls(**values)


@dataclass(frozen=True)
class ModelConfig(_Table):
    """The shape of a transformer, attention-only unless it has `d_mlp`. Names are the paper's (appendix "Notation")."""

    table = "model"

    n_layers: int
    n_heads: int
    d_model: int
    d_head: int
    n_vocab: int
    n_ctx: int
    position_base: float
    """Ratio of the highest to (about) the lowest frequency of the sinusoidal positions."""
    begin: bool = True
    """Whether every context opens with BEGIN; else it stands only where a document begins."""
    d_mlp: int = 0
    """Neurons of the MLP after each attention layer; 0 where there are none, as in the paper."""

    def __post_init__(self):
        for field in (field for field in fields(self) if field.name != "begin"):
            value = getattr(self, field.name)
            least = 0 if field.name in ("n_layers", "d_mlp") else 1
            if value < least:
                raise ValueError(f"{field.name} is {value} but must be at least {least}")
        if self.d_model % 2:
            raise ValueError(f"d_model is {self.d_model} but sinusoids come in pairs: make it even")


@dataclass(frozen=True)
class TrainConfig(_Table):
    """One training run. Steps and batches are counted over all processes together."""

    table = "training"

    seed: int
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
    """Share of each batch's windows in which a passage comes twice; 0 is natural text alone."""
    copies_from: float = 0.0
    """Fraction of the run after which there are such windows."""

    def __post_init__(self):
        if min(self.steps, self.batch, self.warmup_steps) < 1:
            raise ValueError(
                f"steps is {self.steps}, batch {self.batch}, warmup_steps {self.warmup_steps}; "
                "each must be at least 1"
            )
        if not 0 <= self.decay_from < 1:
            raise ValueError(f"decay_from is {self.decay_from} but must lie in [0, 1)")
        for name in ("copies", "copies_from"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)} but must lie in [0, 1]")


def read(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; `model` and `training` come as their dataclasses.

    Raises:
        ValueError: if the file is not TOML or one of the two tables is not as it must be.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        for kind in (ModelConfig, TrainConfig):
            if kind.table in tables:
                tables[kind.table] = kind.from_dict(tables[kind.table])
    except (tomllib.TOMLDecodeError, ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    return tables


def dumps(**tables: Any) -> str:
    """TOML text of flat tables of numbers and strings, in the given order."""
    blocks = []
    for name, table in tables.items():
        values = asdict(table) if isinstance(table, _Table) else table
        lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        blocks.append("\n".join([f"[{name}]", *lines]))
    return "\n\n".join(blocks) + "\n"
