"""A small matrix whose copying part the reader takes away, with its eigenvalues."""

from collections.abc import Sequence

import numpy as np

from transformer_circuits.figures import tables
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.views.view import View, with_table
from transformer_circuits.record import Record

STEPS = 41
"""How many mixtures are shown, from -1 to 1 of the copying part."""


def spectrum(copying: Numbers, rest: Numbers, *, tokens: Sequence[str], label: str) -> View:
    """The matrix s · copying + rest for s from -1 to 1, and its eigenvalues; a slider sets s.

    `copying`, `rest`: [out, in], logits that each token gives each output; `tokens`: their names.

    Raises:
        ValueError: if the two are no square matrices of finite numbers with a side for each token.
    """
    parts, n = [array(copying).astype(float), array(rest).astype(float)], len(tokens)
    if any(part.shape != (n, n) or not np.isfinite(part).all() for part in parts):
        raise ValueError(
            f"matrices of finite numbers [{n}, {n}] are needed for {n} tokens but the shapes are "
            f"{[part.shape for part in parts]}"
        )
    steps, rows, shares = [], [], np.linspace(-1, 1, STEPS)
    spectra = np.linalg.eigvals(shares[:, None, None] * parts[0] + parts[1]).astype(complex)
    for s, found in zip(shares, spectra, strict=True):
        pairs = [[round(z.real, 3), round(z.imag, 3)] for z in found]
        steps.append({"s": round(float(s), 3), "eigenvalues": pairs})
        rows.append([f"{s:.2f}", found.sum().real / np.abs(found).sum(), found.real.min()])
    columns = ["copying part", "Σλ/Σ|λ|", "smallest real part"]
    table = tables.table(rows[:: STEPS // 8], columns=columns, caption="In numbers")
    numbers = [[[float(f"{v:.4g}") for v in row] for row in part] for part in parts]
    data = {"tokens": list(tokens), "copying": numbers[0], "rest": numbers[1], "steps": steps}
    kept = {"copying": parts[0], "rest": parts[1], columns[0]: shares}
    kept |= {name: [row[k] for row in rows] for k, name in enumerate(columns[1:], 1)}
    kept |= {"real parts": np.sort(spectra.real), "imaginary parts": np.sort(spectra.imag)}
    record = Record("figure", label, numbers=kept, words={"tokens": tokens})
    return with_table("spectrum", data, record, table)
