"""The worth of paths: known where it was built in, and nothing where there is nothing."""

import torch

from transformer_circuits.claims import about_term_importance, rules, samples
from transformer_circuits.model import cross_entropy

BY_ORDER = (
    about_term_importance.single_heads_beyond_the_rest,
    about_term_importance.virtual_heads_below_the_others,
    about_term_importance.single_head_over_ten_virtual,
)


def measured(measurement, subject):
    return rules.interval(measurement(subject))


def test_gains_add_up(subject):
    gain = about_term_importance.gains(subject)
    losses = cross_entropy.evaluate(subject.model, subject.text, samples.MANY[0])
    some = samples.spread(samples.at_targets(losses), losses.shape[1])
    loss = subject.by_document(some)
    uniform = torch.tensor(float(subject.model.config.n_vocab)).log()
    total = gain["direct"] + gain["single"] + gain["virtual"]
    torch.testing.assert_close(total, uniform - loss, rtol=1e-6, atol=1e-6)
    for alone, beside in (("first", "second"), ("second", "first")):
        both = gain[f"{alone}, alone"] + gain[f"{beside}, beside"]
        torch.testing.assert_close(both, gain["single"])


def test_a_virtual_head_that_was_built_gains_it_all(subject):
    two_back = about_term_importance.built_virtual_head(subject)
    gain = {
        name: float(values.mean()) for name, values in about_term_importance.gains(two_back).items()
    }
    assert gain["virtual"] > 0.5
    assert abs(gain["direct"]) < 1e-9
    assert abs(gain["single"]) < 1e-9
    for measurement in BY_ORDER:
        assert measured(measurement, two_back).high < 0
    assert float(about_term_importance.pattern_cost(two_back).abs().max()) < 1e-9


def test_induction_works_through_patterns(built):
    assert measured(about_term_importance.patterns_over_virtual, built).low > 0
    assert measured(about_term_importance.pattern_preserving_hides, built).low > 0
    cost = about_term_importance.cost_for_repeats(built)
    assert float(cost["full"].mean()) > 0.5
    assert float(cost["patterns kept"].abs().max()) < 1e-9
    assert measured(about_term_importance.second_layer_beyond_half, built).low > 0
    assert measured(about_term_importance.first_layer_beyond_a_twentieth, built).high < 0


def test_harm_is_not_little(subject, monkeypatch):
    """Virtual heads that raise the loss do not "matter least" for it."""
    gain = {
        name: torch.full((3,), value, dtype=torch.float64)
        for name, value in {"direct": 0.2, "single": 0.3, "virtual": -1.0}.items()
    }
    monkeypatch.setattr(about_term_importance, "gains", lambda subject: gain)
    assert measured(about_term_importance.virtual_heads_below_the_others, subject).high < 0
    assert measured(about_term_importance.single_head_over_ten_virtual, subject).high < 0
