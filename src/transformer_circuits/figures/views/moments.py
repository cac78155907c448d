"""One training under one slider: its curves, and what some heads did at each kept moment."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_circuits.figures import tables
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.views.text import checked, triangles
from transformer_circuits.figures.views.view import View, with_table
from transformer_circuits.record import Record


def formation(
    times: Numbers,
    panels: Mapping[str, Mapping[str, Numbers]],
    tokens: Sequence[str],
    patterns: Numbers,
    chances: Numbers,
    *,
    heads: Sequence[str],
    x: str,
    label: str,
) -> View:
    """Curves of a training above each other, and the attention of some heads, all moved by one slider.

    `times`: [moment], positive and rising; `x`: what they count, "million tokens" for instance.
    `panels`: under a title with its unit, the curves of one scale: their names and values, [moment].
    `tokens`: a text that the model read at every moment, and `patterns`: [moment, head, dst, src], the
    attention that it paid there; `heads`: names of these heads.
    `chances`: [moment, pos], the probability that each token of the text was given before it came;
    NaN where nothing predicts it.

    Raises:
        ValueError: if the shapes do not fit each other, times do not rise from above 0, a curve has a
            value that is not finite, or the rows of a pattern are no probabilities.
    """
    when, seen, given = array(times), array(patterns), array(chances)
    n, shape = len(when), (len(when), len(heads), len(tokens), len(tokens))
    if not n or when[0] <= 0 or (np.diff(when) <= 0).any():
        raise ValueError(f"times must rise from above 0 but are {when}")
    if seen.shape != shape or given.shape != (n, len(tokens)):
        raise ValueError(
            f"patterns is {seen.shape} and chances {given.shape} but for {n} moments, {len(heads)} heads "
            f"and {len(tokens)} tokens they must be {shape} and {(n, len(tokens))}"
        )
    curves = [
        {"name": title, "lines": [{"name": k, "values": _curve(k, v, n)} for k, v in lines.items()]}
        for title, lines in panels.items()
    ]
    data = {
        "x": x,
        "times": [float(f"{value:.4g}") for value in when],
        "panels": curves,
        "tokens": list(tokens),
        "heads": list(heads),
        "chances": [[None if np.isnan(p) else float(f"{p:.3g}") for p in row] for row in given],
        "patterns": triangles(checked(seen.reshape(-1, *shape[2:]), len(tokens))),
    }
    named = [line for panel in curves for line in panel["lines"]]
    rows = [
        [f"{value:.3g}", *(line["values"][k] for line in named)] for k, value in enumerate(when)
    ]
    table = tables.table(rows, columns=[x, *(line["name"] for line in named)], caption="In numbers")
    numbers = {
        f"{title}: {name}": array(v) for title, of in panels.items() for name, v in of.items()
    }
    numbers |= {x: when, "probability of each token": given, "attention": seen}
    record = Record("figure", label, numbers=numbers, words={"tokens": tokens, "heads": heads})
    return with_table("formation", data, record, table)


def _curve(name: str, values: Numbers, n: int) -> list[float]:
    found = array(values)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"{name} is {found} but must have {n} finite values")
    return [float(f"{value:.4g}") for value in found]
