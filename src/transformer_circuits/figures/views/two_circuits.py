"""The two circuits of a head, one token at a time: who looks at it, and what it then raises."""

import base64
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from transformer_circuits.figures import drawing, tables
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.views.view import View

STEP = 0.01
"""Scores and logits are carried in steps of this. [nats, logits]"""
_MOST = 2**15 - 1  # of a 16-bit integer


def two_circuits(
    words: Sequence[str],
    sources: Numbers,
    columns: Mapping[str, Sequence[Numbers]],
    *,
    examples: Mapping[str, tuple[str, int]],
    label: str,
) -> View:
    """The strongest entries of both circuits of every head, for a source that the reader types.

    `words`: the label of every token of the vocabulary, by id. `sources`: ids of those that are
    carried. `columns`, by head: destinations [src, n_dst] and their scores above all else in nats,
    outputs [src, n_out] and their logits, as `analysis.one_layer.circuit_columns` finds them.
    `examples`: a head and a source by name; the first is what one sees at first.

    Raises:
        ValueError: if there is no head, source or example, arrays do not fit together, an id is not
            of the vocabulary, a number is not finite or too large for 16 bits, or an example is not
            carried.
    """
    ids = array(sources).astype(int)
    if not columns or not examples or not len(ids):
        raise ValueError(f"{len(columns)} heads, {len(ids)} sources and {len(examples)} examples")
    heads = {name: _planes(name, of_head, len(ids)) for name, of_head in columns.items()}
    stacked = [np.stack(plane) for plane in zip(*heads.values(), strict=True)]
    _check_ids(ids, stacked[0], stacked[2], n_words=len(words))
    placed = {int(token): place for place, token in enumerate(ids)}
    names = list(columns)
    for name, (head, token) in examples.items():
        if head not in heads or token not in placed:
            raise ValueError(f"{name} is token {token} in head {head}, which is not carried")
    shown = [[name, names.index(head), placed[token]] for name, (head, token) in examples.items()]
    whole = b"".join(plane.astype("<i2").tobytes() for plane in stacked)
    data = {
        "words": list(words),
        "sources": ids.tolist(),
        "heads": names,
        "sizes": [stacked[0].shape[2], stacked[2].shape[2]],
        "step": STEP,
        "packed": base64.b64encode(zlib.compress(whole, 9)).decode(),
        "examples": shown,
    }
    table = _table(data, [plane[shown[0][1], shown[0][2]] for plane in stacked])
    bundle = table._repr_mimebundle_()
    png = drawing.text_picture(bundle["text/plain"].splitlines(), across=False)
    return View("two_circuits", data, label, png, bundle["text/html"])


def carried(view: View) -> dict[str, tuple[np.ndarray, ...]]:
    """What a view of two circuits gives its script, as its `columns`, rounded to `STEP`."""
    data = view.data
    n_heads, n_sources, (n_dst, n_out) = len(data["heads"]), len(data["sources"]), data["sizes"]
    flat = np.frombuffer(zlib.decompress(base64.b64decode(data["packed"])), "<i2")
    ends = np.cumsum([0] + [n_heads * n_sources * n for n in (n_dst, n_dst, n_out, n_out)])
    dst, scores, out, logits = (
        flat[start:end].reshape(n_heads, n_sources, -1) for start, end in pairwise(ends)
    )
    planes = zip(dst.astype(int), scores * STEP, out.astype(int), logits * STEP, strict=True)
    return dict(zip(data["heads"], planes, strict=True))


def _planes(name: str, columns: Sequence[Numbers], n_sources: int) -> list[np.ndarray]:
    """The four arrays of a head as integers: ids, and values in steps."""
    planes = [array(plane) for plane in columns]
    shapes = [plane.shape for plane in planes]
    fits = len(shapes) == 4 and shapes[0] == shapes[1] and shapes[2] == shapes[3]
    if not fits or any(len(s) != 2 or s[0] != n_sources or not s[1] for s in shapes):
        raise ValueError(
            f"head {name} has arrays of shapes {shapes} but needs [{n_sources}, n_dst] twice "
            f"and [{n_sources}, n_out] twice"
        )
    scaled = [plane / (STEP if i % 2 else 1) for i, plane in enumerate(planes)]
    if not all((np.abs(plane) <= _MOST).all() for plane in scaled):  # NaN is not, either
        raise ValueError(f"head {name} has values that are not finite or above {_MOST * STEP:.0f}")
    return [np.rint(plane).astype(int) for plane in scaled]


def _check_ids(*ids: np.ndarray, n_words: int) -> None:
    low, high = min(a.min() for a in ids), max(a.max() for a in ids)
    if low < 0 or high >= n_words:
        raise ValueError(f"ids go from {low} to {high} but there are {n_words} words")


def _table(data: Mapping, planes: Sequence[np.ndarray]) -> tables.Table:
    """One token in one head, for where no script runs."""
    dst, scores, out, logits = planes
    words, (_, head, source) = data["words"], data["examples"][0]
    rows = [
        ("looks at it", words[i], f"{1 / (1 + np.exp(-s * STEP)):.2f} of the attention")
        for i, s in zip(dst, scores, strict=True)
    ]
    rows += [
        ("raised" if v > 0 else "lowered", words[i], f"{v * STEP:+.2f} logits")
        for i, v in zip(out, logits, strict=True)
    ]
    caption = f"The source {words[data['sources'][source]]} in head {data['heads'][head]}"
    return tables.table(rows, columns=["", "token", "how much"], caption=caption)
