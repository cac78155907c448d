import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis.heads import Head
from transformer_circuits.analysis.later_work import attributions, features
from transformer_circuits.model import hand_built


def score(model, tokens, head, dst, src):
    x, W_P = model.trace(tokens[None]).residual[head[0]], model.W_P[: len(tokens)]
    return model.layers[head[0]].scores(x, x, W_P, head=head[1])[0, 0, dst, src]


@pytest.mark.parametrize(("head", "parts"), [((0, 2), 2), ((1, 3), 2 + SHAPE.n_heads * 6)])
def test_attributions_add_up_to_the_score(model, tokens, head, parts):
    found = attributions.of_score(model, tokens[0], head, 5, 2)
    assert found.terms.shape[0] == len(found.of_query) == parts
    wanted = score(model, tokens[0], head, 5, 2)
    torch.testing.assert_close(found.terms.sum(), wanted, rtol=0, atol=1e-10)


def test_makers_sum_up_their_parts(model, tokens):
    by_maker = attributions.by_maker(model, tokens[0], (1, 3), 5)
    found = attributions.of_score(model, tokens[0], (1, 3), 5, 2)
    who = features.makers(model, 1)
    for q, of_query in enumerate(who):
        for k, of_key in enumerate(who):
            rows = [part.maker == of_query for part in found.of_query]
            cols = [part.maker == of_key for part in found.of_key]
            wanted = found.terms[rows][:, cols].sum()
            torch.testing.assert_close(by_maker[q, k, 2], wanted, rtol=0, atol=1e-10)


def test_the_built_circuit_looks_where_its_own_token_came_before():
    model = hand_built.induction(n_vocab=4, n_ctx=7)
    tokens = torch.tensor([0, 1, 2, 3, 1, 2, 3])
    [(query, key, value)] = attributions.of_score(model, tokens, (1, 0), 4, 2).top(1)
    assert query == (features.TOKEN, 4)
    assert key == (Head(0, 0), 1)
    assert tokens[query.at] == tokens[key.at]
    assert value > 0


def test_a_loading_is_attention_times_circuits(model, tokens):
    found = attributions.loadings(model, tokens[1], dst=4, out=11)
    first, second = model.layers
    A = [pattern[0] for pattern in model.trace(tokens[1:]).patterns]
    seen = (A[1][2] @ A[0][3])[4]
    row = model.W_U[11] @ second.W_O[2] @ second.W_V[2] @ first.W_O[3] @ first.W_V[3]
    wanted = seen * (row @ model.W_E[:, tokens[1]])
    torch.testing.assert_close(found[Head(0, 3), Head(1, 2)], wanted, rtol=0, atol=1e-10)
