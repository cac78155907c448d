"""Moments of a training: curves above each other, and what a head does at the chosen moment."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_circuits.figures import drawing, tables
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.views import text
from transformer_circuits.figures.views.view import View
from transformer_circuits.figures.voice import ROLES, Name


def moments(
    times: Numbers,
    curves: Mapping[str, Mapping[str, Numbers]],
    *,
    tokens: Sequence[str],
    patterns: Numbers,
    probabilities: Numbers,
    head: str,
    x: str,
    label: str,
    roles: Mapping[str, Name],
    faint: Mapping[str, Numbers] | None = None,
) -> View:
    """A slider over a training that moves curves, the picture of a head and its tokens together.

    `times`: of the moments, rising and above 0, on a logarithmic axis named `x`. `curves`: by what
    they measure (the title of a small chart), then by name, a number for each moment; `roles`
    gives the colour of each name, and `faint` [moment, curve], by chart, what stays in the
    background. `patterns` [moment, dst, src]: attention of the `head` on the `tokens`, no attention
    forward. `probabilities` [moment, pos − 1]: what each token but the first had before it came.

    Raises:
        ValueError: if times do not rise from above 0, shapes do not fit, patterns are no
            probabilities, or a curve has no role.
    """
    places, n = array(times), len(tokens)
    if places.ndim != 1 or len(places) < 2 or places[0] <= 0 or (np.diff(places) <= 0).any():
        raise ValueError(f"times must rise from above 0, at least two, but are {places}")
    named = {name: row for chart in curves.values() for name, row in chart.items()}
    if missing := set(named) - set(roles):
        raise ValueError(f"the curves {sorted(missing)} have no role, only {sorted(roles)} do")
    if unknown := set(faint or {}) - set(curves):
        raise ValueError(f"faint curves are of {sorted(unknown)} but charts are {list(curves)}")
    count = len(places)
    charts = [
        {
            "title": title,
            "curves": [{"name": k, "values": _row(k, v, count)} for k, v in chart.items()],
            "faint": [_row(title, row, count) for row in array((faint or {}).get(title, [])).T],
        }
        for title, chart in curves.items()
    ]
    levels = text.checked(array(patterns), n)
    likely = array(probabilities)
    if levels.shape[0] != count or likely.shape != (count, n - 1):
        raise ValueError(
            f"patterns are of {levels.shape[0]} moments and probabilities {likely.shape} "
            f"but must be of {count} moments and ({count}, {n - 1})"
        )
    data = {"times": [float(f"{t:.4g}") for t in places], "charts": charts, "head": head, "x": x}
    data |= {"tokens": list(tokens), "patterns": text.packed(levels)}
    data["probabilities"] = [_row("probabilities", row, n - 1) for row in likely]
    data["colours"] = {k: [ROLES[roles[k]].light, ROLES[roles[k]].dark] for k in named}
    columns = zip(*(array(row) for row in named.values()), strict=True)
    rows = [[time, *values] for time, values in zip(places.tolist(), columns, strict=True)]
    table = tables.table(rows, columns=[x, *named], caption="Every moment")
    bundle = table._repr_mimebundle_()
    png = drawing.text_picture(bundle["text/plain"].splitlines(), across=False)
    return View("moments", data, label, png, bundle["text/html"])


def _row(name: str, values: Numbers, count: int) -> list[float]:
    """Three digits of each value; refused unless there are `count` of them, all finite."""
    row = array(values)
    if row.shape != (count,) or not np.isfinite(row).all():
        raise ValueError(f"{name} has {row} but needs {count} finite numbers")
    return [float(f"{value:.3g}") for value in row]
