"""Logits as sums over paths, of which the reader switches any off."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_circuits.figures import tables
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.views.view import View, with_table
from transformer_circuits.record import Record


def paths(
    values: Mapping[tuple[str, ...], Numbers], *, answers: Sequence[str], unit: str, label: str
) -> View:
    """The logits of some answers as sums over paths, of which the reader switches any off.

    `values`: by the heads on a path, earliest first, `()` for the direct one, as in
    `drawings.paths.path_sum`; for each path one number per answer. `unit`: of the values.

    Raises:
        ValueError: if there are no paths or answers, or a path has not one finite number per answer.
    """
    if not values or not answers:
        raise ValueError(f"{len(values)} paths and {len(answers)} answers given")
    groups: dict[tuple[int, str], list[dict]] = {}
    for path, row in sorted(values.items(), key=lambda item: -np.abs(array(item[1])).sum()):
        numbers, name = array(row), " → ".join(path) or "direct path"
        if numbers.shape != (len(answers),) or not np.isfinite(numbers).all():
            raise ValueError(f"{name} has {numbers} but needs a number for each of {len(answers)}")
        one = f"one head of layer {path[0].partition('.')[0]}" if path else "the direct path"
        kind = len(path), one if len(path) < 2 else "two heads in a row"
        shown = {"name": name, "values": [float(f"{v:.5g}") for v in numbers]}
        groups.setdefault(kind, []).append(shown)
    listed = [{"name": kind[1], "paths": groups[kind]} for kind in sorted(groups)]
    sums = [np.sum([path["values"] for path in group["paths"]], axis=0) for group in listed]
    rows = [[group["name"], *total] for group, total in zip(listed, sums, strict=True)]
    table = tables.table(rows, columns=["paths", *answers], caption=f"Sums over paths [{unit}]")
    data = {"answers": list(answers), "groups": listed}
    given = {" → ".join(path) or "direct path": array(row) for path, row in values.items()}
    record = Record(
        "figure", label, numbers=given, units=dict.fromkeys(given, unit), words={"answers": answers}
    )
    return with_table("paths", data, record, table)
