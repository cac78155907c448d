import math

import torch
from conftest import SHAPE

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.heads import Head


def close(left, right):
    torch.testing.assert_close(left, right, rtol=0, atol=1e-9)


def test_a_head_is_its_pair_and_has_a_name():
    assert Head(1, 3) == (1, 3) and {(1, 3): "found"}[Head(1, 3)] == "found"
    assert str(Head(1, 3)) == f"{Head(1, 3)}" == "1.3"
    assert torch.arange(10).reshape(2, 5)[Head(1, 3)] == 8


def test_heads_come_layer_by_layer(model):
    assert heads.every(model) == [(layer, head) for layer in (0, 1) for head in range(5)]
    assert heads.of_layer(model, 1) == heads.every(model)[5:]


def test_full_ov_is_output_by_source(model, tokens):
    """Value test: the head's logits are Σ_src A[dst, src] · full_ov[:, token at src]."""
    trace = model.trace(tokens)
    for head in heads.of_layer(model, 0):
        direct = trace.head_outputs[0][0, head.head] @ model.W_U.T
        full = heads.full_ov(model, head).dense()
        close(trace.patterns[0][0, head.head] @ full[:, tokens[0]].T, direct)
        assert (full - full.T).abs().max() > 0.01


def test_full_qk_is_destination_by_source(model, tokens):
    model.W_P.zero_()
    x = model.trace(tokens).residual[0]
    scores = model.layers[0].scores(x, x, model.W_P[: tokens.shape[1]])
    full = heads.full_qk(model, (0, 2)).dense() / math.sqrt(SHAPE.d_head)
    close(scores[0, 2, 6, :], full[tokens[0, 6], tokens[0]])


def test_analysis_leaves_the_model_unchanged(model, tokens):
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    model.trace(tokens)
    heads.full_ov(model, (0, 0)).eigenvalues()
    heads.full_qk(model, (1, 4)).svd()
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())
