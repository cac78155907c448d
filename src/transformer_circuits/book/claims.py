"""The claims of `data/claims.toml`, and what the chapters found about each.

A chapter registers evidence with `book.check(..., claim="id")`. It is kept, in
`data/cache/results/<chapter>.json`, when the last code cell of the chapter has been executed, if
all of them were, from the first on, each once and without an error, as they stand in the file:
half a chapter, or one changed and run in parts, has decided nothing. A stamp of chapter, claims
and all code is kept with it, so that what was found by other code never counts.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from transformer_circuits import files, settings

VERDICTS = ("reproduced", "partly", "not reproduced", "not testable here")
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


@dataclass
class Evidence:
    """What a chapter found about a claim: the statements it checked, for and against."""

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


def stamp(chapter: str, of_loaded: str) -> str:
    """A hash of a chapter's code, of its claims, and of what it may load (`loaded`)."""
    rows = [repr(claim) for claim in read().values() if claim.chapter == chapter]
    whole = json.dumps([rows, _code(chapter), of_loaded])
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def loaded() -> str:
    """A hash of all that chapters may load, as it lies on the disk."""
    root = files.data_dir().parent
    digest = hashlib.sha256()
    for path in sorted(path for pattern in LOADED for path in root.glob(pattern)):
        digest.update(files.sha256(path).encode())
    return digest.hexdigest()


_loaded_at_first = cache(loaded)
"""The same when it was first asked for: modules imported then stay as they were."""


def _path(chapter: str) -> Path:
    return files.cache_dir() / "results" / f"{chapter}.json"


def in_words(ours: str | float | Sequence[float]) -> str:
    """A figure as it stands on the scorecard; of several seeds: the book's, then their range."""
    if isinstance(ours, str):
        return ours
    if isinstance(ours, Sequence):
        return f"{ours[0]:.2f} (seeds: {min(ours):.2f} to {max(ours):.2f})"
    return f"{ours:.2f}"


_found: dict[str, Evidence] = {}
_executed: list[str | None] = []
"""What the checks found, and the code cells, since the first cell of a chapter was run."""


def begin() -> None:
    """The first cell of a chapter is being run: what was found before no longer counts."""
    _loaded_at_first()
    _found.clear()
    _executed.clear()


def register(
    claim: str, statement: str, ours: str | float | Sequence[float] | None, against: bool
) -> bool:
    """Add evidence to a claim; whether it is the first for it since the chapter began.

    Raises:
        ValueError: if there is no such claim, or it counts as not testable.
    """
    known = read().get(claim)
    if known is None or not known.chapter:
        raise ValueError(f'data/claims.toml has no testable claim "{claim}"')
    first = claim not in _found
    found = _found.setdefault(claim, Evidence())
    (found.speaks_against if against else found.speaks_for).append(statement)
    if ours is not None:
        found.ours.append(in_words(ours))
    return first


def executed(cell: str | None) -> None:
    """Note that a code cell was run, None if it failed; with the last, keep what was found."""
    _executed.append(cell)
    for chapter in {read()[claim].chapter for claim in _found}:
        if _executed == _code(chapter):
            found = {name: asdict(evidence) for name, evidence in _found.items()}
            kept = {"stamp": stamp(chapter, _loaded_at_first()), "found": found}
            with files.atomic(_path(chapter)) as temporary:
                temporary.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")


def evidence(claim: Claim) -> Evidence | None:
    """What the chapter found; None if it was not executed as a whole with the present code."""
    try:
        kept = json.loads(_path(claim.chapter).read_text(encoding="utf-8"))
        made_by, found = kept["stamp"], Evidence(**kept["found"][claim.id])
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None  # nothing is there, or what an older version or a broken disk left
    return found if made_by == stamp(claim.chapter, loaded()) else None


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
