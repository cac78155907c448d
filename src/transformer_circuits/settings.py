"""Frozen dataclasses that are tables of a TOML file: read strictly, written back."""

import math
from dataclasses import asdict, fields
from typing import Any, ClassVar

from transformer_circuits import files

_KINDS = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text",
          tuple: "a list of whole numbers"}  # fmt: skip


def _fits(value: Any, kind: type) -> bool:
    """True if a value is of a kind, taken strictly: 1.5 and true are no whole numbers."""
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    if kind is tuple:
        return type(value) in (list, tuple) and all(type(item) is int for item in value)
    return type(value) is kind


class Table:
    """Base of frozen dataclasses, each one table of a TOML file: numbers, lists of whole numbers, truth
    values and texts."""

    table: ClassVar[str]
    """Name of the table."""

    @classmethod
    def from_dict(cls, values: Any) -> "Table":
        """Build from a table, every value of which must be of the declared type.

        Raises:
            UserError: if a key is unknown or missing, or a value of another type.
        """
        kinds = {field.name: field.type for field in fields(cls)}
        if not isinstance(values, dict):
            raise files.UserError(f"{cls.table} is {values!r} but must be a table")
        unknown = sorted(values.keys() - kinds.keys())
        missing = sorted(kinds.keys() - values.keys())
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


def dumps(**tables: Any) -> str:
    """TOML text of tables, each a `Table` or a dictionary, in the given order.

    >>> print(dumps(model={"begin": True}, training={"corpus": "small"}), end="")
    [model]
    begin = true
    <BLANKLINE>
    [training]
    corpus = "small"
    """
    blocks = []
    for name, table in tables.items():
        values = asdict(table) if isinstance(table, Table) else table
        lines = [
            f"{key} = {files.as_json(value, ensure_ascii=False)}" for key, value in values.items()
        ]
        blocks.append("\n".join([f"[{name}]", *lines]))
    return "\n\n".join(blocks) + "\n"
