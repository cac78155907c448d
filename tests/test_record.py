"""What outputs leave as data."""

import json

import numpy as np
import pytest
from test_charts import CHARTS
from test_drawings import DRAWINGS
from test_plots import FIGURES
from test_views import every_view

from transformer_circuits import record
from transformer_circuits.claims import catalogue
from transformer_circuits.claims.measurement import Decision
from transformer_circuits.claims.rules import Interval
from transformer_circuits.figures import plots, tables
from transformer_circuits.figures.status_matrix import StatusMatrix

WORDS = {"title": "Up & up", "alt": "It rises"}


def held(shown):
    """The record of an output, as an executed copy has it."""
    data, metadata = shown._repr_mimebundle_()
    return record.of(json.loads(json.dumps({"data": data, "metadata": metadata}, allow_nan=False)))


def test_every_figure_and_table_leaves_its_record():
    table = tables.table([{"head": "0.1", "loss": 1.5}], caption="Losses")
    dots = StatusMatrix({"a": {"holds": ["b"]}}, symbols={"holds": "✓"}, title="All")
    plots_and_charts = [make() for make in (*FIGURES, *CHARTS)]
    for shown in (*plots_and_charts, *every_view(), *DRAWINGS.values(), table, dots):
        found = held(shown)
        assert found["title"] and found["kind"] in ("figure", "table")
        assert found["id"] == f"{found['kind']}-{record.slug(found['title'])}"
        drawn = record.picture(
            dict(zip(("data", "metadata"), shown._repr_mimebundle_(), strict=True))
        )
        assert bool(found["picture"]) == bool(drawn)
        assert drawn[:4] in (b"", b"<?xm", b"<svg", b"\x89PNG")


def test_a_plot_has_its_numbers_in_full_with_their_units():
    values = np.array([[0.12345678, np.nan], [-2.0, 4096.0]])
    words = {"rows": "out", "cols": "in", "unit": "nats", **WORDS}
    found = held(plots.matrix(values, row_labels="ab", **words))
    assert found["numbers"] == {"values": [[0.123457, None], [-2, 4096]]}
    assert found["units"] == {"values": "nats"} and found["words"]["rows"] == ["a", "b"]
    lines = {"one": [([1, 2], [3.5, 1]), ([1], [2])]}
    found = held(plots.bundles(lines, x="step", y="loss", baselines={"one": 0.5}, **WORDS))
    assert found["numbers"] == {
        "one: x": [1, 2], "one: y": [3.5, 1], "one (2): x": [1], "one (2): y": [2],
        "one, level: y": 0.5,
    }  # fmt: skip
    assert found["units"] == {"x": "step", "y": "loss"} and found["text"] == "It rises"


def test_a_table_has_its_columns_in_full_and_the_rest_as_shown():
    rows = [["0.3", 1.23456, 12, "3 of 4"], ["1.1", -2.25, 7, 0.5]]
    found = held(tables.table(rows, columns=["head", "loss", "n", "n"], caption="Losses"))
    assert found["numbers"] == {"loss": [1.23456, -2.25], "n": [12, 7]} and found["digits"] == 2
    assert found["words"] == {"head": ["0.3", "1.1"], "n (2)": ["3 of 4", "0.50"]}


def test_a_verdict_has_every_estimate_and_what_cannot_be_had_is_none():
    name, measurement = next(iter(catalogue.measurements().items()))
    seeds, null = {"m": Interval(0.5, 0.4, 0.6, 12)}, {"null": None}
    found = held(Decision(measurement, "mixed", "1 of 1", seeds, null, {}))
    assert (found["kind"], found["claim"], found["id"]) == ("verdict", name, f"claim-{name}")
    assert found["numbers"] == {"m": [0.5, 0.4, 0.6, 12]} and found["text"] == "0.5 (0.4 to 0.6)"
    assert found["details"]["verdict"] == "mixed" and found["details"]["controls"] == null


@pytest.mark.parametrize("n", [record.MOST, record.MOST + 1])
def test_a_large_array_is_kept_as_a_summary(n):
    values = np.linspace(0, 1, n)
    kept = record.kept(values)
    if n == record.MOST:
        assert kept[-1] == 1 and len(kept) == n
    else:
        assert kept["shape"] == [n] and [kept[k] for k in ("min", "mean", "max")] == [0, 0.5, 1]
        assert kept["sd"] == pytest.approx(12**-0.5, abs=1e-3)
        assert len(kept["some"]) <= record.SOME
        assert kept["some"][1] == pytest.approx(values[kept["step"]], rel=1e-5)
