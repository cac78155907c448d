"""Whether wider models lie nearer to what is claimed, on made-up records of a study."""

import dataclasses

import pytest

from transformer_circuits.claims import about_size, controls, registry, rules, subjects
from transformer_circuits.experiments import study
from transformer_circuits.experiments.study import Trained

WHITE = {32: 0.0, 64: 0.0, 96: 0.0, 128: 0.5, 256: 0.0, 512: 0.0}
"""What *below random* comes to in the white basis, by width."""
OF_PAPER = [n for n in registry.rules() if registry.read()[n].source == "paper"]


def line(width, seed, estimate, tokens=8, heads=4, d_head=16, old=False):
    """A record in which every claim of the paper has an estimate, by its rule and the seed.

    One claim is otherwise in the white basis, as `WHITE` says, but in an old record.
    """
    rows = {
        name: {"mean": estimate(registry.rules()[name], seed), "low": 0.0, "high": 1.0, "n": 9}
        for name in OF_PAPER
    }
    white = {} if old else {"below-random": rows["below-random"] | {"mean": WHITE[width]}}
    shape = {"d_model": width, "n_heads": heads, "d_head": d_head}
    return Trained(
        {
            "shape": shape, "seed": seed, "choices": {"tokens": tokens}, "measured": study.MEASURED,
            "estimates": rows, "estimates_white": white,
        }
    )  # fmt: skip


def toward(by):
    """Estimates that lie so far towards what is claimed."""
    return lambda rule, seed: (by + 0.01 * seed) * (1 if rule.side == "above" else -1)


@pytest.fixture
def recorded(monkeypatch):
    def made(*lines):
        monkeypatch.setattr(study, "read", lambda *, normed: [*lines])

    return made


@pytest.mark.parametrize(("wide", "share"), [(1.0, 1.0), (-1.0, 0.0), (0.0, 0.5)])
def test_it_is_the_share_of_claims_of_which_the_wider_lies_nearer(subject, recorded, wide, share):
    """Claims that were taken back do not count, nor do other widths and lengths."""
    others = (
        line(32, 0, toward(9.0), heads=2),
        line(96, 0, toward(9.0)),
        line(256, 0, toward(9.0), d_head=100),
        line(512, 0, toward(9.0), tokens=24),
    )
    narrow = [line(64, seed, toward(0.0)) for seed in range(3)]
    recorded(*narrow, *(line(128, seed, toward(wide)) for seed in range(3)), *others)
    found = about_size.nearer_when_wide(subject)
    n = sum(not registry.read()[name].retracted for name in OF_PAPER)
    assert len(found) == n and float(found.mean()) == pytest.approx((share * (n - 1) + 1) / n)
    decision = about_size.nearer_when_wide.decision([subject])
    assert set(decision.seeds) == {"mean of all claims"}
    (mean,), rule = decision.seeds.values(), decision.measurement.rule
    assert (rules.beyond(rule, mean), rules.short_of(rule, mean)) == (wide > 0, wide < 0)
    assert decision.verdict == (rules.NOT_REPRODUCED if wide < 0 else rules.UNDECIDED)
    if wide > 0:  # here the next seed lies nearer as well, so a control passes
        assert decision.why == "it holds for another seed unchanged, too"
    control = about_size.nearer_when_wide(controls.another_seed_unchanged(subject))
    assert 0.5 < control.mean() < 0.7, "two of three next seeds lie higher, whatever is claimed"


def test_a_claim_counts_in_one_basis_and_where_every_model_has_it(subject, recorded):
    records = [line(w, s, toward(w), old=s == 0) for w in (64, 128) for s in range(3)]
    recorded(*records)
    whole = about_size.nearer_when_wide(subject)
    assert whole.mean() == 1, (
        "the claim that old records lack in white is left out, not taken as stored"
    )
    WHITE.update({64: 0.5, 128: 0.0})
    recorded(*(line(w, s, toward(w)) for w in (64, 128) for s in range(3)))
    assert about_size.nearer_when_wide(subject).mean() < 1
    WHITE.update({64: 0.0, 128: 0.5})


def test_a_readers_own_model_has_no_widths(subject, recorded):
    recorded(line(64, 0, toward(0.0)), line(128, 0, toward(0.0)))
    own = dataclasses.replace(subject, own=True)
    with pytest.raises(subjects.NotToBeHad, match="trainings of other widths"):
        about_size.nearer_when_wide(own)
