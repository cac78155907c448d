"""The claims of `data/claims.toml`: who makes each, what was reported, what counts for it here."""

from dataclasses import dataclass
from functools import cache

from transformer_circuits import files, settings

SOURCES = ("paper", "follow-up", "retelling")
KINDS = ("identity", "built", "trained")


@dataclass(frozen=True)
class Claim(settings.Table):
    """One row of `data/claims.toml`."""

    table = "claim"

    id: str
    source: str
    """"paper"; "follow-up", of the same authors or about the same models; "retelling"."""
    kind: str
    """"identity", for any weights; "built", of what was made to show it; "trained", of our models."""
    section: str
    """Where it is made: a section of the paper, or who says so."""
    statement: str
    reported: str
    """The figure reported there, or "qualitative"."""
    rule: str
    """What counts for it here; why nothing can, if it has no chapter."""
    chapter: str = ""
    """The notebook whose checks decide it; empty if it is not testable here."""

    def __post_init__(self):
        for name, among in (("source", SOURCES), ("kind", KINDS)):
            if (given := getattr(self, name)) not in among:
                raise ValueError(f'{self.id} has {name} "{given}" but it is one of {among}')


@cache
def read() -> dict[str, Claim]:
    """Every claim, by id, in the order of the file.

    Raises:
        UserError: naming the file, if it is not TOML, has no claims, a claim lacks a field, has an
            unknown one or one that is not as it must be, or an id comes twice.
    """
    path = files.data_dir() / "claims.toml"
    rows = files.read_toml(path).get("claim")
    if not isinstance(rows, list):
        raise files.damaged(path, "has no [[claim]]")
    found: dict[str, Claim] = {}
    for number, row in enumerate(rows, 1):
        try:
            claim = Claim.from_dict({"chapter": "", **row})
        except (TypeError, ValueError) as error:
            raise files.damaged(path, f"is not right in claim {number}: {error}") from error
        found[claim.id] = claim
    if len(found) < len(rows):
        raise files.damaged(path, f"has {len(rows)} claims but {len(found)} ids")
    return found


def testable(name: str) -> Claim:
    """The claim with this id.

    Raises:
        ValueError: if there is no such claim, or it counts as not testable.
    """
    claim = read().get(name)
    if claim is None or not claim.chapter:
        raise ValueError(f'data/claims.toml has no testable claim "{name}"')
    return claim
