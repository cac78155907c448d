"""Edges between two layers, of which the reader cuts one after the other."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from transformer_circuits.figures import drawing, tables
from transformer_circuits.figures.values import Number, Numbers, array, number
from transformer_circuits.figures.views.view import View

LISTED = 12
"""So many edges are in the table that stands there without scripts."""


def edges(
    without: Mapping[str, Numbers],
    *,
    together: Mapping[str, Numbers],
    whole: Numbers,
    words: Sequence[str],
    scores: Mapping[str, Numbers],
    effects: Mapping[str, Numbers],
    chance: tuple[Number, Number],
    label: str,
) -> View:
    """A grid of edges, and what the edge that the reader chooses scores, does and breaks.

    All mappings are by kind of composition. Heads are named by their places, later ones 1.0, 1.1 and
    so on. At first the edge with the largest effect is chosen.

    `without`: the probability of each right token without one edge [later, earlier, token]; with
    the whole model it is `whole`. `together`: the same without an earlier head's edges to all later
    heads at once [earlier, token]. `words`: the right tokens, in their order. `scores` and `effects`:
    of each edge [later, earlier], the effects in nats per token. `chance`: mean and standard
    deviation of the scores of random heads.

    Raises:
        ValueError: if the kinds or shapes do not agree, or a probability is not within 0 and 1.
    """
    kinds, n = list(without), len(words)
    for name, other in (("together", together), ("scores", scores), ("effects", effects)):
        if list(other) != kinds:
            raise ValueError(f"{name} has kinds {list(other)} but without has {kinds}")
    cut, score, effect = (
        np.stack([array(m[k]) for k in kinds]) for m in (without, scores, effects)
    )
    at_once, p = np.stack([array(together[k]) for k in kinds]), array(whole)
    if cut.ndim != 4 or cut.shape[3] != n or p.shape != (n,):
        raise ValueError(f"without is {cut.shape[1:]} and whole {p.shape} but there are {n} words")
    shape = cut.shape[:3]
    if score.shape != shape or effect.shape != shape or at_once.shape != (*shape[::2], n):
        found = score.shape[1:], effect.shape[1:], at_once.shape[1:]
        raise ValueError(f"without has {shape[1:]} edges; scores, effects, together are {found}")
    for some in (cut, at_once, p):
        if not (some.min() >= 0 and some.max() <= 1 + 1e-6):  # NaN, too, is refused
            raise ValueError(f"probabilities are within 0 and 1 but go to {some.min(), some.max()}")
    rows = np.concatenate([cut, at_once[:, None]], axis=1)  # the last row: all later heads
    pairs = list(pairwise(words))
    data = {
        "kinds": kinds,
        "words": list(words),
        "again": [t > 0 and pairs[t - 1] in pairs[: t - 1] for t in range(n)],
        "whole": _thousandths(p),
        "without": _thousandths(rows),
        "scores": np.round(score, 4).tolist(),
        "effects": np.round(effect, 5).tolist(),
        "chance": [round(number(value), 4) for value in chance],
    }
    table = _table(kinds, words, p, cut, score, effect)._repr_mimebundle_()
    png = drawing.text_picture(table["text/plain"].splitlines(), across=False)
    return View("edges", data, label, png, table["text/html"])


def _thousandths(p: np.ndarray) -> list:
    """Probabilities as whole numbers, which take a page least."""
    return np.round(1000 * p).astype(int).tolist()


def _table(kinds, words, p, cut, score, effect) -> tables.Table:
    """The edges with the largest effects, and the token whose probability each changes most."""
    rows = []
    for place in np.argsort(-effect, axis=None)[:LISTED]:
        k, j, i = np.unravel_index(place, effect.shape)
        t = np.abs(cut[k, j, i] - p).argmax()
        edge = f"{kinds[k]}: 0.{i} → 1.{j}"
        rows.append((edge, score[k, j, i], effect[k, j, i], words[t], p[t], cut[k, j, i, t]))
    columns = ["edge", "score", "effect", "changes most", "with the edge", "without"]
    return tables.table(
        rows, columns=columns, caption="The edges with the largest effects", digits=3
    )
