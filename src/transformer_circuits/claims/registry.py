"""The claims of `data/claims.toml`: who makes each, what was reported, what counts for it here."""

from dataclasses import dataclass
from functools import cache

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
    corrected: str = ""
    """Where its authors added to it, changed it or took it back; empty if they did not."""

    def __post_init__(self):
        for name, among in (("source", SOURCES), ("kind", KINDS), ("untested", UNTESTED)):
            if (given := getattr(self, name)) not in among:
                raise ValueError(f'{self.id} has {name} "{given}" but it is one of {among}')

    @property
    def own(self) -> bool:
        """Whether it is a belief or a reading of ours, so that a verdict on it is none on others."""
        return "of this book" in self.section

    @property
    def by(self) -> str:
        """Who says so, inside a sentence."""
        if self.own:
            return f"this book{self.section.partition('of this book')[2]}"
        if self.source == "paper":
            return "the paper, before its Correction" if self.corrected else "the paper"
        return "the paper's Correction" if self.section.startswith("Correction") else self.section


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
    sometimes: bool = False
    """Whether it is claimed of some models only, so that one seed shows it and no few refute it."""

    def __post_init__(self):
        self._require(self.side in ("above", "below"), "side", self.side, "be above or below")


@cache
def _file() -> dict[str, tuple[Claim, Rule | None]]:
    by_id = {}
    for row in files.read_toml(files.data_dir() / "claims.toml")["claim"]:
        words = {name: value for name, value in row.items() if name != "decided"}
        claim = Claim.from_dict({"chapter": "", "untested": UNTESTED[-1], "corrected": "", **words})
        rule = Rule.from_dict({"sometimes": False, **row["decided"]}) if "decided" in row else None
        by_id[claim.id] = claim, rule
    return by_id


def read() -> dict[str, Claim]:
    """Every claim, by id, in the order of the file."""
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
