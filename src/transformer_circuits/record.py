"""What an output of a chapter holds as data: one record, which all that comes after its cell reads.

A figure, a table, a check, a verdict, a paragraph of findings, the stage and each of its steps leave one in the metadata of their output, beside the
picture or the page that people see. Jupyter, nbmake and MyST-NB pass metadata on as they are. The
index of figures, the slides, the README, the scorecard and the manifest are made of records; nothing
reads back HTML, SVG or PNG.
"""

import base64
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

KEY = "record"
"""Where it stands in an output's metadata."""
MOST = 2000
"""An array of more numbers than that is kept as a summary."""
SOME = 50
"""How many of its numbers a summary has, at most."""
PRECISION = 6
"""How many significant digits of a number are kept."""
SVG, PNG = "image/svg+xml", "image/png"
"""The kinds of pictures that an output has beside its HTML."""

Kind = Literal["figure", "table", "check", "verdict", "paragraph", "stage", "step"]
Kept = float | int | None | list | dict
"""Numbers as JSON has them, see `kept`."""


@dataclass(frozen=True)
class Record:
    """What one output holds."""

    kind: Kind
    title: str
    """A figure's or a table's caption; the statement of a check or a verdict; what a paragraph is about."""
    text: str = ""
    """The text alternative, or our figure in words; empty where the title says it all."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """By name a number or an array of them; `kept` once the record is made."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units by the names of numbers, or by what stands behind their last colon: "x" of "loss: x"."""
    words: Mapping[str, Iterable[object]] = field(default_factory=dict)
    """What is no number, by name: the labels of an axis, a column of a table, the tokens of a text."""
    digits: int | None = None
    """To how many decimals the numbers are shown, if they are shown as text."""
    picture: str = ""
    """Which of the output's data is its picture, `SVG` or `PNG`; empty if none is."""
    claim: str = ""
    """The claim that it says something about, by its id, see `claims.catalogue`."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What its kind alone has, as JSON: what a verdict rests on."""

    def __post_init__(self):
        numbers = {name: kept(values) for name, values in self.numbers.items()}
        if odd := {*self.units} - {*numbers, *(name.rpartition(": ")[2] for name in numbers)}:
            raise ValueError(f"units of {sorted(odd)} are given but numbers are of {[*numbers]}")
        object.__setattr__(self, "numbers", numbers)
        words = {name: [*map(str, values)] for name, values in self.words.items()}
        object.__setattr__(self, "words", words)

    @property
    def id(self) -> str:
        """By which links find it: of its claim, else of its kind and title."""
        return f"claim-{self.claim}" if self.claim else f"{self.kind}-{slug(self.title)}"

    @property
    def metadata(self) -> dict:
        """The metadata of its output."""
        return {KEY: {"id": self.id, **asdict(self)}}


def of(output: Mapping) -> dict | None:
    """The record that an output of an executed copy has, if it has one."""
    return output.get("metadata", {}).get(KEY)


def picture(output: Mapping) -> bytes:
    """The picture of an output that has a record; empty if it has none."""
    kind = of(output)["picture"]
    data = "".join(output["data"].get(kind, ""))
    return data.encode() if kind == SVG else base64.b64decode(data)


def slug(title: str) -> str:
    """A title as a part of an address.

    >>> slug("Nats, per token")
    'nats-per-token'
    """
    return re.sub(r"[\W_]+", "-", title.lower()).strip("-")


def kept(values: Any) -> Kept:
    """A number or an array as JSON, to `PRECISION` significant digits; None for what is not finite.

    Of more than `MOST` numbers a summary: shape, mean, standard deviation, least and most of those
    that are finite, and every k-th of all, row by row, so that there are at most `SOME`. A summary
    stays as it is.

    >>> kept([0.12345678, 2.0])
    [0.123457, 2]
    """
    if isinstance(values, dict):  # a summary already
        return values
    array = np.asarray(values, dtype=float)
    if array.size <= MOST:
        return _rounded(array.tolist())
    finite, step = array[np.isfinite(array)], -(-array.size // SOME)
    return {
        "shape": [*array.shape],
        "mean": _rounded(float(finite.mean())),
        "sd": _rounded(float(finite.std())),
        "min": _rounded(float(finite.min())),
        "max": _rounded(float(finite.max())),
        "step": step,
        "some": _rounded(array.ravel()[::step].tolist()),
    }


def _rounded(values: float | list) -> Kept:
    if isinstance(values, list):
        return [_rounded(value) for value in values]
    if not math.isfinite(values):
        return None
    short = float(f"{values:.{PRECISION}g}")
    return int(short) if short.is_integer() else short
