"""The records of the study of size, and what may be said of a trend."""

import pytest

from transformer_circuits.claims import registry, rules, sizes
from transformer_circuits.experiments import study
from transformer_circuits.experiments.study import Trained
from transformer_circuits.training import checkpoint


def line(width, seed, mean, n_heads=4, tokens=1):
    estimate = {"mean": mean, "low": mean, "high": mean, "n": 1}
    return Trained(
        {
            "run": f"width {width}",
            "seed": seed,
            "choices": {"tokens": tokens},
            "shape": {"d_model": width, "n_heads": n_heads, "d_head": 64},
            "estimates": {"resting-place": estimate, "icl-score": {"not applicable": "none"}},
            "estimates_white": {},
        }
    )


@pytest.mark.parametrize(
    "narrow, wide, side, expected",
    [
        ((0.1, 0.2), (0.3, 0.4), "above", "nearer"),
        ((0.1, 0.2), (0.3, 0.4), "below", "farther"),
        ((0.3, 0.4), (0.1, 0.2), "above", "farther"),
        ((0.1, 0.3), (0.2, 0.4), "above", "neither"),
    ],
)
def test_a_trend_keeps_all_seeds_apart(narrow, wide, side, expected):
    few = [line(128, 0, 9.0, n_heads=2), line(128, 1, -9.0, n_heads=2)]
    lines = [line(w, k, v) for w, of in ((256, narrow), (512, wide)) for k, v in enumerate(of)]
    assert study.trend([*few, *lines], "resting-place", side) == expected
    assert study.trend(lines, "icl-score", side) == "neither"
    assert study.trend(lines, "resting-place", side, study.WHITE) == "neither"
    assert study.trend(lines[:2], "resting-place", side) == "neither"


def test_verdicts_by_width_are_those_of_the_rule():
    lines = [line(256, 0, 0.4), line(256, 1, 0.6), line(512, 0, 0.6), line(512, 1, 0.7)]
    assert registry.rules()["resting-place"].threshold == 0.5
    found = sizes.verdicts(lines, "resting-place")
    assert found == {256: rules.UNDECIDED, 512: rules.REPRODUCED}, "one number each is not wholly"
    assert sizes.verdicts(lines, "icl-score") == {256: "", 512: ""}


def test_the_books_own_models_are_among_those_that_read_most():
    assert checkpoint.settings("two-layer")[0].d_model == study.OWN_WIDTH
    *_, most = study.in_width_alone().values()
    assert {one.seed for one in most if one.width == study.OWN_WIDTH} == {0, 1, 2}


@pytest.mark.parametrize("basis", [study.STORED, study.WHITE])
def test_records_give_the_correlation_of_scores_and_effects(basis):
    for one in study.read():
        of_kinds = one.line["edges"]["agreement"]["white" if basis == study.WHITE else "stored"]
        mean, low, high, _ = one.interval("score-is-not-use", basis)
        assert mean == pytest.approx(sum(of_kinds) / len(of_kinds), abs=1e-3), one.line["run"]
        assert low <= mean <= high
