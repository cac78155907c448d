"""Claim: who makes it, when it counts here, and the sentence for its result.

A claim about trained models stands at the function that measures it (`measurement.claim`).
Identities, constructions and untested claims are rows of `data/claims.toml`.
"""

from dataclasses import dataclass
from functools import cache

from transformer_circuits import files

SOURCES = ("paper", "follow-up")
KINDS = ("identity", "built", "trained")
UNTESTED = ("not done", "not testable here")
"""Status of a claim without a chapter: our models could tell, or they could not."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Statement, and the rule that decides it; the second half is for claims about trained models alone."""

    id: str
    statement: str
    source: str = SOURCES[0]
    """"paper"; or "follow-up", of the same authors or about the same models."""
    section: str
    """Section of the paper where it is made, or other source."""
    reported: str = "qualitative"
    """Figure reported there, if there is one."""
    rule: str = ""
    """Statement that a chapter checks; without a chapter, the reason why the claim was not tested.
    Empty for a claim with a threshold, whose rule is the measured value and the threshold.
    """
    chapter: str = ""
    """Notebook that decides it; empty if none does."""
    kind: str = "trained"
    """"identity", for any weights; "built", of a construction that shows it; "trained", of our models."""
    untested: str = UNTESTED[-1]
    """Status of a claim without a chapter, one of `UNTESTED`."""
    corrected: str = ""
    """Place where its authors took it back or changed it; empty if they did not."""

    of: str = ""
    """Model on which it is measured, for every seed; empty if no rule decides it."""
    side: str = ""
    """Side of the threshold on which the claim puts the measured value: "above" or "below"."""
    threshold: float = 0.0
    threshold_from: str = ""
    """Source of the threshold, or the reason for it."""
    sometimes: bool = False
    """True if the claim is of some models only, so that one seed shows it and a few do not refute it."""
    verdict: str = ""
    """Verdict that `found` was written for."""
    found: str = ""
    """Finding in a sentence, with places for numbers, see `findings.say`; for other verdicts, a
    general one.
    """
    unit: str = ""
    """Unit of the numbers of the sentence."""
    whether: str = ""
    """Statement as a part of a general sentence, where the plain statement does not fit."""

    def __post_init__(self):
        for name, among in (("source", SOURCES), ("kind", KINDS), ("untested", UNTESTED)):
            if (value := getattr(self, name)) not in among:
                raise ValueError(f'{self.id} has {name} "{value}" but it is one of {among}')
        if self.of and self.side not in ("above", "below"):
            raise ValueError(f'{self.id} has side "{self.side}" but it must be above or below')

    @property
    def by(self) -> str:
        """Name of who makes the claim, inside a sentence."""
        if self.source == "paper":
            return "the paper, before its Correction" if self.corrected else "the paper"
        return "the paper's Correction" if self.section.startswith("Correction") else self.section


@cache
def table() -> dict[str, Claim]:
    """Claims that no rule decides, by id, in the order of `data/claims.toml`."""
    rows = files.read_toml(files.data_dir() / "claims.toml")["claim"]
    return {row["id"]: Claim(**row) for row in rows}


@cache
def registered() -> dict[str, str]:
    """Commit that wrote down the rule of each claim, and later amendments, from `data/registered.toml`."""
    return files.read_toml(files.data_dir() / "registered.toml")
