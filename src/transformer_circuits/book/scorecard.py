"""What the executed chapters found about each claim, and the verdict that follows.

A chapter registers evidence with `book.check(..., claim="id")`. It stands with the other outputs
of its executed copy, so half a chapter, or one executed with other code, has decided nothing.
"""

from dataclasses import dataclass, field

from transformer_circuits import files
from transformer_circuits.book import claims, notebooks
from transformer_circuits.book.claims import Claim

VERDICTS = ("reproduced", "partly", "not reproduced", "not testable here")


@dataclass
class Evidence:
    """What a chapter found about a claim: the statements it checked, for and against."""

    speaks_for: list[str] = field(default_factory=list)
    speaks_against: list[str] = field(default_factory=list)
    ours: list[str] = field(default_factory=list)
    """Our figures, in words."""


def evidence() -> dict[str, Evidence]:
    """What the executed chapters found about each testable claim, by its id.

    Raises:
        UserError: naming the chapters, if some were not executed with the present code.
    """
    chapters = sorted({claim.chapter for claim in claims.read().values() if claim.chapter})
    copies = notebooks.fresh()
    if missing := [chapter for chapter in chapters if chapter not in copies]:
        raise files.UserError(f"not executed with this code: {', '.join(missing)}; run `make book`")
    found: dict[str, Evidence] = {}
    for chapter in chapters:
        for check in checks(copies[chapter]):
            if name := check.get("claim"):
                of_claim = found.setdefault(name, Evidence())
                side = of_claim.speaks_against if check["against"] else of_claim.speaks_for
                side.append(check["statement"])
                of_claim.ours += [check["ours"]] if check["ours"] else []
    return found


def checks(copy: dict) -> list[dict]:
    """Every `book.check` that an executed copy shows, from first to last."""
    return [
        output["metadata"]["check"]
        for output in notebooks.outputs(copy)
        if "check" in output.get("metadata", {})
    ]


def verdict(claim: Claim, found: Evidence | None) -> str:
    """One of `VERDICTS`: all evidence for it, some against, all against; or untestable.

    Raises:
        ValueError: if nothing was found about a testable claim.
    """
    if not claim.chapter:
        return VERDICTS[3]
    if found is None:
        raise ValueError(f"{claim.chapter} was executed and has no evidence for {claim.id}")
    if not found.speaks_against:
        return VERDICTS[0]
    return VERDICTS[1] if found.speaks_for else VERDICTS[2]
