"""The claims of `data/claims.toml`: who makes each, what was reported, what counts for it here."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from transformer_circuits import files, settings

SOURCES = ("paper", "follow-up", "retelling")
KINDS = ("identity", "built", "trained")
UNTESTED = ("not done", "not testable here")
"""What becomes of a claim without a chapter: our models could tell, or they could not."""


@dataclass(frozen=True)
class Claim(settings.Table):
    """One row of `data/claims.toml`."""

    table = "claim"

    id: str
    source: str
    """"paper"; "follow-up", of the same authors, about the same models, or a reading of ours;
    "retelling"."""
    kind: str
    """"identity", for any weights; "built", of what was made to show it; "trained", of our models."""
    section: str
    """Where it is made: a section of the paper, or who says so; "… of this book", if nobody else does."""
    statement: str
    reported: str
    """The figure reported there, or "qualitative"."""
    rule: str
    """What counts for it here; why it was not tested, if it has no chapter."""
    chapter: str = ""
    """The notebook that decides it; empty if none does."""
    untested: str = UNTESTED[-1]
    """One of `UNTESTED`, of a claim without a chapter."""
    retracted: str = ""
    """Where its authors took it back or changed it; empty if they did not."""

    def __post_init__(self):
        for name, among in (("source", SOURCES), ("kind", KINDS), ("untested", UNTESTED)):
            if (given := getattr(self, name)) not in among:
                raise ValueError(f'{self.id} has {name} "{given}" but it is one of {among}')

    @property
    def own(self) -> bool:
        """Whether it is a belief or a reading of ours, so that a verdict on it is none on others."""
        return "of this book" in self.section


@dataclass(frozen=True)
class Rule(settings.Table):
    """The table `[claim.decided]` of a claim about trained models: when it counts as reproduced."""

    table = "claim.decided"

    of: str
    """The model it is measured on, for every seed of it."""
    side: str
    """Where the claim says that what is measured lies: "above" or "below" the threshold."""
    threshold: float
    threshold_from: str
    """Who sets it, or why it is this."""
    registered: str
    """When the rule was written down: commit and date, before the final models were measured; or what
    was mended afterwards, or that git does not prove it ("unproven")."""

    def __post_init__(self):
        self._require(self.side in ("above", "below"), "side", self.side, "be above or below")


def _of_row(row: Any) -> tuple[Claim, Rule | None]:
    decided = row.get("decided")
    words = {name: value for name, value in row.items() if name != "decided"}
    claim = Claim.from_dict({"chapter": "", "untested": UNTESTED[-1], "retracted": "", **words})
    return claim, None if decided is None else Rule.from_dict(decided)


@cache
def _file() -> dict[str, tuple[Claim, Rule | None]]:
    path = files.data_dir() / "claims.toml"
    rows = files.read_toml(path).get("claim")
    if not isinstance(rows, list):
        raise files.damaged(path, "has no [[claim]]")
    found = {}
    for number, row in enumerate(rows, 1):
        try:
            claim, rule = _of_row(row)
        except (AttributeError, TypeError, ValueError) as error:
            raise files.damaged(path, f"is not right in claim {number}: {error}") from error
        found[claim.id] = claim, rule
    if len(found) < len(rows):
        raise files.damaged(path, f"has {len(rows)} claims but {len(found)} ids")
    return found


def read() -> dict[str, Claim]:
    """Every claim, by id, in the order of the file.

    Raises:
        UserError: naming the file, if it is not TOML, has no claims, a claim or a rule lacks a field,
            has an unknown one or one that is not as it must be, or an id comes twice.
    """
    return {name: claim for name, (claim, _) in _file().items()}


def rules() -> dict[str, Rule]:
    """The rule of each claim about trained models that has one, by the claim's id."""
    return {name: rule for name, (_, rule) in _file().items() if rule is not None}


def testable(name: str) -> Claim:
    """The claim with this id.

    Raises:
        ValueError: if there is no such claim, or it counts as not testable.
    """
    claim = read().get(name)
    if claim is None or not claim.chapter:
        raise ValueError(f'data/claims.toml has no testable claim "{name}"')
    return claim
