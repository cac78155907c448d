"""What a group has learned: reads the files that the page *Before and after* saves."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transformer_circuits import files
from website import inventory

FEW = 10
"""With fewer people, discrimination is not told."""
DRAWS = 10_000
"""Of people, for the interval."""


@dataclass(frozen=True)
class Sheet:
    """A form as one person answered it: the option chosen of each concept, where one was."""

    form: str
    began: str
    answers: Mapping[str, int]


def read(paths: Iterable[Path]) -> dict[str, list[Sheet]]:
    """The sheets of each person, the earlier one first. A later file of a person adds to an earlier."""
    found: dict[str, dict[str, Sheet]] = {}
    for path in paths:
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            sheets = {
                form: Sheet(form, of["began"], {k: int(v) for k, v in of["answers"].items()})
                for form, of in held["forms"].items()
            }
            if held["inventory"] != 1 or not {*sheets} <= {*inventory.FORMS}:
                raise ValueError(f"forms {[*sheets]} of inventory {held['inventory']}")
            found.setdefault(str(held["who"]), {}).update(sheets)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise files.UserError(f"{path} is no file of the page: {error!r}") from error
    return {who: sorted(of.values(), key=lambda sheet: sheet.began) for who, of in found.items()}


def marked(sheet: Sheet) -> np.ndarray:
    """1 for each concept that was answered right; a question left open is not."""
    asked = inventory.questions()[sheet.form]
    return np.array([sheet.answers.get(each.concept) == each.right for each in asked], float)


def normalised(before: np.ndarray, after: np.ndarray) -> float:
    """What the group learned, of what it could learn, from marks [person, concept]."""
    return float((after.mean() - before.mean()) / (1 - before.mean()))


def interval(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Of the gain: 95 %, over people drawn again."""
    drawn = np.random.default_rng(0).integers(len(before), size=(DRAWS, len(before)))
    old, new = (marks.mean(axis=1)[drawn].mean(axis=1) for marks in (before, after))
    able = old < 1
    low, high = np.quantile((new - old)[able] / (1 - old[able]), [0.025, 0.975])
    return float(low), float(high)


def discrimination(marks: np.ndarray) -> np.ndarray:
    """Of each concept: the correlation of its marks with those of all others, by person."""
    rest = marks.sum(axis=1, keepdims=True) - marks
    marks, rest = marks - marks.mean(axis=0), rest - rest.mean(axis=0)
    size = np.sqrt((marks**2).sum(axis=0) * (rest**2).sum(axis=0))
    return np.divide((marks * rest).sum(axis=0), size, out=np.zeros_like(size), where=size > 0)


def report(people: Mapping[str, list[Sheet]]) -> str:
    """All that is printed."""
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
        f"{'concept':24}before  after  discrimination  what the others think after",
    ]
    tells = discrimination(np.concatenate([before, after]))
    for k, question in enumerate(inventory.questions()["A"]):
        said = f"{tells[k]:14.2f}" if len(both) >= FEW else f"{'–':>14}"
        shares = f"{before[:, k].mean():6.0%} {after[:, k].mean():6.0%}"
        lines.append(f"{question.concept:24}{shares}  {said}  {_thinks(both, question.concept)}")
    if len(both) < FEW:
        lines += ["", f"Fewer than {FEW} people: discrimination would be noise, and is left out."]
    return "\n".join(lines)


def _thinks(both: list[list[Sheet]], concept: str) -> str:
    """The misconceptions that were chosen in later sheets, the commonest first."""
    names: dict[str, int] = {}
    for _, sheet in both:
        (asked,) = (each for each in inventory.questions()[sheet.form] if each.concept == concept)
        chosen = sheet.answers.get(concept, asked.right)
        if name := asked.thinks[chosen]:
            names[name] = names.get(name, 0) + 1
    return ", ".join(f"{name} {n}" for name, n in sorted(names.items(), key=lambda each: -each[1]))
