"""Groups of places in a text as bars, and random places of the group that the reader chooses."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_circuits.figures import drawing, tables
from transformer_circuits.figures.values import number
from transformer_circuits.figures.views.view import View

BRACKETS = ("‹›", "⟦⟧", "«»")
"""What stands around a marked token, for the marks in their order."""


def samples(
    groups: Sequence[Mapping[str, object]],
    passages: Mapping[int, Sequence[Mapping]],
    *,
    bar: str,
    label: str,
) -> View:
    """A bar for every group of places; the reader chooses one and reads some of its places.

    `groups`: rows as for `tables.table`; the first column names a group, all others are numbers,
    of which `bar`, at least 0, is drawn. `passages`: by the group's name; each has `tokens`; `marks`,
    the index of a token by what it is marked as, at most three; `gaps`, the indices before which
    tokens are left out; and `facts`, what is said of it, by name.

    Raises:
        ValueError: if there are no groups, `bar` is no column or has no heights, a group has no
            passage, or a passage marks a token that it has not.
    """
    if not groups or bar not in list(groups[0])[1:]:
        raise ValueError(f"{len(groups)} groups given, to be drawn by {bar!r}: no such numbers")
    kind, *columns = list(groups[0])
    names = [row[kind] for row in groups]
    if list(passages) != names or not all(passages.values()):
        raise ValueError(f"passages are of {list(passages)} but groups are {names}, none empty")
    values = [[number(row[name]) for name in columns] for row in groups]
    heights = [row[columns.index(bar)] for row in values]
    if not np.isfinite(heights).all() or min(heights) < 0 or max(heights) <= 0:
        raise ValueError(f"bars must be at least 0, and one above it, but are {heights}")
    marks = list(passages[names[0]][0]["marks"])
    rows, listed = [], []
    for name in names:
        listed.append([_shown(passage, marks) for passage in passages[name]])
        rows += [{kind: name, "text": _plain(p)} | p["facts"] for p in passages[name]]
    data = {
        "kind": kind, "names": [str(name) for name in names], "columns": columns, "bar": bar,
        "values": [[float(f"{v:.3g}") for v in row] for row in values],
        "marks": marks, "brackets": BRACKETS, "passages": listed,
    }  # fmt: skip
    table = tables.table(rows, caption="The sampled places", digits=3)
    bundle = table._repr_mimebundle_()
    png = drawing.text_picture(bundle["text/plain"].splitlines(), across=False)
    return View("samples", data, label, png, bundle["text/html"])


def _shown(passage: Mapping, marks: Sequence[str]) -> dict:
    """A passage as the script takes it: facts in words, marks in their order."""
    tokens, marked = passage["tokens"], passage["marks"]
    if list(marked) != marks or len(marks) > len(BRACKETS):
        raise ValueError(f"a passage marks {list(marked)} but {marks} are marked, at most 3")
    if not all(0 <= k < len(tokens) for k in (*marked.values(), *passage["gaps"])):
        raise ValueError(f"{marked} and gaps {passage['gaps']} lie outside {len(tokens)} tokens")
    facts = [
        [name, f"{value:.3f}" if isinstance(value, float) else str(value)]
        for name, value in passage["facts"].items()
    ]
    return {"tokens": list(tokens), "marks": list(marked.values()), "gaps": list(passage["gaps"]),
            "facts": facts}  # fmt: skip


def _plain(passage: Mapping) -> str:
    """A passage as a line of text: marked tokens in their brackets, … where some are left out."""
    pieces = []
    for k, token in enumerate(passage["tokens"]):
        for around, place in zip(BRACKETS, passage["marks"].values(), strict=False):
            token = around[0] + token + around[1] if place == k else token
        pieces.append("…" * (k in passage["gaps"]) + token)
    return "".join(pieces)
