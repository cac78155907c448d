"""What the executed chapters found about each claim, and the verdict that follows.

A claim about trained models is decided by its rule, with `decide()` of its measurement; an identity or a
construction by checks that all hold, `book.check(..., claim="id")`. Both stand with the other outputs
of the executed copy, so half a chapter, or one executed with other code, has decided nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from transformer_circuits import files, record
from transformer_circuits.book import notebooks
from transformer_circuits.claims import registry
from transformer_circuits.claims.registry import Claim

VERDICTS = (
    "reproduced", "mixed", "undecided", "not reproduced", "unpowered", *registry.UNTESTED,
)  # fmt: skip
"""The first five are those of `claims.rules`; they are for claims about trained models."""
HOLDS = {"identity": "any weights", "built": "built"}
"""What an identity and a construction count as: they hold, or the chapter stops at their check."""
VIDEOS = "The authors' videos"
PARTS = {
    "Overview of transformers": (
        "High-Level Architecture", "Model Simplifications", "Virtual Weights",
        "Subspaces and Residual Stream Bandwidth",
        "Attention Heads are Independent and Additive", "Attention Heads as Information Movement",
        "Observations about Attention Heads", "Summary of Results",
        "Reverse Engineering Results", "Conceptual Take-Aways",
    ),
    "Zero layers": ("Zero-Layer Transformers",),
    "One layer": (
        "The Path Expansion Trick", "OV and QK Independence",
        "Splitting Attention Head terms into Query-Key and Output-Value Circuits",
        "Interpretation as Skip-Trigrams", "Copying / Primitive In-Context Learning",
        "Other Interesting Skip-Trigrams", "Primarily Positional Attention Heads",
        "Skip-Trigram \"Bugs\"", "Detecting Copying Behavior",
        "Summarizing OV/QK Matrices", "Do We \"Fully Understand\" One-Layer Models?",
    ),
    "Two layers": (
        "Three Kinds of Composition", "Path Expansion of Logits", "Path Expansion of Attention Scores QK Circuit",
        "Analyzing a Two-Layer Model", "Correction: Attention Head Composition Diagram",
        "Term Importance Analysis", "Virtual Attention Heads",
    ),
    "Induction heads": (
        "Induction Heads", "Function of Induction Heads", "How Induction Heads Work",
        "Checking the Mechanistic Theory",
    ),
    "Appendix": (
        "MLP Layers", "Virtual Weights and Convolution-like Structure", "Activation Properties",
        "Pointer Arithmetic with Positional Embeddings", "Identity Attention Heads?",
        "Tensor Product / Kronecker Product Notation", "Model Details",
        "Handling Layer Normalization", "Working with Low-Rank Matrices",
    ),
    VIDEOS: (),
}  # fmt: skip
"""The parts of the paper, in its order, with the sections in which claims of it are made."""


@dataclass
class Evidence:
    """What a chapter found about a claim."""

    statements: list[str] = field(default_factory=list)
    """What was checked, and holds."""
    ours: list[str] = field(default_factory=list)
    """Our figures, in words."""
    decision: dict | None = None
    """What the rule of a claim about trained models came to: the details of a verdict's record."""


def evidence() -> dict[str, Evidence]:
    """What the executed chapters found about each testable claim, by its id.

    Raises:
        UserError: naming the chapters, if some were not executed with the present code.
        ValueError: if a claim about trained models was checked by hand, or another by a rule.
    """
    chapters = sorted({claim.chapter for claim in registry.read().values() if claim.chapter})
    copies = notebooks.fresh()
    if missing := [chapter for chapter in chapters if chapter not in copies]:
        raise files.UserError(f"not executed with this code: {', '.join(missing)}; run `make book`")
    found: dict[str, Evidence] = {}
    for chapter in chapters:
        for check in checks(copies[chapter]):
            if not (name := check["claim"]):
                continue
            ruled = check["kind"] == "verdict"
            if ruled != (registry.testable(name).kind == "trained"):
                raise ValueError(f"{chapter} decides {name} {'by a rule' if ruled else 'by hand'}")
            of_claim = found.setdefault(name, Evidence())
            of_claim.statements.append(check["title"])
            of_claim.ours += [check["text"]] if check["text"] else []
            of_claim.decision = check["details"] if ruled else None
    return found


def checks(copy: dict) -> list[dict]:
    """The record of every `book.check` and `decide()` of an executed copy, in their order."""
    records = filter(None, map(record.of, notebooks.outputs(copy)))
    return [found for found in records if found["kind"] in ("check", "verdict")]


def verdict(claim: Claim, found: Evidence | None) -> str:
    """One of `VERDICTS`, by the claim's rule; or of `HOLDS`, where there can be no other.

    Raises:
        ValueError: if nothing was found about a testable claim.
    """
    if not claim.chapter:
        return claim.untested
    if found is None:
        raise ValueError(f"{claim.chapter} was executed and has no evidence for {claim.id}")
    return found.decision["verdict"] if found.decision else HOLDS[claim.kind]


def part(claim: Claim) -> str:
    """The part of the paper in which a claim is made; of others, who makes it.

    Raises:
        ValueError: if `PARTS` does not know the section.
    """
    if claim.source != "paper" and claim.section not in sum(PARTS.values(), ()):
        return {"follow-up": "Follow-ups", "retelling": "Retellings"}[claim.source]
    if "video" in claim.section:
        return VIDEOS
    for name, sections in PARTS.items():
        if claim.section in sections:
            return name
    raise ValueError(f'{claim.id} is of the section "{claim.section}", which is in no part')


def by_part(verdicts: Mapping[str, str]) -> dict[str, dict[str, list[Claim]]]:
    """The claims of each part of the paper by their verdict, parts and verdicts in order.

    `verdicts`: one for each claim, by its id. Parts and verdicts without a claim are left out.
    """
    order = [*HOLDS.values(), *VERDICTS]
    found: dict[str, dict[str, list[Claim]]] = {
        name: {verdict: [] for verdict in order if verdict in verdicts.values()}
        for name in (*PARTS, "Follow-ups", "Retellings")
    }
    for claim in registry.read().values():
        found[part(claim)][verdicts[claim.id]].append(claim)
    return {name: row for name, row in found.items() if any(row.values())}
