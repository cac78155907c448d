"""The study of size, as it was recorded: the lines of `data/study/runs.jsonl`, by width.

`claims.sizes` measures what is in them. A line is there as soon as its training has ended, so runs
may have fewer seeds than planned, or none yet.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from transformer_circuits import files
from transformer_circuits.experiments import plan

STORED, WHITE = "estimates", "estimates_white"
"""In which basis of the stream an estimate was made: as training left it, or white on text."""
OWN_WIDTH = 384
"""d_model of the book's own two-layer models."""
ENOUGH_HEADS = 4
"""Models with fewer heads in a layer are left out of trends: there is little among which to choose."""
Trend = Literal["nearer", "farther", "neither"]
MEASURED = "2026-11-28"
"""What a line has under `measured`, if it was measured as rules do since they were last mended."""
MENDED: dict[str, str] = {"value-weighted": "2026-11-28"}
"""When a claim's rule was mended after that, so that older lines say nothing of what it asks now."""


@dataclass(frozen=True)
class Trained:
    """One training of the study, and what was measured on its model."""

    line: dict[str, Any]
    """As in the file; see `claims.sizes.measured`."""

    @property
    def width(self) -> int:
        """d_model."""
        return self.line["shape"]["d_model"]

    @property
    def n_heads(self) -> int:
        """In a layer."""
        return self.line["shape"]["n_heads"]

    @property
    def crowded(self) -> bool:
        """Whether its heads write more than the stream has room for."""
        return self.n_heads * self.line["shape"]["d_head"] > self.width

    @property
    def normed(self) -> bool:
        """Whether a norm stands before every read, see `general.with_norm`."""
        return self.line["choices"].get("norm", False)

    @property
    def tokens(self) -> int:
        """Read in training."""
        return self.line["choices"]["tokens"]

    @property
    def seed(self) -> int:
        return self.line["seed"]

    @property
    def loss(self) -> float:
        """On held-out text. [nats per token]"""
        return self.line["held_out"]["nats_per_token"]

    def interval(self, claim: str, basis: str = STORED) -> tuple[float, float, float, int] | None:
        """Mean, ends and number of units of what the claim's rule measures; None if there is none.

        There is none of a claim whose measurement was mended after this model was measured.
        """
        if self.line.get("measured", "") < MENDED.get(claim, ""):
            return None
        measured = self.line[basis].get(claim, {})
        if "mean" not in measured:
            return None
        return measured["mean"], measured["low"], measured["high"], measured["n"]


def read(*, normed: bool = False) -> list[Trained]:
    """Every training that was recorded: by proportions, tokens, width, seed.

    `normed`: those of the models with a norm instead, which are no part of the curves over width.
    """
    lines = map(Trained, files.read_json_lines(plan.study().parent / "runs.jsonl"))
    return sorted(
        (model for model in lines if model.normed == normed),
        key=lambda model: (model.crowded, model.tokens, model.width, model.seed),
    )


def in_width_alone(*, normed: bool = False) -> dict[int, list[Trained]]:
    """Those of the paper's proportions, by how many tokens they read, the fewest first.

    Trainings of one entry differ in nothing but width and seed; those of the last entry read as many
    tokens as the book's own models, which are among them. `normed`: see `read`.
    """
    by_tokens: dict[int, list[Trained]] = {}
    for model in read(normed=normed):
        if not model.crowded:
            by_tokens.setdefault(model.tokens, []).append(model)
    return by_tokens


def by_width(trained: Sequence[Trained]) -> dict[int, list[Trained]]:
    """The trainings of each width, narrow to wide."""
    widths = sorted({model.width for model in trained})
    return {width: [model for model in trained if model.width == width] for width in widths}


def trend(
    trained: Sequence[Trained], claim: str, side: Literal["above", "below"], basis: str = STORED
) -> Trend:
    """Whether the widest models lie nearer to what is claimed than the narrowest, or farther.

    Each seed of the widest must lie to one side of every seed of the narrowest. `side`: where the
    claim says that its measure lies. Models with fewer than `ENOUGH_HEADS` are left out.
    """
    enough = by_width([model for model in trained if model.n_heads >= ENOUGH_HEADS])
    means_of_ends = [
        [interval[0] for model in enough[width] if (interval := model.interval(claim, basis))]
        for width in (min(enough), max(enough))
    ]
    narrow, wide = (
        [mean if side == "above" else -mean for mean in means] for means in means_of_ends
    )
    if not narrow or not wide or min(enough) == max(enough):
        return "neither"
    if min(wide) > max(narrow):
        return "nearer"
    return "farther" if max(wide) < min(narrow) else "neither"


def by_luck(n: int, m: int) -> float:
    """How often n seeds lie on one side of m others, on either, if width does nothing.

    >>> round(by_luck(2, 2), 3), by_luck(3, 3)
    (0.333, 0.1)
    """
    return 2 / math.comb(n + m, n)
