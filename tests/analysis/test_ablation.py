import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from conftest import SHAPE

from transformer_circuits.analysis import ablation
from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text.windows import evenly


@pytest.fixture
def stream():
    return torch.from_numpy(np.random.default_rng(0).integers(0, SHAPE.n_vocab, 300))


def loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@pytest.fixture
def windows(stream):
    """Ten, so that they are worked through in two parts."""
    return evenly(stream, 10, SHAPE)


def test_only_counted_targets_count(model, windows):
    inputs, targets = windows
    costs = ablation.loss_increase(model, inputs[:, :6], targets[:, :6])
    targets = targets.clone()
    targets[:, 6:] = -100
    torch.testing.assert_close(ablation.loss_increase(model, inputs, targets), costs)


def test_the_mean_is_over_all_windows_and_places(model, windows):
    inputs, targets = windows
    outputs = model.trace(inputs).head_outputs[1][:, 3]
    mean = outputs.mean(dim=(0, 1))
    changed = model(inputs) + (mean - outputs) @ model.W_U.T
    expected = loss(changed, targets) - loss(model(inputs), targets)
    found = ablation.loss_increase(model, inputs, targets, "mean")[1, 3]
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("head", [(0, 1), (1, 3)])
def test_losses_without_a_head_are_those_of_the_model_without(model, windows, head):
    inputs, targets = windows
    found = ablation.losses_without_heads(model, inputs, targets, [head])
    smaller = ablation.without(model, [head])
    for losses, of in zip((found[0], found[1][0]), (model, smaller), strict=True):
        torch.testing.assert_close(losses, cross_entropy.per_token(of(inputs), targets))


def test_resampling_takes_the_same_place_of_another_window(model, windows):
    inputs, targets = (some[:4] for some in windows)
    outputs = model.trace(inputs).head_outputs[1][:, 3]
    other = outputs[[3, 0, 1, 2]]
    changed = model(inputs) + (other - outputs) @ model.W_U.T
    expected = loss(changed, targets) - loss(model(inputs), targets)
    found = ablation.loss_increase(model, inputs, targets, "resample")[1, 3]
    torch.testing.assert_close(found, expected)
    same = inputs[:1].expand(4, -1), targets[:1].expand(4, -1)
    nothing = ablation.loss_increase(model, *same, "resample")
    torch.testing.assert_close(nothing, torch.zeros_like(nothing))


def test_frozen_patterns_leave_values_only(model, tokens):
    """What the later layer loses then is its own map of what was taken away."""
    trace = model.trace(tokens)
    gone = trace.head_outputs[0][:, 2]
    moved = model.layers[1].head_outputs(gone, trace.patterns[1]).sum(dim=1)
    expected = trace.logits - (gone + moved) @ model.W_U.T
    found = ablation.with_output(model, trace, (0, 2), torch.zeros_like(gone), frozen=True)
    torch.testing.assert_close(found, expected)
    free = ablation.with_output(model, trace, (0, 2), torch.zeros_like(gone))
    torch.testing.assert_close(free, ablation.without(model, [(0, 2)])(tokens))
    assert (free - found).abs().max() > 1e-3


def test_losses_at_a_position_are_the_last_of_its_window(model, stream):
    positions = torch.tensor([50, 120])
    intact, without_each = ablation.losses_at(model, stream, positions)
    for row, position in enumerate(positions):
        window = stream[position + 2 - SHAPE.n_ctx : position + 2]
        torch.testing.assert_close(intact[row], cross_entropy.evaluate(model, window, 1)[0, -1])
        for head in range(SHAPE.n_heads):
            off = ablation.without(model, [(1, head)])
            expected = cross_entropy.evaluate(off, window, 1)[0, -1]
            torch.testing.assert_close(without_each[row, head], expected)


def test_without_mlps_and_with_the_whole_models_patterns_the_paths_through_none_are_left(tokens):
    """Written out: embeddings, and heads that read embeddings and heads."""
    model = Transformer(dataclasses.replace(SHAPE, d_mlp=6)).double().requires_grad_(False)
    model.randomise(generator=torch.Generator().manual_seed(0))
    A = model.trace(tokens).patterns
    x = model.W_E.T[tokens]
    for layer, pattern in zip(model.layers, A, strict=True):
        x = x + layer.head_outputs(x, pattern).sum(dim=1)
    bare = ablation.without_mlps(model)
    torch.testing.assert_close(bare(tokens, A), x @ model.W_U.T)
    assert bare.config == SHAPE and model.mlps
