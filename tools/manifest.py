"""Manifest: the findings of the book's chapters, their source files, and the machine.

`results/manifest.json` is the one that the repository holds. Every reproduction writes its own to
`REPRODUCED`, and `reproduction` reports where the two differ.
"""

import json
import os
import platform
import re
from collections.abc import Mapping
from datetime import datetime
from importlib import metadata
from pathlib import Path

from transformer_circuits import files, record
from transformer_circuits.book import dependencies, notebooks
from transformer_circuits.claims import catalogue, scorecard
from transformer_circuits.claims.claim import Claim
from transformer_circuits.text import corpus

COMMITTED = "results/manifest.json"
REPRODUCED = "_build/reproduced/manifest.json"
"""File of a reproduction's own manifest."""
MADE_FROM = tuple(name for name in dependencies.DATA_FILES if name.startswith("data/"))
"""Files of the repository that everything was computed from: weights, logs, tokenizer, text."""
PRECISION = 0.001
"""Share of a number by which it may differ."""
OF_WIDTH = 0.1
"""Share of an interval's width by which its mean and ends may differ."""
LEAST = 1e-6
"""Difference that any number may have: float32's error in a zero."""
SHOWN = ("figure", "table")
MEASURED_HERE = "[s]"
"""End of the heading of a column of durations here, which no other machine repeats."""
TOLERANCES = {
    "numbers": "a thousandth of the largest of those of one name, or one unit of the last decimal "
    "place that a table or a check shows of them",
    "numbers in sentences": "one unit of the last decimal place, or a thousandth of the number; "
    "whole numbers a thousandth",
    "estimate": "a thousandth of the largest of the mean and the ends of its interval, or a tenth "
    "of the interval's width",
    "any number": "a millionth",
    "eigenvalues": "sorted, for they have no order",
    "columns of a table in [s]": "left out: how long something took",
    "everything else": "the same: verdicts, words, and the hashes of files",
    "why": "weights and text are pinned, so only the order of sums in float32 may differ. That moves "
    "a number by parts in a hundred thousand, and a printed digit by one; other text would move an "
    "estimate by as much as its interval is wide",
}
"""Rules for the differences that two reproductions may have: one for each kind of number, in all chapters.
"""


def made() -> dict:
    """Manifest of this checkout, from its executed chapters; nothing is executed."""
    evidence = scorecard.evidence()
    copies = notebooks.fresh()
    if missing := sorted(set(notebooks.names()) - copies.keys()):
        raise files.UserError(f"not executed with this code: {', '.join(missing)}")
    kept = [name for name in notebooks.names() if name != notebooks.FOUND]  # it repeats the claims
    seconds = {name: _seconds(copies[name]) for name in kept}
    return {
        "tolerances": TOLERANCES,
        "machine": _machine() | {"minutes for all chapters": round(sum(seconds.values()) / 60, 1)},
        "versions": _versions(),
        "files": _hashes(),
        "claims": {
            name: _of_claim(claim, evidence.get(name)) for name, claim in catalogue.claims().items()
        },
        "chapters": {
            name: {
                "seconds": taken,
                "figures": {} if name == notebooks.SCORECARD else _records(copies[name], *SHOWN),
                "checks": _records(copies[name], "check"),
            }
            for name, taken in seconds.items()
        },
    }


def _of_claim(claim: Claim, evidence: scorecard.Evidence | None) -> dict:
    """Verdict on a claim, and the estimates that it rests on."""
    row: dict = {"kind": claim.kind, "verdict": scorecard.verdict(claim, evidence)}
    if claim.chapter:
        row["chapter"] = claim.chapter
    if evidence and evidence.ours and not evidence.decision:
        row["ours"] = evidence.ours
    if evidence and evidence.decision:
        row["why"] = evidence.decision["why"]
        for group in ("seeds", "controls", "other"):
            of_group = evidence.decision[group].items()
            row[group] = {name: estimate(interval) for name, interval in of_group if interval}
        if not row["other"]:  # it is not looked at in two ways
            del row["other"]
    return row


def estimate(interval: Mapping[str, float]) -> dict:
    """Interval (`mean`, `low`, `high`, `n`) as the manifest has it, with its tolerance."""
    ends = [interval[name] for name in ("mean", "low", "high")]
    mean, low, high, within = map(float, record.kept([*ends, tolerance(interval)]))
    return {"mean": mean, "low": low, "high": high, "n": interval["n"], "tolerance": within}


def tolerance(interval: Mapping[str, float]) -> float:
    """Difference that mean and ends of an interval may have."""
    largest = max(abs(interval[name]) for name in ("mean", "low", "high"))
    return max(PRECISION * largest, OF_WIDTH * (interval["high"] - interval["low"]), LEAST)


def _records(copy: Mapping, *kinds: str) -> dict[str, dict]:
    """Contents of an executed chapter's records of some kinds, by their titles.

    Verdicts are among the claims; so are their repetitions in the scorecard's figures and tables.
    """
    by_title: dict[str, dict] = {}
    for held in filter(None, map(record.of, notebooks.outputs(copy))):
        if held["kind"] in kinds:
            title, n = held["title"], 2
            while title in by_title:
                title, n = f"{held['title']} ({n})", n + 1
            by_title[title] = _measured(held)
    return by_title


def _measured(held: Mapping) -> dict:
    """Fields of a record that the manifest keeps: numbers and words, text, digits and units."""
    parts = {"text": held["text"], "digits": held["digits"], "units": held["units"]}
    for group in ("numbers", "words"):
        parts[group] = {k: v for k, v in held[group].items() if not k.endswith(MEASURED_HERE)}
    return {name: part for name, part in parts.items() if part not in ("", None, {})}


def _seconds(copy: Mapping) -> float:
    """Seconds that a chapter ran, from its first cell to its last."""
    noted = [
        datetime.fromisoformat(time)
        for cell in copy["cells"]
        for time in cell["metadata"].get("execution", {}).values()
    ]
    return round((max(noted) - min(noted)).total_seconds(), 1) if noted else 0.0


def _hashes() -> dict[str, str]:
    """SHA-256 of weights, logs and tokenizer; and of the text, as it is built from its packages."""
    root = notebooks.root()
    paths = {path for pattern in MADE_FROM for path in root.glob(pattern) if path.is_file()}
    hashes = {path.relative_to(root).as_posix(): files.sha256(path) for path in sorted(paths)}
    return hashes | {
        f"text, small {split}": files.sha256(path) for split, path in corpus.build("small").items()
    }


def _machine() -> dict[str, str | int | None]:
    """System, processor and cores on which the chapters ran."""
    name = platform.processor()
    if (cpuinfo := Path("/proc/cpuinfo")).is_file():
        models = re.findall(r"(?m)^model name\s*: (.+)$", cpuinfo.read_text())
        name = models[0] if models else name
    system = f"{platform.system()} {platform.machine()}"
    return {"system": system, "processor": name, "cores": os.cpu_count()}


def _versions() -> dict[str, str]:
    """Python, and the packages that chapters need."""
    needed = files.read_toml(notebooks.root() / "pyproject.toml")["project"]["dependencies"]
    names = sorted(re.match(r"[\w.-]+", requirement)[0] for requirement in needed)
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in names}


def read(path: Path) -> dict:
    """Manifest that `write` wrote."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError) as error:
        raise files.damaged(path, f"is not a manifest: {error!r}") from error


def write(path: Path, manifest: Mapping) -> None:
    """Write a manifest, in a folder that is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{_text(manifest)}\n", encoding="utf-8")


def _text(value: object, indent: str = "") -> str:
    """JSON with a line for each entry of a mapping, but lists and short mappings in one line."""
    flat = files.as_json(value, ensure_ascii=False)
    if not isinstance(value, Mapping) or len(flat) < 100:
        return flat
    inner = f"{indent} "
    entries = (
        f"{inner}{files.as_json(k, ensure_ascii=False)}: {_text(v, inner)}"
        for k, v in value.items()
    )
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"
