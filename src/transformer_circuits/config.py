"""What a model is, how it was trained and what came of it: frozen dataclasses, read and written as TOML."""

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from transformer_circuits import files

_KINDS = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text"}


def _fits(value: Any, kind: type) -> bool:
    """Whether a value is of a kind, taken strictly: 1.5 and true are no whole numbers."""
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is kind


class Table:
    """A dataclass of numbers, truth values and texts that is one table of a TOML file."""

    table: ClassVar[str]

    @classmethod
    def from_dict(cls, values: Any) -> "Table":
        """Build from a table, every value of which must be of the declared type.

        Raises:
            UserError: if it is no table, has a key the class does not have or misses one, or a
                value is not as it must be.
        """
        kinds = {field.name: field.type for field in fields(cls)}
        if not isinstance(values, dict):
            raise files.UserError(f"{cls.table} is {values!r} but must be a table")
        unknown, missing = (
            sorted(values.keys() - kinds.keys()),
            sorted(kinds.keys() - values.keys()),
        )
        if unknown or missing:
            raise files.UserError(
                f"[{cls.table}] has unknown keys {unknown} and misses {missing}; "
                f"it takes exactly {sorted(kinds)}"
            )
        for name, value in values.items():
            cls._require(_fits(value, kinds[name]), name, value, f"be {_KINDS[kinds[name]]}")
        return cls(**{name: kinds[name](value) for name, value in values.items()})

    @classmethod
    def _require(cls, holds: bool, name: str, value: Any, expected: str) -> None:
        if not holds:
            raise files.UserError(f"[{cls.table}] {name} is {value!r} but must {expected}")


@dataclass(frozen=True)
class ModelConfig(Table):
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
            least = 0 if field.name in ("n_layers", "d_mlp") else 1
            value = getattr(self, field.name)
            self._require(value >= least, field.name, value, f"be at least {least}")
        even = self.d_model % 2 == 0
        self._require(even, "d_model", self.d_model, "be even: sinusoids come in pairs")


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
    """Share of each batch's windows in which a passage comes twice; 0 is natural text alone."""
    copies_from: float = 0.0
    """Fraction of the run after which there are such windows."""

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
    """Where weights come from: enough to train them again, and to notice when they are others."""

    table = "provenance"

    corpus_sha256: str
    tokenizer_sha256: str
    weights_sha256: str
    torch: str
    tokens: int
    """Training tokens seen."""


def read(path: Path, *needed: str) -> dict[str, Any]:
    """The tables of a TOML file; `model`, `training` and `provenance` come as their dataclasses.

    Raises:
        UserError: naming the file, if it is not TOML, a table that is `needed` is not there, or
            one of the three is not as it must be.
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


def dumps(**tables: Any) -> str:
    """TOML text of flat tables of numbers and strings, in the given order."""
    blocks = []
    for name, table in tables.items():
        values = asdict(table) if isinstance(table, Table) else table
        lines = [
            f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()
        ]
        blocks.append("\n".join([f"[{name}]", *lines]))
    return "\n\n".join(blocks) + "\n"
