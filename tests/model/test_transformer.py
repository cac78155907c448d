import dataclasses
import math

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.model.positions import sinusoids
from transformer_circuits.model.transformer import Transformer


def close(left, right, tolerance=1e-9):
    torch.testing.assert_close(left, right, rtol=0, atol=tolerance)


@pytest.mark.parametrize("n_layers", [0, 1, 2, 3])
def test_forward_trace_and_frozen_patterns_agree(n_layers, tokens, generator):
    model = Transformer(dataclasses.replace(SHAPE, n_layers=n_layers)).double()
    model.randomise(generator=generator)
    trace = model.trace(tokens)
    close(model(tokens), trace.logits)
    close(model(tokens, trace.patterns), trace.logits)
    assert len(trace.residual) == n_layers + 1
    assert len(trace.patterns) == len(trace.head_outputs) == n_layers


def test_positions_reach_patterns_but_never_the_residual_stream(model, tokens):
    """Under frozen patterns the output does not depend on W_P at all."""
    trace = model.trace(tokens)
    model.W_P.add_(1.0)
    close(model(tokens, trace.patterns), trace.logits)
    assert (model(tokens) - trace.logits).abs().max() > 1e-3


def test_a_layer_sees_as_much_of_the_positions_as_it_is_told(model, tokens):
    close(model(tokens, positions=torch.ones(2)), model(tokens))
    blind = model(tokens, positions=torch.tensor([1.0, 0.0]))
    x, W_P = model.embed(tokens)
    x = x + model.layers[0](x, W_P)
    x = x + model.layers[1](x, torch.zeros_like(W_P))
    close(blind, x @ model.W_U.T)
    with pytest.raises(ValueError, match="3 positions given but the model has 2 layers"):
        model(tokens, positions=torch.ones(3))


def test_sinusoids_begin_at_the_highest_frequency_and_have_unit_size():
    W_P = sinusoids(200, 14, 1000.0)
    close(W_P[:, 1], math.sqrt(2) * (-1.0) ** torch.arange(200, dtype=torch.float64))
    assert abs(W_P.square().mean() - 1) < 1e-9
    neighbours = torch.cosine_similarity(W_P[:-1], W_P[1:])
    assert neighbours.max() < 0.8


def test_tokens_of_another_device_are_taken_to_the_weights(model, tokens):
    away = model.to("meta")
    assert away(tokens).device == away.trace(tokens).logits.device == torch.device("meta")


def test_too_few_patterns_are_refused(model):
    with pytest.raises(ValueError, match="0 patterns given but the model has 2 layers"):
        model(torch.zeros(1, 3, dtype=torch.long), [])


def test_logits_are_those_of_the_pass_or_refused(model, tokens):
    asked, late, later = (model.trace(tokens) for _ in range(3))
    before = asked.logits
    model.W_U.mul_(2)
    close(asked.logits, before)  # made before
    with pytest.raises(ValueError, match="W_U was changed after this pass was made"):
        late.logits  # noqa: B018
    model.W_U = torch.nn.Parameter(model.W_U / 2, requires_grad=False)
    with pytest.raises(ValueError, match="trace the tokens again"):
        later.logits  # noqa: B018


@pytest.mark.parametrize(
    "tokens, message",
    [
        (torch.zeros(3, dtype=torch.long), r"\[batch, pos\] whole numbers below 17, not .* \[3\]"),
        (torch.zeros(1, 3), r"whole numbers below 17, not torch.float32 \[1, 3\]"),
        ([[1, 2, 3]], r"whole numbers below 17, not \[\[1, 2, 3\]\]"),
        (torch.tensor([[1, 99999]]), "tokens are 1 to 99999 but must be 0 to 16"),
        (torch.tensor([[-1, 2]]), "tokens are -1 to 2 but must be 0 to 16"),
        (torch.zeros(1, 12, dtype=torch.long), "length 12 but n_ctx is 11"),
    ],
)
def test_what_are_no_contexts_is_refused(model, tokens, message):
    with pytest.raises(ValueError, match=message):
        model.require_tokens(tokens)
