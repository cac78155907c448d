"""Figures that answer to the pointer, the keyboard and a finger: tokens and attention.

As in `plots`: arrays and labels, never a model. Each view is an HTML output that holds its data
and works in the built book, in a notebook and in a saved file, without a network; without scripts
it is a picture or a table. The scripts are `views.js`, `attention.js` and `tokens.js` beside it.
"""

import base64
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from transformer_circuits.figures import drawing, tables
from transformer_circuits.figures.drawing import Numbers, array

MOST_BYTES = 1_000_000
"""The largest view; more would make its page slow."""
TILE = 64
"""Pixels of one head in the picture for those without scripts."""


@dataclass(frozen=True)
class View:
    """Something to touch. Jupyter shows it as HTML, as a PNG picture, or as its `label`.

    Raises:
        ValueError: if its HTML would be larger than `MOST_BYTES`.
    """

    kind: str
    data: Mapping
    label: str
    """What it shows, in words: also the alternative text of the picture."""
    png: bytes
    without_scripts: str
    """HTML that stands there until the script runs."""

    def __post_init__(self):
        size = len(self._body().encode())
        if size > MOST_BYTES:
            raise ValueError(
                f"the view takes {size} bytes but the most is {MOST_BYTES}: "
                "show fewer tokens or heads"
            )

    def _body(self) -> str:
        data = drawing.data_script({"label": self.label, **self.data})
        place = f'<div class="circuit-view" data-kind="{self.kind}">'
        body = f"{place}{self.without_scripts}{data}</div>"
        # The table of skip-trigrams stays, and has its own caption.
        return body if self.kind == "trigrams" else drawing.captioned(self.label, body)

    @property
    def _scripts(self) -> tuple[str, str]:
        return "views.js", "attention.js" if self.kind == "attention" else "tokens.js"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {
            "text/html": self._body() + drawing.scripts(*self._scripts),
            "image/png": base64.b64encode(self.png).decode(),
            "text/plain": f"[view: {self.label}]",
        }

    def save(self, path: Path) -> None:
        """Write a page that holds this view and needs nothing else."""
        drawing.save_page(path, self.label, self._body(), *self._scripts)


def attention(
    tokens: Sequence[str],
    patterns: Numbers,
    weighted: Numbers | None = None,
    *,
    heads: Sequence[str] | None = None,
    label: str,
) -> View:
    """Attention patterns of several heads over one text: point at heads and tokens, click to keep.

    `patterns`: [head, dst, src] or [layer, head, dst, src], probabilities, no attention forward.
    `weighted`: ‖v‖ of each head and source, [head, src] or [layer, head, src] (see
    `patterns.value_norms`); with it the reader can switch to attention times these lengths.
    `heads`: their names; "layer.head" if there are layers, else counted from 0.
    `label`: what is to be seen, for those who do not see it.

    Raises:
        ValueError: if shapes do not fit each other, or a pattern is no probability or looks ahead.
    """
    values, n = array(patterns), len(tokens)
    flat, shape = _checked(values, n), values.shape
    names = list(heads or _names(shape))
    if len(names) != len(flat):
        raise ValueError(f"{len(names)} names given for {len(flat)} heads")
    columns = shape[1] if len(shape) == 4 else min(8, len(flat))
    data = {"tokens": list(tokens), "heads": names, "columns": columns}
    levels = np.round(flat[:, *np.tril_indices(n)] * 255).astype(np.uint8)
    data["patterns"] = base64.b64encode(zlib.compress(levels.tobytes(), 9)).decode()
    if weighted is not None:
        norms = array(weighted).reshape(-1, n)
        if norms.shape != (len(flat), n):
            raise ValueError(f"weighted is {array(weighted).shape} but patterns are {shape}")
        data["norms"] = [[float(f"{norm:.3g}") for norm in row] for row in norms]
    png = drawing.pixels(_montage(flat, columns))
    return View("attention", data, label, png, drawing.picture(png, label))


def _checked(patterns: np.ndarray, n: int) -> Float[np.ndarray, "head n n"]:
    shape = patterns.shape
    if len(shape) not in (3, 4) or shape[-2:] != (n, n) or not patterns.size:
        raise ValueError(
            f"patterns is {shape} but must be [(layer,) head, {n}, {n}] for {n} tokens"
        )
    flat = patterns.reshape(-1, n, n)
    sums = flat.sum(axis=-1)
    if np.triu(flat, 1).any() or not (np.abs(sums - 1) < 1e-3).all() or flat.min() < 0:
        raise ValueError(
            "patterns must be probabilities without attention forward, but rows sum to "
            f"{sums.min():.3g} to {sums.max():.3g}, the least is {flat.min():.3g} and the most "
            f"forward {np.triu(flat, 1).max():.3g}"
        )
    return flat


def _names(shape: tuple[int, ...]) -> list[str]:
    if len(shape) == 3:
        return [str(head) for head in range(shape[0])]
    return [f"{layer}.{head}" for layer in range(shape[0]) for head in range(shape[1])]


def _montage(patterns: Float[np.ndarray, "head n n"], columns: int) -> Float[np.ndarray, "y x"]:
    """The patterns side by side, each reduced to at most `TILE` pixels by its largest values."""
    step = -(-patterns.shape[1] // TILE)
    pad = -patterns.shape[1] % step
    padded = np.pad(patterns, ((0, 0), (0, pad), (0, pad)))
    side = padded.shape[1] // step
    tiles = padded.reshape(-1, side, step, side, step).max(axis=(2, 4))
    tiles = np.pad(tiles, ((0, -len(tiles) % columns), (0, 2), (0, 2)))
    rows = tiles.reshape(-1, columns, side + 2, side + 2)
    return np.concatenate([np.concatenate(list(row), axis=1) for row in rows], axis=0)


def tokens(
    tokens: Sequence[str],
    values: Numbers | Mapping[str, Numbers],
    *,
    unit: str,
    label: str,
    differences: Collection[str] = (),
    first: str | None = None,
) -> View:
    """A text whose tokens are coloured by a value each; several named values can be switched.

    Red above 0 and blue below it, as strong as the value is far from 0; NaN (a first token's
    loss, say) stays blank. `unit` and `label` as in `attention` and `plots`. All named values
    share one scale, so that the same colour is the same value whichever is shown; those called
    `differences` share another, to either side of 0. `first` is shown at first, if not the first.

    Raises:
        ValueError: if there is not one value per token, or no value at all, or one is infinite, or
            `differences` or `first` are not among the names.
    """
    named = dict(values) if isinstance(values, Mapping) else {"value": values}
    if not named or not len(tokens):
        raise ValueError(f"{len(tokens)} tokens and {len(named)} rows of values given")
    rows = {}
    for name, row in named.items():
        row = array(row)
        if row.shape != (len(tokens),):
            raise ValueError(f"{name} has shape {row.shape} but there are {len(tokens)} tokens")
        rows[name] = [None if np.isnan(v) else float(f"{v:.4g}") for v in row]
    first = next(iter(rows)) if first is None else first
    if unknown := {first, *differences} - set(rows):
        raise ValueError(f"{sorted(unknown)} are asked for but the values are {list(rows)}")
    data = {"tokens": list(tokens), "values": rows, "unit": unit, "first": first}
    data["differences"], row = list(differences), rows[first]
    shown = [{"token": t, f"{first} [{unit}]": v} for t, v in zip(tokens, row, strict=True)]
    png = drawing.text_picture(
        [f"{t} {'' if v is None else f'{v:.2f}'}" for t, v in zip(tokens, row, strict=True)]
    )
    table = tables.table(shown, caption="Token by token")._repr_mimebundle_()["text/html"]
    return View("tokens", data, label, png, table)


def skip_trigrams(rows: Sequence[Mapping[str, object]], *, label: str, digits: int = 1) -> View:
    """A table of skip-trigrams that can be narrowed to a head or to a token.

    `rows`: as for `tables.table`, with a column "head"; every other column that is text is
    searched for tokens.

    Raises:
        ValueError: if there are no rows, or they have no column "head".
    """
    table = tables.table(rows, caption=label, digits=digits)
    if "head" not in rows[0]:
        raise ValueError(f'rows have columns {list(rows[0])} but must have "head"')
    of = [str(row["head"]) for row in rows]
    words = [
        " ".join(v for k, v in row.items() if k != "head" and isinstance(v, str)).lower()
        for row in rows
    ]
    data = {"heads": list(dict.fromkeys(of)), "of": of, "words": words}
    bundle = table._repr_mimebundle_()
    png = drawing.text_picture(bundle["text/plain"].splitlines(), across=False)
    return View("trigrams", data, label, png, bundle["text/html"])
