"""Gain of a group: reads the files that the page *Before and after* saves."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transformer_circuits import files
from website import inventory

DRAWS = 10_000
"""Draws of people, for the interval."""


@dataclass(frozen=True)
class Sheet:
    """Answers of one person to a form: the option chosen for each concept, if any."""

    form: str
    began: str
    answers: Mapping[str, int]


def read(paths: Iterable[Path]) -> dict[str, list[Sheet]]:
    """Sheets of each person, the earlier one first. A later file of a person adds to an earlier."""
    by_person: dict[str, dict[str, Sheet]] = {}
    for path in paths:
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            sheets = {
                form: Sheet(form, saved["began"], {k: int(v) for k, v in saved["answers"].items()})
                for form, saved in held["forms"].items()
            }
            if held["inventory"] != 1 or not {*sheets} <= {*inventory.FORMS}:
                raise ValueError(f"forms {[*sheets]} of inventory {held['inventory']}")
            by_person.setdefault(str(held["who"]), {}).update(sheets)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise files.UserError(f"{path} is no file of the page: {error!r}") from error
    return {
        who: sorted(sheets.values(), key=lambda sheet: sheet.began)
        for who, sheets in by_person.items()
    }


def marked(sheet: Sheet) -> np.ndarray:
    """Mark of each concept: 1 for a right answer, else 0; a question left open is not right."""
    asked = inventory.questions()[sheet.form]
    return np.array([sheet.answers.get(q.concept) == q.right for q in asked], float)


def normalised(before: np.ndarray, after: np.ndarray) -> float:
    """Normalised gain: the part learned of all that could be, from marks [person, concept]."""
    return float((after.mean() - before.mean()) / (1 - before.mean()))


def interval(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Interval of the gain: 95 %, over people drawn again."""
    drawn = np.random.default_rng(0).integers(len(before), size=(DRAWS, len(before)))
    old, new = (marks.mean(axis=1)[drawn].mean(axis=1) for marks in (before, after))
    able = old < 1
    low, high = np.quantile((new - old)[able] / (1 - old[able]), [0.025, 0.975])
    return float(low), float(high)


def report(people: Mapping[str, list[Sheet]]) -> str:
    """Text of the report."""
    both = [sheets for sheets in people.values() if len(sheets) == 2]
    if not both:
        raise files.UserError(f"of {len(people)} people, none has answered both forms")
    before, after = (np.stack([marked(sheets[k]) for sheets in both]) for k in range(2))
    if before.mean() == 1:
        raise files.UserError("everybody had everything right before: there is nothing to gain")
    low, high = interval(before, after)
    first = sum(sheets[0].form == "A" for sheets in both)
    lines = [
        f"{len(both)} people answered both forms ({first} began with A), {len(people) - len(both)} one.",
        f"Before {before.mean():.0%}, after {after.mean():.0%}; by chance one third.",
        f"Normalised gain {normalised(before, after):.2f}, 95 % interval {low:.2f} to {high:.2f}.",
        "",
        f"{'concept':24}before  after  what the others think after",
    ]
    for k, question in enumerate(inventory.questions()["A"]):
        shares = f"{before[:, k].mean():6.0%} {after[:, k].mean():6.0%}"
        lines.append(f"{question.concept:24}{shares}  {_thinks(both, question.concept)}")
    return "\n".join(lines)


def _thinks(both: list[list[Sheet]], concept: str) -> str:
    """Misconceptions that were chosen in later sheets, the commonest first."""
    names: dict[str, int] = {}
    for _, sheet in both:
        (asked,) = (q for q in inventory.questions()[sheet.form] if q.concept == concept)
        chosen = sheet.answers.get(concept, asked.right)
        if name := asked.thinks[chosen]:
            names[name] = names.get(name, 0) + 1
    commonest_first = sorted(names.items(), key=lambda count: -count[1])
    return ", ".join(f"{name} {n}" for name, n in commonest_first)
