import math

import torch
from conftest import SHAPE

from transformer_circuits.analysis import heads


def close(left, right):
    torch.testing.assert_close(left, right, rtol=0, atol=1e-9)


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
