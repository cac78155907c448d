"""A small circuit between copying and its opposite, of which the reader turns the knob."""

from collections.abc import Sequence

import numpy as np

from transformer_circuits.figures import drawing, tables
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.views.view import View

STEPS = 41
"""The slider has so many stops from -1 to 1, evenly spaced, with 0 among them."""


def spectrum(copying: Numbers, rest: Numbers, *, words: Sequence[str], label: str) -> View:
    """The matrix s · copying + rest, its eigenvalues and its copying score, for s from 1 to -1.

    `copying` and `rest`: [output, source], both between the tokens `words`; in logits. The script
    adds up the matrix; its eigenvalues, in units of the matrix, are computed here. The score is
    Σλ / Σ|λ|, from -1 to 1 (paper: "Detecting Copying Behavior").

    Raises:
        ValueError: if the matrices are not square with a row for each word, or not finite.
    """
    parts, n = [array(copying), array(rest)], len(words)
    for name, part in zip(("copying", "rest"), parts, strict=True):
        if part.shape != (n, n) or not np.isfinite(part).all():
            raise ValueError(
                f"{name} is {part.shape} but needs a finite number for {n} x {n} words"
            )
    parts = [np.round(part, 2) for part in parts]
    stops = np.linspace(-1, 1, STEPS).round(2)
    matrices = stops[:, None, None] * parts[0] + parts[1]
    found = np.linalg.eigvals(matrices)  # [stop, word]
    sizes = np.abs(found).sum(axis=1)
    scores = np.divide(found.sum(axis=1).real, sizes, out=np.zeros(STEPS), where=sizes > 1e-9)
    data = {
        "words": list(words),
        "copying": parts[0].tolist(),
        "rest": parts[1].tolist(),
        "stops": stops.tolist(),
        "eigenvalues": np.stack([found.real, found.imag], axis=-1).round(3).tolist(),
        "scores": scores.round(3).tolist(),
    }
    table = _table(stops, matrices, found, scores)._repr_mimebundle_()
    png = drawing.text_picture(table["text/plain"].splitlines(), across=False)
    return View("spectrum", data, label, png, table["text/html"])


def _table(stops, matrices, found, scores) -> tables.Table:
    """Every fifth stop, from copying down."""
    rows = []
    for t in range(STEPS - 1, -1, -5):
        first = (matrices[t].argmax(axis=0) == np.arange(matrices.shape[1])).sum()
        real = np.abs(found[t].imag) < 1e-6
        signs = [int((found[t].real[real] > 0).sum()), int((found[t].real[real] < 0).sum())]
        rows.append((stops[t], scores[t], int(first), *signs, int((~real).sum())))
    columns = ["s", "score", "tokens that raise themselves most", "positive", "negative", "complex"]
    return tables.table(rows, columns=columns, caption="Copying turned down to its opposite")
