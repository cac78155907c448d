"""A table of skip-trigrams in which the reader searches."""

from collections.abc import Mapping, Sequence

from transformer_circuits.figures import tables
from transformer_circuits.figures.views.view import View, with_table


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
    return with_table("trigrams", data, table.record, table)
