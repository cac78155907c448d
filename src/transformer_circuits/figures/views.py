"""Views of a text: its attention patterns, for pointer, keyboard and touch, and a value for every token.

As in `plots`: arrays and labels, never a model. Patterns are an HTML output that holds its data and
works in the built book and in a notebook, without a network, by `scripts/attention.js`; where scripts
do not run it is a picture.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from jaxtyping import Float

from transformer_circuits.figures import html, matplotlib_figure, theme
from transformer_circuits.figures.values import Numbers, array, written
from transformer_circuits.record import PNG, Record

STRONGEST = 45
"""Share of colour behind the token with the largest value, on which its words still stand out. [%]"""
MOST_BYTES = 1_000_000
"""Most bytes of HTML in a view; more would make its page slow."""
TILE = 64
"""Longest side of one head in the picture that is shown without scripts. [pixels]"""


@dataclass(frozen=True)
class Text:
    """Text that Jupyter shows under its title, each of its tokens with a colour and a tip."""

    parts: Sequence[str]
    """HTML of each token."""
    key: str
    """Meaning of the colours, in words."""
    record: Record

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        style = "font-family:var(--type-tokens,monospace);line-height:1.9;overflow-wrap:anywhere"
        body = f'<div style="{style}">{" ".join(self.parts)}</div><p>{escape(self.key)}</p>'
        shown = {"text/html": html.captioned(self.record.title, body)}
        return shown | {"text/plain": f"[text: {self.record.title}]"}, self.record.metadata


@dataclass(frozen=True)
class View:
    """Attention patterns over a text, for pointer, keyboard and touch. Jupyter shows it as HTML, as a PNG picture, or as its `label`.

    Raises:
        ValueError: if its HTML would be larger than `MOST_BYTES`.
    """

    data: Mapping
    """Data for the script, besides the title."""
    record: Record
    """Record, whose title tells the content in words."""
    png: bytes
    """Picture for programs that show no HTML."""
    without_scripts: str
    """HTML before the script runs."""

    def __post_init__(self):
        size = len(self._body().encode())
        if size > MOST_BYTES:
            raise ValueError(
                f"the view takes {size} bytes but the most is {MOST_BYTES}: "
                "show fewer tokens or heads"
            )

    def _body(self) -> str:
        label = self.record.title
        data = html.data_script({"label": label, **self.data})
        body = f'<div class="circuit-view">{self.without_scripts}{data}</div>'
        return html.captioned(label, body)

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        shown = {
            "text/html": self._body() + html.script("attention.js"),
            PNG: base64.b64encode(self.png).decode(),
            "text/plain": f"[view: {self.record.title}]",
        }
        return shown, self.record.metadata


def attention(
    tokens: Sequence[str],
    patterns: Numbers,
    weighted: Numbers | None = None,
    *,
    heads: Sequence[str] | None = None,
    head: str | None = None,
    token: int | None = None,
    label: str,
) -> View:
    """View of several heads' attention patterns over one text: hover over heads and tokens, click to keep.

    `patterns`: [head, dst, src] or [layer, head, dst, src], probabilities, no attention forward.
    `weighted`: ‖v‖ of each head and source, [head, src] or [layer, head, src] (see
    `patterns.value_norms`); with it the reader can switch to attention times these lengths.
    `heads`: their names; by default "layer.head", or the head's number if there are no layers.
    `head`, `token`: the name and the place that are kept from the start, if any. `label`: the
    content of the view, in words.

    Raises:
        ValueError: if the shapes do not fit each other, the rows of a pattern are no
            probabilities, some attention goes to a later token, or `head` or `token` is not there.
    """
    values, n = array(patterns), len(tokens)
    flat, shape = checked(values, n), values.shape
    names = list(heads or _names(shape))
    if len(names) != len(flat):
        raise ValueError(f"{len(names)} names given for {len(flat)} heads")
    if head not in (None, *names) or token not in (None, *range(n)):
        raise ValueError(f"head {head} and token {token} of {names} and {n} tokens are asked for")
    columns = shape[1] if len(shape) == 4 else min(8, len(flat))
    data = {"tokens": list(tokens), "heads": names, "columns": columns, "token": token}
    data["head"] = None if head is None else names.index(head)
    data["patterns"] = triangles(flat)
    numbers = {"attention": flat}
    if weighted is not None:
        norms = array(weighted).reshape(-1, n)
        if norms.shape != (len(flat), n):
            raise ValueError(f"weighted is {array(weighted).shape} but patterns are {shape}")
        data["norms"] = [[float(f"{norm:.3g}") for norm in row] for row in norms]
        numbers["length of the value"] = norms
    png = matplotlib_figure.pixels(_montage(flat, names, columns))
    picture = html.image(png, "image/png", label, "width:100%;image-rendering:pixelated")
    words = {"tokens": tokens, "heads": names}
    record = Record("figure", label, numbers=numbers, words=words, picture=PNG)
    return View(data, record, png, picture)


def checked(patterns: np.ndarray, n: int) -> Float[np.ndarray, "head n n"]:
    """Attention patterns of n tokens, [(layer,) head, dst, src], as those of heads in one row.

    Raises:
        ValueError: if their shape is another, rows are no probabilities, or some goes forward.
    """
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


def triangles(patterns: Float[np.ndarray, "head n n"]) -> str:
    """Patterns as scripts unpack them: rows up to the diagonal, a byte an entry, zlib, base64."""
    levels = np.round(patterns[:, *np.tril_indices(patterns.shape[1])] * 255).astype(np.uint8)
    return base64.b64encode(zlib.compress(levels.tobytes(), 9)).decode()


def _names(shape: tuple[int, ...]) -> list[str]:
    if len(shape) == 3:
        return [str(head) for head in range(shape[0])]
    return [f"{layer}.{head}" for layer in range(shape[0]) for head in range(shape[1])]


def _montage(
    patterns: Float[np.ndarray, "head n n"], names: Sequence[str], columns: int
) -> Float[np.ndarray, "y x 3"]:
    """Picture of the patterns in rows of `columns`, each shrunk to at most `TILE` pixels a side.

    From white to the colour of the head's layer. A pixel that stands for several entries shows the
    largest.
    """
    step = -(-patterns.shape[1] // TILE)  # entries per pixel, rounded up
    pad = -patterns.shape[1] % step
    padded = np.pad(patterns, ((0, 0), (0, pad), (0, pad)))  # [head, side · step, side · step]
    side = padded.shape[1] // step
    tiles = padded.reshape(-1, side, step, side, step).max(axis=(2, 4))  # [head, side, side]
    # Empty tiles fill the last row; two empty pixels part each tile from the next.
    tiles = np.pad(tiles, ((0, -len(tiles) % columns), (0, 2), (0, 2)))
    full = np.ones((len(tiles), 3))  # [head, rgb]
    for colour, name in zip(full, names, strict=False):  # empty tiles have no name
        colour[:] = np.array([*bytes.fromhex((theme.of_head(name) or theme.MORE).light[1:])]) / 255
    painted = 1 - tiles[..., None] * (1 - full[:, None, None])  # [head, y, x, rgb]
    rows = painted.reshape(-1, columns, *painted.shape[1:])  # [row, column, y, x, rgb]
    return np.concatenate([np.concatenate([*row], axis=1) for row in rows])


def tokens(
    tokens: Sequence[str], values: Mapping[str, Numbers], *, shown: str, unit: str, label: str
) -> Text:
    """Text in which every token is coloured by its value in the row that is `shown`.

    Above 0 is red and below it teal, stronger with the distance from 0; NaN (the loss of a first
    token, say) stays blank. `values`: by the name of a row; a token's tip has those of all.
    `unit`: of the values; `label`: the content of the text, in words.

    Raises:
        ValueError: if a row does not have one value per token, or no row is called `shown`.
    """
    rows = {name: array(row) for name, row in values.items()}
    if shown not in rows or any(row.shape != (len(tokens),) for row in rows.values()):
        has = {name: row.shape for name, row in rows.items()}
        raise ValueError(f"{shown} of {len(tokens)} tokens is to be shown, but there are {has}")
    parts, most = [], np.nanmax(np.abs(rows[shown]), initial=0)
    for k, token in enumerate(tokens):
        tip = ", ".join(f"{name} {written(row[k], '.2f')}" for name, row in rows.items())
        value = np.nan_to_num(rows[shown][k])
        colour = (theme.LESS if value < 0 else theme.MORE).light
        look = f"background:color-mix(in srgb,{colour} {STRONGEST * abs(value) / (most or 1):.0f}%,transparent)"
        parts.append(
            f'<span title="{escape(f"{tip} {unit}")}" style="{look}">{escape(token)}</span>'
        )
    key = f"{shown}: red above 0, teal below; the fullest colour is {most:.2f} {unit}."
    units = dict.fromkeys(rows, unit)
    record = Record("figure", label, key, numbers=rows, units=units, words={"tokens": tokens})
    return Text(parts, key, record)
