"""Interactive views of tokens and attention, for pointer, keyboard and touch.

As in `plots`: arrays and labels, never a model. Each view is an HTML output that holds its data
and works in the built book, in a notebook and in a saved file, without a network; where scripts
do not run it is a picture or a table. Its scripts are `views.js` with `attention.js` or
`tokens.js`.
"""

import base64
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from transformer_circuits.figures import drawing, html, tables
from transformer_circuits.figures.values import Numbers, array

MOST_BYTES = 1_000_000
"""The most bytes of HTML in a view; more would make its page slow."""
TILE = 64
"""The longest side, in pixels, of one head in the picture that is shown without scripts."""


@dataclass(frozen=True)
class View:
    """An interactive figure. Jupyter shows it as HTML, as a PNG picture, or as its `label`.

    Raises:
        ValueError: if its HTML would be larger than `MOST_BYTES`.
    """

    kind: str
    """The name under which its script registers: `attention`, `tokens`, `trigrams` or `paths`."""
    data: Mapping
    """What the script is given, besides the label."""
    label: str
    """What it shows, in words: its caption, and the alternative text of the picture."""
    png: bytes
    """The picture, for programs that show no HTML."""
    without_scripts: str
    """HTML that stands there until the script runs."""
    script: str
    """The script that registers this kind; `views.js` is loaded before it."""
    captioned: bool = False
    """Whether `without_scripts` has a caption of its own that stays when the script runs."""

    def __post_init__(self):
        size = len(self._body().encode())
        if size > MOST_BYTES:
            raise ValueError(
                f"the view takes {size} bytes but the most is {MOST_BYTES}: "
                "show fewer tokens or heads"
            )

    def _body(self) -> str:
        data = html.data_script({"label": self.label, **self.data})
        place = f'<div class="circuit-view" data-kind="{self.kind}">'
        body = f"{place}{self.without_scripts}{data}</div>"
        return body if self.captioned else html.captioned(self.label, body)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {
            "text/html": self._body() + html.scripts("views.js", self.script),
            "image/png": base64.b64encode(self.png).decode(),
            "text/plain": f"[view: {self.label}]",
        }

    def save(self, path: Path) -> None:
        """Write a page with this view that loads nothing."""
        html.save_page(path, self.label, self._body(), "views.js", self.script)


def attention(
    tokens: Sequence[str],
    patterns: Numbers,
    weighted: Numbers | None = None,
    *,
    heads: Sequence[str] | None = None,
    label: str,
) -> View:
    """Attention patterns of several heads over one text: hover over heads and tokens, click to keep.

    `patterns`: [head, dst, src] or [layer, head, dst, src], probabilities, no attention forward.
    `weighted`: ‖v‖ of each head and source, [head, src] or [layer, head, src] (see
    `patterns.value_norms`); with it the reader can switch to attention times these lengths.
    `heads`: their names; by default "layer.head", or the head's number if there are no layers.
    `label`: what there is to be seen, in words.

    Raises:
        ValueError: if the shapes do not fit each other, the rows of a pattern are no
            probabilities, or some attention goes to a later token.
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
    picture = html.image(png, "image/png", label, "width:100%;image-rendering:pixelated")
    return View("attention", data, label, png, picture, "attention.js")


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
    """The patterns in rows of `columns`, each shrunk to at most `TILE` pixels a side.

    A pixel that stands for several entries shows the largest.
    """
    step = -(-patterns.shape[1] // TILE)  # entries per pixel, rounded up
    pad = -patterns.shape[1] % step
    padded = np.pad(patterns, ((0, 0), (0, pad), (0, pad)))  # [head, side · step, side · step]
    side = padded.shape[1] // step
    tiles = padded.reshape(-1, side, step, side, step).max(axis=(2, 4))  # [head, side, side]
    # Empty tiles fill the last row; two empty pixels part each tile from the next.
    tiles = np.pad(tiles, ((0, -len(tiles) % columns), (0, 2), (0, 2)))
    rows = tiles.reshape(-1, columns, side + 2, side + 2)  # [row, column, y, x]
    return np.block([list(row) for row in rows])


def tokens(
    tokens: Sequence[str],
    values: Numbers | Mapping[str, Numbers],
    *,
    unit: str,
    label: str,
    differences: Collection[str] = (),
    first: str | None = None,
) -> View:
    """A text in which every token is coloured by its value.

    Above 0 is red and below it blue, stronger with the distance from 0; NaN (the loss of a first
    token, say) stays blank. `unit`: of the values; `label`: what there is to be seen, in words.

    `values` may be several named rows, of which the reader chooses one; `first` is the one shown
    at first. All rows share one scale, so that a colour is the same value in each; those named in
    `differences` share another one, symmetric about 0.

    Raises:
        ValueError: if there are no values, a row does not have one per token, a value is infinite,
            or `differences` or `first` name no row.
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
    return View("tokens", data, label, png, table, "tokens.js")


def skip_trigrams(rows: Sequence[Mapping[str, object]], *, label: str, digits: int = 1) -> View:
    """A table of skip-trigrams that the reader filters by head and by token.

    `rows`: mappings as for `tables.table`, with a column "head". Tokens are looked for in all
    other columns that hold text.

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
    return View("trigrams", data, label, png, bundle["text/html"], "tokens.js", captioned=True)


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
    bundle, data = table._repr_mimebundle_(), {"answers": list(answers), "groups": listed}
    png = drawing.text_picture(bundle["text/plain"].splitlines(), across=False)
    return View("paths", data, label, png, bundle["text/html"], "tokens.js")
