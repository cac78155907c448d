"""Whether wider models lie nearer to what is claimed, on made-up records of a study."""

import dataclasses

import pytest

from transformer_circuits.claims import about_size, controls, registry, rules, subjects
from transformer_circuits.experiments import study
from transformer_circuits.experiments.study import Trained

OF_PAPER = [n for n in registry.rules() if registry.read()[n].source == "paper"]


def line(width, seed, estimate, tokens=8, heads=4, d_head=16):
    """A record in which every claim of the paper has an estimate, by its rule and the seed."""
    rows = {
        name: {"mean": estimate(registry.rules()[name], seed), "low": 0.0, "high": 1.0, "n": 9}
        for name in OF_PAPER
    }
    shape = {"d_model": width, "n_heads": heads, "d_head": d_head}
    return Trained(
        {
            "shape": shape, "seed": seed, "choices": {"tokens": tokens}, "measured": study.MEASURED,
            "estimates": rows, "estimates_white": {"below-random": rows["below-random"]},
        }
    )  # fmt: skip


def toward(by):
    """Estimates that lie so far towards what is claimed."""
    return lambda rule, seed: (by + 0.01 * seed) * (1 if rule.side == "above" else -1)


@pytest.fixture
def recorded(monkeypatch):
    def made(*lines):
        monkeypatch.setattr(study, "read", lambda: [*lines])

    return made


@pytest.mark.parametrize(("wide", "expected"), [(1.0, 1.0), (-1.0, 0.0), (0.0, 0.5)])
def test_it_is_the_share_of_pairs_in_which_the_wider_lies_nearer(subject, recorded, wide, expected):
    narrow = [line(64, seed, toward(0.0)) for seed in range(3)]
    others = (
        line(32, 0, toward(9.0), heads=2),
        line(96, 0, toward(9.0)),
        line(256, 0, toward(9.0), d_head=100),
        line(512, 0, toward(9.0), tokens=24),
    )
    recorded(*narrow, *(line(128, seed, toward(wide)) for seed in range(3)), *others)
    found = about_size.nearer_when_wide(subject)
    assert len(found) == len(OF_PAPER)
    assert found.tolist() == pytest.approx([expected] * len(found))
    decision = about_size.nearer_when_wide.decision([subject])
    assert set(decision.seeds) == {"mean of all claims of the paper"}
    control = about_size.nearer_when_wide(controls.another_seed_unchanged(subject))
    assert not control.any(), "the first seed lies below the others, whatever is claimed"
    assert decision.verdict == (
        rules.REPRODUCED if wide > 0 else rules.NOT_REPRODUCED if wide else rules.UNDECIDED
    )


def test_a_readers_own_model_has_no_widths(subject, recorded):
    recorded(line(64, 0, toward(0.0)), line(128, 0, toward(0.0)))
    own = dataclasses.replace(subject, own=True)
    with pytest.raises(subjects.NotToBeHad, match="trainings of other widths"):
        about_size.nearer_when_wide(own)
