"""Edges between two layers: what a score says of each, and what becomes of a text without it."""

from collections.abc import Sequence

import numpy as np

from transformer_circuits.figures import tables
from transformer_circuits.figures.values import Number, Numbers, array, number
from transformer_circuits.figures.views.view import View, with_table
from transformer_circuits.record import Record


def edges(
    scores: Numbers,
    effects: Numbers,
    *,
    kinds: Sequence[str],
    later: Sequence[str],
    earlier: Sequence[str],
    chance: tuple[Number, Number],
    unit: str,
    tokens: Sequence[str],
    whole: Numbers,
    without: Numbers,
    together: Numbers | None = None,
    label: str,
) -> View:
    """Choose an edge: its score beside chance, its effect, and a text with and without it.

    `scores`, `effects`: [kind, later head, earlier head], the effects in `unit`; `kinds`, `later`,
    `earlier`: their names. `chance`: mean and standard deviation of the score of random heads.
    `tokens`: a short text; `whole`: [pos], the probability of each of its tokens before it came, NaN
    where nothing predicts it; `without`: [kind, later head, earlier head, pos], with that edge cut.
    `together`: [kind, earlier head, pos], with all edges of that head cut at once, whichever later head
    they lead to; it becomes a last row of the grid, without scores and effects.

    Raises:
        ValueError: if the shapes do not fit each other, or a score or an effect is not finite.
    """
    shape = (len(kinds), len(later), len(earlier))
    found = {"scores": array(scores), "effects": array(effects)}
    for name, values in found.items():
        if values.shape != shape or not np.isfinite(values).all():
            raise ValueError(f"{name} is {values.shape} but needs finite numbers {shape}")
    given, cut = array(whole), array(without)
    if given.shape != (len(tokens),) or cut.shape != (*shape, len(tokens)):
        raise ValueError(
            f"whole is {given.shape} and without {cut.shape} but for {len(tokens)} tokens they must be "
            f"{(len(tokens),)} and {(*shape, len(tokens))}"
        )
    if together is not None:
        at_once = array(together)
        if at_once.shape != (*shape[::2], len(tokens)):
            needed = (*shape[::2], len(tokens))
            raise ValueError(f"together is {at_once.shape} but must be {needed}")
        cut = np.concatenate([cut, at_once[:, None]], axis=1)
    table = _table(found, kinds, later, earlier, unit)
    words = {"kinds": kinds, "later": later, "earlier": earlier, "tokens": tokens}
    numbers = found | {"chance": number(chance[0]), "spread": number(chance[1])}
    numbers |= {"whole": given, "without": cut}
    record = Record("figure", label, numbers=numbers, units={"effects": unit}, words=words)
    data = {
        **{name: list(of) for name, of in words.items()},
        **{name: _rounded(values, 4) for name, values in found.items()},
        "chance": number(chance[0]),
        "spread": number(chance[1]),
        "unit": unit,
        "whole": _rounded(given, 3),
        "without": _rounded(cut, 3),
    }
    return with_table("edges", data, record, table)


def _table(found, kinds, later, earlier, unit) -> tables.Table:
    """The edges of greatest effect, for where no script runs."""
    rows = []
    for place in np.argsort(-found["effects"], axis=None)[:8]:
        kind, j, i = np.unravel_index(place, found["effects"].shape)
        numbers = (float(values[kind, j, i]) for values in found.values())
        rows.append([f"{earlier[i]} → {later[j]}", kinds[kind], *numbers])
    columns = ["edge", "into", "score", f"effect [{unit}]"]
    return tables.table(rows, columns=columns, caption="The edges of greatest effect", digits=4)


def _rounded(values: np.ndarray, digits: int) -> list:
    """As nested lists; what is not a number is None."""
    if values.ndim > 1:
        return [_rounded(row, digits) for row in values]
    return [None if np.isnan(value) else round(float(value), digits) for value in values]
