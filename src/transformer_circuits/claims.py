"""The claims of `data/claims.toml`, and what the chapters found about each.

A chapter registers evidence with `book.check(..., claim="id")`. Each claim's evidence lies in
`data/cache/results/<id>.json`, with a stamp of the code and the chapter it came from, so that
what was found by other code never counts.
"""

import ast
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from transformer_circuits import config, files

VERDICTS = ("reproduced", "partly", "not reproduced", "not testable here")
SOURCES = ("paper", "follow-up", "retelling")
KINDS = ("identity", "built", "trained")


@dataclass(frozen=True)
class Claim(config.Table):
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


@dataclass
class Evidence:
    """What a chapter found about a claim: the statements it checked, for and against."""

    stamp: str
    speaks_for: list[str] = field(default_factory=list)
    speaks_against: list[str] = field(default_factory=list)
    ours: list[str] = field(default_factory=list)
    """Our figures, in words."""


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


LOADED = ("src/**/*.py", "data/models/**/*.toml", "data/models/**/*.json*", "data/corpus.toml",
          "data/tokenizer.json")  # fmt: skip
"""What a chapter may load; weights and text are pinned by the hashes in these files."""


def _code(chapter: str) -> list[str]:
    path = files.data_dir().parent / "chapters" / f"{chapter}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def named(chapter: str) -> Counter[str]:
    """The claims that a chapter's checks name, and in how many places.

    Raises:
        ValueError: if a check computes the name: only literal ones can be found.
    """
    found: Counter[str] = Counter()
    for node in ast.walk(ast.parse("\n".join(_code(chapter)))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "book.check":
            for given in (word.value for word in node.keywords if word.arg == "claim"):
                if not isinstance(given, ast.Constant):
                    raise ValueError(f"{chapter}: claim={ast.unparse(given)} is not a literal")
                found[given.value] += 1
    return found


def stamp(claim: Claim) -> str:
    """A hash of a claim, of its chapter's code and of all that this may load."""
    root = files.data_dir().parent
    digest = hashlib.sha256(json.dumps([repr(claim), _code(claim.chapter)]).encode())
    for path in sorted(path for pattern in LOADED for path in root.glob(pattern)):
        digest.update(files.sha256(path).encode())
    return digest.hexdigest()[:16]


def _path(claim: str) -> Path:
    return files.cache_dir() / "results" / f"{claim}.json"


def in_words(ours: str | float | Sequence[float]) -> str:
    """A figure as it stands on the scorecard; of several seeds: the book's, then their range."""
    if isinstance(ours, str):
        return ours
    if isinstance(ours, Sequence):
        return f"{ours[0]:.2f} (seeds: {min(ours):.2f} to {max(ours):.2f})"
    return f"{ours:.2f}"


_found: dict[str, Evidence] = {}
"""What this process has registered."""


def register(
    claim: str, statement: str, ours: str | float | Sequence[float] | None, against: bool
) -> bool:
    """Add evidence to a claim; whether it is the first that this process adds to it.

    Raises:
        ValueError: if there is no such claim, or it counts as not testable.
    """
    known = read().get(claim)
    if known is None or not known.chapter:
        raise ValueError(f'data/claims.toml has no testable claim "{claim}"')
    first = claim not in _found
    if first:
        _found[claim] = Evidence(stamp(known))
    evidence = _found[claim]
    statements = evidence.speaks_against if against else evidence.speaks_for
    if statement not in statements:
        statements.append(statement)
        if ours is not None:
            evidence.ours.append(in_words(ours))
    with files.atomic(_path(claim)) as temporary:
        temporary.write_text(json.dumps(vars(evidence), ensure_ascii=False), encoding="utf-8")
    return first


def evidence(claim: Claim) -> Evidence | None:
    """What the chapter found, if all its checks of the claim were run, and with the present code."""
    path = _path(claim.id)
    if not claim.chapter or not path.is_file():
        return None
    found = Evidence(**json.loads(path.read_text(encoding="utf-8")))
    complete = len(found.speaks_for + found.speaks_against) >= named(claim.chapter)[claim.id]
    return found if complete and found.stamp == stamp(claim) else None


def missing() -> list[str]:
    """The chapters that still have to be run for every claim to be decided."""
    return sorted({c.chapter for c in read().values() if c.chapter and not evidence(c)})


def verdict(claim: Claim) -> str:
    """One of `VERDICTS`: all evidence for it, some against, all against; or untestable.

    Raises:
        ValueError: if its chapter was not run with the present code.
    """
    if not claim.chapter:
        return VERDICTS[3]
    found = evidence(claim)
    if found is None:
        raise ValueError(f"nothing is known of {claim.id}: run chapters/{claim.chapter}.ipynb")
    if not found.speaks_against:
        return VERDICTS[0]
    return VERDICTS[1] if found.speaks_for else VERDICTS[2]
