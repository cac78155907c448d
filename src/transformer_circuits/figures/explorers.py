"""Chart with a slider that the reader sets.

As in `charts`: arrays and labels, never a model. Without scripts there is the picture of its
opening state, and the table below it.
"""

from collections.abc import Sequence

import altair
import numpy as np

from transformer_circuits.figures import theme, vega
from transformer_circuits.figures.values import Numbers, array, written

INK, MUTED = (theme.ROLES[name].light for name in ("ink", "muted"))
SIGN = altair.Color(
    "below:N",
    scale=altair.Scale(domain=[True, False], range=[theme.LESS.light, theme.MORE.light]),
    legend=None,
)
"""Colour of values below zero, and of the rest."""
SHADE = altair.Opacity("share:Q", scale=None)
PALEST = 0.6
"""Opacity of the strongest cell with words in it: ink must still be read there."""
PLANE = 225
"""Side of the plane of eigenvalues. [pixels]"""


def _short(value: float) -> float:
    """Value rounded to four digits."""
    return float(f"{value:.4g}")


def spectrum(
    copying: Numbers,
    rest: Numbers,
    *,
    tokens: Sequence[str],
    title: str,
    alt: str,
) -> vega.HoverChart:
    """Matrix s · copying + rest for s from -1 to 1, and its eigenvalues; a slider sets s.

    `copying`, `rest`: [out, in], logits that each token gives each output; `tokens`: their names.
    It opens with s = 1.
    """
    base, added, n = array(rest), array(copying), len(tokens)
    shares = np.linspace(-1, 1, 41)
    matrices = shares[:, None, None] * added + base
    spectra = np.linalg.eigvals(matrices).astype(complex)  # [s, eigenvalue]
    scores = spectra.sum(axis=1).real / np.abs(spectra).sum(axis=1)
    end, most = 1.35 * np.abs(spectra).max(), np.abs(spectra.imag).max()
    height = np.clip(2.2 * most, end / 2, end)
    sentences, dots = [], []
    for s, score, values, matrix in zip(shares, scores, spectra, matrices, strict=True):
        first = (matrix.argmax(axis=0) == np.arange(n)).sum()
        text = f"Copying score {written(score, '.2f')}; {first} of {n} tokens raise themselves most"
        sentences.append({"s": s, "text": text})
        dots += [{"s": s, "real": _short(z.real), "imaginary": _short(z.imag)} for z in values]
    now = "abs(datum.s - s) < 0.01"
    cells = [
        {"out": tokens[i], "in": tokens[j], "added": added[i, j], "base": base[i, j]}
        for i, j in np.ndindex(n, n)
    ]
    grid = (
        vega.chart(cells, 250, 225)
        .properties(view=vega.FRAME)
        .transform_calculate(
            value="datum.base + s * datum.added",
            share=f"{PALEST} * abs(datum.value) / {np.abs(matrices).max()}",
            below="datum.value < 0",
        )
    )
    grid = grid.transform_joinaggregate(most="max(value)", groupby=["in"]).encode(
        altair.X("in:N", sort=None, title="token looked at", axis=altair.Axis(labelAngle=0)),
        altair.Y("out:N", sort=None, title="token raised (frame: most)"),
    )
    first = grid.transform_filter("datum.value == datum.most")
    heat = altair.layer(
        grid.mark_rect().encode(SIGN, SHADE),
        first.mark_rect(fillOpacity=0, stroke=INK, strokeWidth=2),
        grid.mark_text(fontSize=12).encode(text=altair.Text("value:Q", format=".2f")),
    )
    plane = (
        vega.chart(dots, PLANE, PLANE)
        .properties(view=vega.FRAME)
        .transform_calculate(below="datum.real < 0")
    )
    plane = plane.encode(
        vega.x_axis("real:Q", "real part", (-end, end)),
        vega.y_axis("imaginary:Q", "imaginary part", (-height, height)),
    )
    here = plane.transform_filter(now).encode(SIGN, tooltip=["real:Q", "imaginary:Q"])
    full, turning = (here.transform_filter(f"datum.imaginary {sign} 0") for sign in ("==", "!="))
    layers = [
        plane.mark_point(filled=True, size=4, color=MUTED, aria=False),
        full.mark_point(filled=True, size=50, opacity=1),
        turning.mark_point(size=50, strokeWidth=2),
    ]
    points = altair.layer(*layers).properties(
        title=altair.Title(
            [
                "Eigenvalues: ● real   ○ in a complex pair",
                "teal: real part below 0, else red; ··· their paths",
            ],
            fontSize=12,
            fontWeight="normal",
        )
    )
    slider = altair.binding_range(
        min=-1, max=1, step=0.05, name="Anti-copying (left) to copying (right) "
    )
    mark = {"align": "left", "baseline": "top", "fontSize": 12}
    sentence = vega.chart(sentences, 200, 15).mark_text(**mark)
    sentence = sentence.encode(x=altair.value(0), y=altair.value(0), text="text:N")
    drawn = sentence.transform_filter(now) & (heat | points)
    by_share = {"copying part": shares, "copying score": scores}
    by_share["smallest real part"] = spectra.real.min(axis=1)
    kept = {"copying": added, "rest": base, **by_share}
    kept |= {"real parts": np.sort(spectra.real), "imaginary parts": np.sort(spectra.imag)}
    return vega.finish(
        drawn.add_params(altair.param("s", value=1, bind=slider)),
        title,
        alt,
        numbers=kept,
        words={"tokens": tokens},
        rows=[
            {name: float(values[k]) for name, values in by_share.items()} for k in range(0, 41, 5)
        ],
        wraps=1,
    )
