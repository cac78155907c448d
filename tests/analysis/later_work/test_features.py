import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.later_work import features
from transformer_circuits.model import hand_built


@pytest.mark.parametrize("layer", [0, 1])
def test_features_add_up_to_what_queries_and_keys_read(model, tokens, layer):
    there = features.activations(model, tokens, layer)
    assert [*there] == features.makers(model, layer)
    read = sum(a @ features.vectors(model, maker).T for maker, a in there.items())
    wanted = model.trace(tokens).residual[layer] + model.W_P[: tokens.shape[1]]
    torch.testing.assert_close(read, wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("head", [(0, 2), (1, 3)])
def test_scores_are_sums_over_pairs_of_features(model, tokens, head):
    there = features.activations(model, tokens, head[0])
    total = sum(
        a @ features.qk(model, head, of_query, of_key).dense() @ b.mT
        for of_query, a in there.items()
        for of_key, b in there.items()
    )
    x = model.trace(tokens).residual[head[0]]
    layer, W_P = model.layers[head[0]], model.W_P[: tokens.shape[1]]
    wanted = layer.scores(x, x, W_P, head=head[1])[:, 0]
    seen = wanted.isfinite()
    total = total / SHAPE.d_head**0.5
    torch.testing.assert_close(total[seen], wanted[seen], rtol=0, atol=1e-10)


def test_what_a_head_writes_is_a_sum_over_features(model, tokens):
    there = features.activations(model, tokens, 1)
    trace = model.trace(tokens)
    brought = sum(
        a @ features.ov(model, (1, 4), maker).dense().T
        for maker, a in there.items()
        if maker != features.POSITION
    )
    wanted = trace.head_outputs[1][:, 4] @ model.W_U.T
    torch.testing.assert_close(trace.patterns[1][:, 4] @ brought, wanted, rtol=0, atol=1e-10)


def test_the_built_circuit_matches_tokens_with_those_one_before():
    model = hand_built.induction(n_vocab=4, n_ctx=7)
    matching = features.qk(model, (1, 0), features.TOKEN, heads.Head(0, 0)).dense()
    off = matching - matching.diagonal().diag()
    assert matching.diagonal().min() > off.abs().max()
    for maker in (features.TOKEN, features.POSITION):
        assert features.qk(model, (1, 0), features.TOKEN, maker).dense().abs().max() < 1e-9
