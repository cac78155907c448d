"""What lies in ten tenths of many places, each with samples to be read."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from transformer_circuits.figures import tables
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.views.view import View, with_table


def tenths(
    shares: Mapping[str, Numbers],
    samples: Sequence[Mapping[str, object]],
    *,
    label: str,
    digits: int = 2,
) -> View:
    """Ten columns, of which the reader opens one and reads its samples.

    `shares`: by kind, the share of each tenth, weakest first, [10]; all kinds of a tenth are 1 together.
    `samples`: rows as for `tables.table`, with a column "tenth" from 1 to 10.

    Raises:
        ValueError: if shares are not ten for each kind or do not add up to 1, or a row has no tenth.
    """
    found = {kind: array(values) for kind, values in shares.items()}
    for kind, values in found.items():
        if values.shape != (10,):
            raise ValueError(f"{kind} has shares {values.shape} but there are ten tenths")
    sums = np.sum([*found.values()], axis=0)
    if not found or not np.allclose(sums, 1, atol=1e-3):
        raise ValueError(f"the shares of each tenth must add up to 1 but do to {sums}")
    of = [row.get("tenth") for row in samples]
    if not set(of) <= set(range(1, 11)):
        raise ValueError(f"rows are of the tenths {of} but each must be of one from 1 to 10")
    table = tables.table(samples, caption=label, digits=digits)
    listed = [[float(f"{share:.3g}") for share in values] for values in found.values()]
    data = {"kinds": list(found), "shares": listed, "of": of}
    record = dataclasses.replace(table.record, numbers={**table.record.numbers, **found})
    return with_table("tenths", data, record, table)
