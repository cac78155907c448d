"""The rule of favoured coordinates sees a coordinate that stands out, and nothing where none does."""

import torch

from transformer_circuits.verdicts import controls, rules
from transformer_circuits.verdicts.metrics import beyond


def test_an_outsized_coordinate_is_seen_and_a_rotation_hides_it(subject):
    values = beyond.kurtosis_against_rotations(subject)
    assert values.ndim == 1 and len(values) > 3 and bool(torch.isfinite(values).all())
    planted = controls.control("outsized coordinate", subject)
    ours, seen = (rules.interval(beyond.kurtosis_against_rotations(s)) for s in (subject, planted))
    assert seen.low > 1.5 * ours.high
    hidden = controls.control("rotated basis", planted)
    assert rules.interval(beyond.kurtosis_against_rotations(hidden)).high < seen.low
