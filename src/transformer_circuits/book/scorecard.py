"""What the executed chapters found about each claim, and the verdict that follows.

A claim about trained models is decided by its rule, with `evaluate.decide("id")`; an identity or a
construction by checks that all hold, `book.check(..., claim="id")`. Both stand with the other outputs
of the executed copy, so half a chapter, or one executed with other code, has decided nothing.
"""

from dataclasses import dataclass, field

from transformer_circuits import files
from transformer_circuits.book import claims, notebooks
from transformer_circuits.book.claims import Claim

VERDICTS = (
    "reproduced", "mixed", "undecided", "not reproduced", "unpowered", "not testable here",
)  # fmt: skip


@dataclass
class Evidence:
    """What a chapter found about a claim."""

    statements: list[str] = field(default_factory=list)
    """What was checked, and holds."""
    ours: list[str] = field(default_factory=list)
    """Our figures, in words."""
    decision: dict | None = None
    """What the rule of a claim about trained models came to: the parts of an `evaluate.Decision`."""


def evidence() -> dict[str, Evidence]:
    """What the executed chapters found about each testable claim, by its id.

    Raises:
        UserError: naming the chapters, if some were not executed with the present code.
        ValueError: if a claim about trained models was checked by hand, or another by a rule.
    """
    chapters = sorted({claim.chapter for claim in claims.read().values() if claim.chapter})
    copies = notebooks.fresh()
    if missing := [chapter for chapter in chapters if chapter not in copies]:
        raise files.UserError(f"not executed with this code: {', '.join(missing)}; run `make book`")
    found: dict[str, Evidence] = {}
    for chapter in chapters:
        for check in checks(copies[chapter]):
            if not (name := check.get("claim")):
                continue
            ruled = "verdict" in check
            if ruled != (claims.testable(name).kind == "trained"):
                raise ValueError(f"{chapter} decides {name} {'by a rule' if ruled else 'by hand'}")
            of_claim = found.setdefault(name, Evidence())
            of_claim.statements.append(check["statement"])
            of_claim.ours += [check["ours"]] if check["ours"] else []
            of_claim.decision = check if ruled else None
    return found


def checks(copy: dict) -> list[dict]:
    """Every `book.check` and `evaluate.decide` that an executed copy shows, from first to last."""
    return [
        output["metadata"]["check"]
        for output in notebooks.outputs(copy)
        if "check" in output.get("metadata", {})
    ]


def verdict(claim: Claim, found: Evidence | None) -> str:
    """One of `VERDICTS`: by the claim's rule; if it is about any weights or what was built, it held.

    Raises:
        ValueError: if nothing was found about a testable claim.
    """
    if not claim.chapter:
        return VERDICTS[-1]
    if found is None:
        raise ValueError(f"{claim.chapter} was executed and has no evidence for {claim.id}")
    return found.decision["verdict"] if found.decision else VERDICTS[0]
