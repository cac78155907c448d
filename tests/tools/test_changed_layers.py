"""Layers changed by hand, against the plain forward pass and against formulas in NumPy."""

import numpy as np
import pytest
import torch
from conftest import SHAPE

from tools import changed_layers
from transformer_circuits.model.transformer import Attention, Transformer
from transformer_circuits.training import hardware


@pytest.fixture
def build(generator):
    """A model in float64 with random weights, whose first layer is of a kind, and its plain twin."""

    def build(kind):
        model = changed_layers.model(SHAPE, kind).double()
        model.randomise(generator=generator)
        plain = Transformer(SHAPE).double()
        plain.load_state_dict(model.state_dict())
        return model, plain

    return build


@pytest.mark.parametrize("kind", changed_layers.LAYERS)
def test_a_fresh_model_has_the_weights_of_an_ordinary_one(kind):
    model = changed_layers.model(SHAPE, kind, generator=torch.Generator().manual_seed(5))
    plain = Transformer(SHAPE, generator=torch.Generator().manual_seed(5))
    assert type(model.layers[0]) is changed_layers.LAYERS[kind]
    assert type(model.layers[1]) is Attention
    for name, weight in plain.state_dict().items():
        assert torch.equal(model.state_dict()[name], weight), name


@pytest.mark.parametrize("kind", changed_layers.LAYERS)
def test_trace_forward_pass_and_compiled_pass_are_one_model(build, kind, tokens, monkeypatch):
    """Compiled it is in training: see `hardware.causal_blocks`."""
    model, _ = build(kind)
    trace = model.trace(tokens)
    torch.testing.assert_close(model(tokens), trace.logits)
    torch.testing.assert_close(model(tokens, trace.patterns), trace.logits)
    layer, x = model.layers[0], trace.residual[0]
    for head in range(SHAPE.n_heads):
        alone = layer.pattern(x, x, model.W_P[: tokens.shape[1]], head=head)
        torch.testing.assert_close(alone[:, 0], trace.patterns[0][:, head])
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    for each in model.layers:
        each.attend = hardware.causal_blocks
    torch.testing.assert_close(model(tokens), trace.logits)


@pytest.mark.parametrize(("kind", "back"), [("previous token", 1), ("two back", 2)])
def test_a_given_head_is_the_plain_pass_under_that_pattern(build, tokens, kind, back):
    model, plain = build(kind)
    (A, *_), n_pos = plain.trace(tokens).patterns, tokens.shape[1]
    A[:, 0] = 0
    for destination in range(n_pos):
        A[:, 0, destination, max(destination - back, 0)] = 1
    torch.testing.assert_close(model.trace(tokens).patterns[0], A)
    x, W_P = plain.embed(tokens)
    x = x + plain.layers[0](x, W_P, A)
    x = x + plain.layers[1](x, W_P)
    torch.testing.assert_close(model(tokens), x @ plain.W_U.T)
    assert (model(tokens) - plain(tokens)).abs().max() > 1e-3


@pytest.mark.parametrize(("kind", "by"), [("shifted keys", 1), ("keys two back", 2)])
def test_shifted_keys_are_read_off_a_token_before(build, tokens, kind, by):
    """Attention by formula, one destination at a time."""
    model, _ = build(kind)
    layer = model.layers[0]
    x = model.W_E.detach().numpy().T[tokens.numpy()]
    W_P, n_pos = model.W_P.numpy(), tokens.shape[1]
    found = model.trace(tokens).patterns[0].numpy()
    for head in range(SHAPE.n_heads):
        W_Q, W_K = (weight[head].detach().numpy() for weight in (layer.W_Q, layer.W_K))
        back = by if head < SHAPE.n_heads // 2 else 0
        for destination in range(n_pos):
            q = W_Q @ (x[0, destination] + W_P[destination])
            keys = [W_K @ (x[0, max(s - back, 0)] + W_P[s]) for s in range(destination + 1)]
            powers = np.exp([q @ k / np.sqrt(SHAPE.d_head) for k in keys])
            expected = powers / powers.sum()
            np.testing.assert_allclose(found[0, head, destination, : len(keys)], expected)
