"""A claim: who says what, when it counts here, and the sentence for what came out.

A claim about trained models stands at the function that measures it (`measurement.claim`). Identities,
constructions, and what was not tested, are rows of `data/claims.toml`.
"""

from dataclasses import dataclass
from functools import cache

from transformer_circuits import files

SOURCES = ("paper", "follow-up")
KINDS = ("identity", "built", "trained")
UNTESTED = ("not done", "not testable here")
"""What becomes of a claim without a chapter: our models could tell, or they could not."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is said, and what decides it; the second half is for claims about trained models alone."""

    id: str
    statement: str
    source: str
    """"paper"; "follow-up", of the same authors or about the same models."""
    section: str
    """Where it is made: a section of the paper, or who says so."""
    reported: str
    """The figure reported there, or "qualitative"."""
    rule: str
    """What counts for it here; why it was not tested, if it has no chapter."""
    chapter: str = ""
    """The notebook that decides it; empty if none does."""
    kind: str = "trained"
    """"identity", for any weights; "built", of what was made to show it; "trained", of our models."""
    untested: str = UNTESTED[-1]
    """One of `UNTESTED`, of a claim without a chapter."""
    corrected: str = ""
    """Where its authors took it back or changed it; empty if they did not."""

    of: str = ""
    """The model it is measured on, for every seed of it; empty if no rule decides it."""
    side: str = ""
    """Where the claim says that what is measured lies: "above" or "below" the threshold."""
    threshold: float = 0.0
    threshold_from: str = ""
    """Who sets the threshold, or why it is this."""
    registered: str = ""
    """When the rule was written down: commit and date, before the final models were measured; or what
    was mended afterwards, or that git does not prove it ("unproven")."""
    sometimes: bool = False
    """Whether it is claimed of some models only, so that one seed shows it and no few refute it."""
    verdict: str = ""
    """The verdict that `found` was written for."""
    found: str = ""
    """What is the case, with places for numbers, see `findings.say`; other verdicts have a general sentence."""
    unit: str = ""
    """What the numbers of the sentence are numbers of."""
    whether: str = ""
    """The statement as a part of a general sentence, where it does not fit as it is."""

    def __post_init__(self):
        for name, among in (("source", SOURCES), ("kind", KINDS), ("untested", UNTESTED)):
            if (given := getattr(self, name)) not in among:
                raise ValueError(f'{self.id} has {name} "{given}" but it is one of {among}')
        if self.of and self.side not in ("above", "below"):
            raise ValueError(f'{self.id} has side "{self.side}" but it must be above or below')

    @property
    def by(self) -> str:
        """Who says so, inside a sentence."""
        if self.source == "paper":
            return "the paper, before its Correction" if self.corrected else "the paper"
        return "the paper's Correction" if self.section.startswith("Correction") else self.section


@cache
def table() -> dict[str, Claim]:
    """The claims that no rule decides, by id, in the order of `data/claims.toml`."""
    rows = files.read_toml(files.data_dir() / "claims.toml")["claim"]
    return {row["id"]: Claim(**row) for row in rows}
