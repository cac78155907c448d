"""Evidence of the executed chapters on each claim, and the verdict that follows.

A claim about trained models is decided by its rule, with `decide()` of its measurement; an identity
or a construction by checks that all hold, `book.check(..., claim="id")`. Both stand with the other
outputs of the executed copy, so half a chapter, or one executed with other code, has decided
nothing.
"""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from transformer_circuits import files, record
from transformer_circuits.book import notebooks
from transformer_circuits.claims import catalogue, findings, rules
from transformer_circuits.claims.claim import SOURCES, UNTESTED, Claim
from transformer_circuits.figures.status_matrix import StatusMatrix
from transformer_circuits.figures.tables import Link, Picture, Table, table
from transformer_circuits.figures.values import written
from transformer_circuits.record import Record

VERDICTS = (*rules.VERDICTS, *UNTESTED)
"""Verdicts; the first ones are for claims about trained models."""
HOLDS = {"identity": "any weights", "built": "built"}
"""Verdict on an identity and on a construction: they hold, or the chapter stops at their check."""
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
    "Related work": ("Related Work",),
    "Appendix": (
        "MLP Layers", "Virtual Weights and Convolution-like Structure", "Activation Properties",
        "Pointer Arithmetic with Positional Embeddings", "Identity Attention Heads?",
        "Tensor Product / Kronecker Product Notation", "Model Details",
        "Handling Layer Normalization", "Working with Low-Rank Matrices",
    ),
    VIDEOS: (),
}  # fmt: skip
"""Parts of the paper, in its order, with the sections in which its claims are made."""


@dataclass
class Evidence:
    """Evidence of a chapter on a claim."""

    statements: list[str] = field(default_factory=list)
    """Titles of the checks, all of which hold."""
    ours: list[str] = field(default_factory=list)
    """Our figures, in words."""
    decision: dict | None = None
    """Details of the verdict's record, for a claim about trained models."""


def evidence() -> dict[str, Evidence]:
    """Evidence of the executed chapters on each testable claim, by its id.

    Raises:
        UserError: naming the chapters, if some were not executed with the present code.
        ValueError: if a claim about trained models was checked by hand, or another by a rule.
    """
    chapters = sorted({claim.chapter for claim in catalogue.claims().values() if claim.chapter})
    copies = notebooks.fresh()
    if missing := [chapter for chapter in chapters if chapter not in copies]:
        raise files.UserError(f"not executed with this code: {', '.join(missing)}; run `make book`")
    by_claim: dict[str, Evidence] = {}
    for chapter in chapters:
        for check in checks(copies[chapter]):
            if not (name := check["claim"]):
                continue
            ruled = check["kind"] == "verdict"
            if ruled != (catalogue.testable(name).kind == "trained"):
                raise ValueError(f"{chapter} decides {name} {'by a rule' if ruled else 'by hand'}")
            of_claim = by_claim.setdefault(name, Evidence())
            of_claim.statements.append(check["title"])
            of_claim.ours += [check["text"]] if check["text"] else []
            of_claim.decision = check["details"] if ruled else None
    return by_claim


def checks(copy: dict) -> list[dict]:
    """Record of every `book.check` and `decide()` of an executed copy, in their order."""
    records = filter(None, map(record.of, notebooks.outputs(copy)))
    return [of_output for of_output in records if of_output["kind"] in ("check", "verdict")]


def verdict(claim: Claim, evidence: Evidence | None) -> str:
    """Verdict by the claim's rule, one of `VERDICTS`; or one of `HOLDS`, where there can be no other.

    Raises:
        ValueError: if nothing was found about a testable claim.
    """
    if not claim.chapter:
        return claim.untested
    if evidence is None:
        raise ValueError(f"{claim.chapter} was executed and has no evidence for {claim.id}")
    return evidence.decision["verdict"] if evidence.decision else HOLDS[claim.kind]


def part(claim: Claim) -> str:
    """Part of the paper in which a claim is made; for other claims, "Follow-ups"."""
    if claim.source != "paper" and claim.section not in sum(PARTS.values(), ()):
        return "Follow-ups"
    if "video" in claim.section:
        return VIDEOS
    return next(name for name, sections in PARTS.items() if claim.section in sections)


Row = dict[str, str | Link | Picture]
"""Row of a table, by its columns."""
_SYMBOLS = (
    dict(zip(HOLDS.values(), "=+", strict=True))
    | rules.SYMBOLS
    | dict(zip(UNTESTED, "…–", strict=True))
)


@dataclass(frozen=True)
class Paragraph:
    """Sentences of findings, each with a link to what decided it. Jupyter shows it as running text."""

    sentences: tuple[tuple[str, Link | None], ...]
    about: str

    def __str__(self) -> str:
        return " ".join(sentence for sentence, _ in self.sentences)

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        record = Record("paragraph", self.about, str(self))
        return {"text/html": _listed(self.sentences), "text/plain": str(self)}, record.metadata


def _listed(sentences: Iterable[tuple[str, Link | None]]) -> str:
    items = [
        html.escape(sentence)
        + (f' <a href="{html.escape(link.href)}">{html.escape(link.text)}</a>' if link else "")
        for sentence, link in sentences
    ]
    if len(items) == 1:
        return f'<p class="told">{items[0]}</p>'
    return f'<ul class="told">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def _paragraph(about: str, sentences: Iterable[tuple[str, Link | None]]) -> Paragraph:
    return Paragraph(tuple(sentences) or ((findings.NOTHING, None),), about)


def read() -> "Scorecard":
    """Scorecard of this checkout; raises the errors of `evidence`."""
    return Scorecard(evidence())


@dataclass(frozen=True)
class Scorecard:
    """Verdicts on every claim, and the tables of the page."""

    evidence: Mapping[str, Evidence]
    """Evidence on each testable claim, by its id."""

    @property
    def claims(self) -> list[Claim]:
        """Claims, chapter after chapter."""
        return [*catalogue.claims().values()]

    @property
    def trained(self) -> list[Claim]:
        """Tested claims about trained models."""
        return [claim for claim in self.claims if claim.chapter and claim.kind == "trained"]

    @cached_property
    def verdicts(self) -> dict[str, str]:
        """Verdict on each claim, by its id."""
        return {claim.id: verdict(claim, self.evidence.get(claim.id)) for claim in self.claims}

    def parts(self, claims: Iterable[Claim] = ()) -> dict[str, dict[str, list[Claim]]]:
        """Claims, or all, of each part of the paper by their verdict, parts and verdicts in order.

        Parts and verdicts without a claim are left out.
        """
        chosen = [*claims] or self.claims
        verdicts = {self.verdicts[claim.id] for claim in chosen}
        order = [name for name in _SYMBOLS if name in verdicts]
        names = (*PARTS, "Follow-ups")
        by_part: dict[str, dict[str, list[Claim]]] = {n: {v: [] for v in order} for n in names}
        for claim in chosen:
            by_part[part(claim)][self.verdicts[claim.id]].append(claim)
        return {name: row for name, row in by_part.items() if any(row.values())}

    def overview(self, source: str = "") -> StatusMatrix:
        """Mark for every claim, with a link to its decision; or only for a source's facts about
        trained models.

        Raises:
            ValueError: if there is no tested claim of this source about trained models.
        """
        chosen = [claim for claim in self.trained if claim.source == source]
        if source and not chosen:
            there = sorted({claim.source for claim in self.trained})
            raise ValueError(f'tested claims about trained models are of {there}, not "{source}"')
        about = f" of the {source} about trained models" if chosen else ""
        title = f"Every claim{about}, by part of the paper and by verdict"
        parts = self.parts(chosen)
        linked = {
            name: {column: [*map(_link, claims)] for column, claims in row.items()}
            for name, row in parts.items()
        }
        symbols = {name: _SYMBOLS[name] for name in next(iter(parts.values()))}
        return StatusMatrix(linked, symbols=symbols, title=title)

    def failures(self, *claims: str) -> Table:
        """Table of those of the claims, by id, that do not hold here, and what was found instead."""
        rows = [
            {"claim": _link(claim), "found": self.evidence[claim.id].decision["finding"]}
            for claim in map(catalogue.claims().__getitem__, claims)
            if self.verdicts[claim.id] == rules.NOT_REPRODUCED
        ]
        title = "Some of what the paper says and our models do not do"
        return table(rows or [{"claim": "none"}], caption=title)

    def counts(self) -> list[dict[str, str | int]]:
        """Numbers of facts about trained models with each verdict, by who claims them; at last, of all.

        Claims that the paper's Correction is about are counted apart.
        """
        groups: dict[str, list[Claim]] = {"paper": [], "paper, corrected": []}
        groups |= {source: [] for source in SOURCES[1:]}
        for claim in self.trained:
            name = f"{claim.source}, corrected" if claim.corrected else claim.source
            groups[name].append(claim)
        return [
            {"claims of": name}
            | {v: sum(self.verdicts[c.id] == v for c in claims) for v in rules.VERDICTS}
            for name, claims in (groups | {"all": self.trained}).items()
        ]

    def decided(self, *verdicts: str) -> list[Row]:
        """Facts about trained models with these verdicts, each with its seeds and controls."""
        rows: list[Row] = []
        for claim in (c for v in verdicts for c in self.trained if self.verdicts[c.id] == v):
            evidence = self.evidence[claim.id]
            must = f"{claim.side} {written(claim.threshold, 'g')}"
            decision, finding = evidence.decision, evidence.decision["finding"]
            rows.append(
                _told(claim)
                | {
                    "must be": f"{must}: {claim.threshold_from}",
                    "every seed, and controls": Picture(
                        decision["strip"], "; ".join(evidence.ours)
                    ),
                    "verdict": f"{decision['verdict']}: {decision['why']}",
                    "what was found": f"{_SYMBOLS[self.verdicts[claim.id]]} {finding[:1].upper()}{finding[1:]}",
                }
            )
        return rows or [{"claim": "none"}]

    def told(self, claims: Iterable[str], *verdicts: str) -> Paragraph:
        """Findings on those of the claims, by id, that have one of these verdicts.

        Behind each stands who claims it, and the chapter that decides it.
        """
        chosen = [catalogue.claims()[name] for name in claims]
        return _paragraph(
            ", ".join(verdicts),
            (
                (findings.bare(self.evidence[claim.id].decision["finding"]), _to_chapter(claim))
                for claim in chosen
                if self.verdicts[claim.id] in verdicts
            ),
        )

    def held(self, kind: str) -> list[Row]:
        """Claims of a kind that had to hold, with our figures, or the checked statement."""
        of_kind = [claim for claim in self.claims if claim.chapter and claim.kind == kind]
        evidence = {claim.id: self.evidence[claim.id] for claim in of_kind}
        return [
            _told(claim)
            | {"here": "; ".join(evidence[claim.id].ours) or evidence[claim.id].statements[0]}
            for claim in of_kind
        ]

    def untested(self, why: str) -> list[Row]:
        """Claims that were not tested, for one of the two reasons."""
        unmeasured = [claim for claim in self.claims if self.verdicts[claim.id] == why]
        rows = [
            _told(claim) | {"claim": claim.statement, "because": claim.rule} for claim in unmeasured
        ]
        return rows or [{"claim": "none", "because": "nothing is left"}]


def _told(claim: Claim) -> Row:
    where = f"the paper, {claim.section}" if claim.source == "paper" else claim.section
    return {"claim": _link(claim), "made in, reported": f"{where}: {claim.reported}"}


def _to_chapter(claim: Claim) -> Link:
    return Link(f"({claim.by}; {claim.chapter.partition('-')[0]})", _link(claim).href)


def _link(claim: Claim) -> Link:
    """Link to the place where a claim is decided, or to the reasons why it is not."""
    where = f"{claim.chapter}.html#claim-{claim.id}" if claim.chapter else "#scorecard-untested"
    return Link(claim.statement[:1].upper() + claim.statement[1:], where)
