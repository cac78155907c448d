"""Table that the reader searches."""

from collections.abc import Mapping, Sequence

from transformer_circuits.figures import tables
from transformer_circuits.figures.views.view import View, with_table


def filtered(
    rows: Sequence[Mapping[str, object]],
    *,
    by: str,
    label: str,
    first: object = None,
    digits: int = 2,
) -> View:
    """Table that the reader narrows down to one value of a column and to rows with a token.

    `rows`: mappings as for `tables.table`. `by`: the column whose values are listed for choosing;
    `first`: the one that is chosen at first, if any. Tokens are looked for in all other columns
    that hold text.
    """
    table = tables.table(rows, caption=label, digits=digits)
    words = [
        " ".join(v for k, v in row.items() if k != by and isinstance(v, str)).lower()
        for row in rows
    ]
    chosen = None if first is None else str(first)
    data = {"by": by, "of": [str(row[by]) for row in rows], "first": chosen, "words": words}
    return with_table("filtered", data, table.record, table)
