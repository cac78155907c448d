"""View of a head's QK and OV circuit, token by token: destinations that look at it, outputs it raises."""

from collections.abc import Mapping, Sequence

import numpy as np

from transformer_circuits.figures import tables
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.views.view import View, packed, with_table
from transformer_circuits.record import PNG, Record

MOST, LEAST = 6, 3
"""Numbers of destinations and raised outputs, and of lowered outputs, listed for a source."""


def head_circuits(
    by_head: Mapping[str, tuple[Numbers, Numbers]],
    tokens: Sequence[str],
    sources: Sequence[int],
    *,
    label: str,
    head: str | None = None,
    weight: Numbers | None = None,
    opens: tuple[int, int] | None = None,
) -> View:
    """View to choose a head and a source token: destinations that look at it, and its effect on outputs.

    `by_head`: by a head's name its attention [dst, src], from 0 to 1, and its logits [out, src].
    `tokens`: the name of every token; `sources`: those that can be chosen, in their order. The view
    opens at the first of them, in `head`, or in the first head if none is named.
    `weight`: [token], by which destinations and raised outputs are chosen, besides their value.
    `opens`: a destination and an output that are listed and chosen at first. Attention is sent in
    thousandths, logits in hundredths.
    """
    n = len(tokens)
    rank = np.ones(n) if weight is None else array(weight)
    chosen, entries, used, rows = np.array(sources), [], {}, []
    listed: dict[str, list] = {name: [] for name in ("attention", "raised", "lowered")}
    for name, (attention, logits) in by_head.items():
        where, what = array(attention), array(logits)
        lists = (
            (where, _first(where[:, chosen] * rank[:, None], MOST), 1000),
            (what, _first(what[:, chosen] * rank[:, None], MOST), 100),
            (what, _first(-what[:, chosen], LEAST), 100),
        )
        if opens and name == (head or next(iter(by_head))):
            for (_, best, _), token in zip(lists, opens, strict=False):
                if token not in best[:, 0]:
                    best[-1, 0] = token
        for (matrix, best, _), (kind, values) in zip(lists, listed.items(), strict=True):
            sign = -1 if kind == "lowered" else 1  # the lowest first, else the largest
            order = (-sign * matrix[best, chosen]).argsort(axis=0, kind="stable")
            best[:] = np.take_along_axis(best, order, axis=0)
            values.append(matrix[best, chosen])
        for column, source in enumerate(sources):
            for matrix, best, scale in lists:
                for token in best[:, column].tolist():
                    value = np.clip(round(float(matrix[token, source]) * scale), -32768, 32767)
                    entries += [used.setdefault(token, len(used)), int(value)]
        row = [name, tokens[sources[0]]]
        rows.append([*row, *(" ".join(tokens[k] for k in best[:, 0]) for _, best, _ in lists)])
    data = {
        "heads": list(by_head),
        "head": 0 if head is None else list(by_head).index(head),
        "sources": [used.setdefault(source, len(used)) for source in sources],
        "opens": [used[token] for token in opens or ()],
        "words": [tokens[token] for token in used],
        "most": MOST,
        "least": LEAST,
        "entries": packed(np.array(entries, dtype="<i2")),
    }
    columns = ["head", "source", "who looks at it", "what it raises", "what it lowers"]
    table = tables.table(rows, columns=columns, caption=label)
    words = {**table.record.words, "sources": [tokens[source] for source in sources]}
    record = Record("figure", label, numbers=listed, words=words, picture=PNG)
    return with_table("circuits", data, record, table)


def _first(values: np.ndarray, n: int) -> np.ndarray:
    """Rows of the n largest values of every column, largest first, [n, column]."""
    some = np.argpartition(-values, min(n, len(values) - 1), axis=0)[:n]
    order = np.take_along_axis(-values, some, axis=0).argsort(axis=0, kind="stable")
    return np.take_along_axis(some, order, axis=0)
