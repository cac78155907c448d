"""Measurement of `data/controls.json`: the values of rules where they must fail, and on plants."""

import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import groupby
from multiprocessing import get_context
from typing import Any

from tqdm.auto import tqdm

from transformer_circuits.claims import catalogue, recorded, subjects
from transformer_circuits.claims.measurement import Measurement

PROCESSES = 2


def renewed(*, everything: bool) -> Iterator[dict[str, dict[str, Any]]]:
    """Yield all rows of the record, after each group of claims that was measured; the last has them all.

    Measured are the claims whose row does not match the weights, the text and the code; with
    `everything`, all. Rows are in the order of the claims.
    """
    measurements, rows = catalogue.measurements(), dict(recorded.read())
    todo = [m for m in measurements.values() if everything or not recorded.matches(m)]
    # Rules of one module share what they measure.
    by_module = groupby(sorted(todo, key=_module), key=_module)
    groups = [[m.claim.id for m in of_module] for _, of_module in by_module]
    with (
        ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool,
        tqdm(total=len(todo), unit="rule", disable=not sys.stderr.isatty()) as bar,
    ):
        for done in as_completed([pool.submit(_measured, names) for names in groups]):
            rows |= done.result()
            bar.update(len(done.result()))
            yield {name: rows[name] for name in measurements if name in rows}
    yield {name: rows[name] for name in measurements if name in rows}


def _module(measurement: Measurement) -> str:
    return measurement.__module__


def _measured(names: list[str]) -> dict[str, dict[str, Any]]:
    """Rows of some claims, measured in a process of its own."""
    import torch

    torch.set_num_threads(1)
    rows = {}
    for name in names:
        measurement = catalogue.measurements()[name]
        subject = measurement.trained(subjects.of_seeds(measurement.claim.of)[0])
        rows[name] = recorded.row(measurement, measurement.beside(subject))
    return rows


def estimates(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Estimates of each claim, without the hash of their sources."""
    return {name: row["estimates"] for name, row in rows.items()}
