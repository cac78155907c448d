import itertools
import math

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import edge_effects, path_patching
from transformer_circuits.analysis.composition import KINDS
from transformer_circuits.model import general


@pytest.mark.parametrize("normed", [False, True])
def test_effects_are_those_of_each_edge_by_path_patching(normed, model, tokens, generator):
    if normed:
        model = general.with_norm(SHAPE).requires_grad_(False)
        model.randomise(generator=generator)
    targets, places = tokens.roll(-1, dims=1), torch.tensor([2, 5])
    found = edge_effects.effects(model, tokens, targets, places)
    trace = model.trace(tokens)
    assert found.loss.shape == found.change.shape == (2, 3, SHAPE.n_heads, SHAPE.n_heads)
    before = trace.logits[:, places].log_softmax(dim=-1)
    pairs = itertools.product(range(SHAPE.n_heads), repeat=2)
    for (k, kind), (later, earlier) in itertools.product(enumerate(KINDS), [*pairs]):
        logits = path_patching.without_edge(model, trace, kind, (1, later), (0, earlier))
        less = before - logits[:, places].log_softmax(dim=-1)
        lost = less.gather(2, targets[:, places, None])[..., 0].mean(dim=1)
        torch.testing.assert_close(found.loss[:, k, later, earlier], lost)
        moved = (before.exp() * less).sum(dim=-1).mean(dim=1)
        torch.testing.assert_close(found.change[:, k, later, earlier], moved)


def test_an_edge_can_carry_what_its_head_brings_elsewhere(model, tokens):
    """Its mean, say, or what it brings in another window: less moves than without it, or something else."""
    targets, places = tokens.roll(-1, dims=1), torch.tensor([2, 5])
    x, W_P = model.embed(tokens)
    other = model.layers[0].results(x, W_P, None).roll(1, dims=0)
    found = edge_effects.effects(model, tokens, targets, places, instead=other)
    trace = model.trace(tokens)
    before = trace.logits[:, places].log_softmax(dim=-1)
    for k, kind in enumerate(KINDS):
        edge = kind, (1, 1), (0, 2)
        written = other[:, 2] @ model.layers[0].W_O[2].T
        after = path_patching.patched(model, trace, {edge: written}, places).log_softmax(dim=-1)
        moved = (before.exp() * (before - after)).sum(dim=-1).mean(dim=1)
        torch.testing.assert_close(found.change[:, k, 1, 2], moved)
    with pytest.raises(ValueError, match="norm"):
        edge_effects.effects(general.with_norm(SHAPE), tokens, targets, places, instead=other)


def test_a_change_of_any_size_is_a_number(model, tokens):
    model.W_U.mul_(30)
    found = edge_effects.effects(model, tokens, tokens.roll(-1, dims=1), torch.tensor([2, 5]))
    assert found.change.isfinite().all() and found.change.max() > 1


def test_agreement_is_of_ranks():
    values = torch.tensor([0.0, 1.0, 2.0, 3.0])
    assert edge_effects.rank_correlation(values, values.exp()) == pytest.approx(1)
    assert edge_effects.rank_correlation(values, -values) == pytest.approx(-1)
    tied = edge_effects.rank_correlation(torch.tensor([0.0, 0, 1, 1]), torch.tensor([1.0, 1, 5, 5]))
    assert tied == pytest.approx(1)
    assert math.isnan(
        edge_effects.rank_correlation(values, torch.tensor([0.0, math.nan, 2.0, 3.0]))
    )


def test_reliability_tells_what_is_measured_from_noise(generator):
    noise = torch.randn(40, 8, 8, generator=generator)
    signal = torch.randn(8, 8, generator=generator)
    assert abs(edge_effects.reliability(noise)) < 0.4
    assert edge_effects.reliability(noise + 3 * signal) > 0.9


def test_shuffled_heads_agree_no_more_than_by_chance(generator):
    values = torch.randn(8, 8, generator=generator)
    null = edge_effects.shuffled(values, values, 100, generator=generator)
    assert abs(float(null.mean())) < 0.1
    assert float(null.quantile(0.95)) < 0.5
