import dataclasses

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import patterns
from transformer_circuits.model.transformer import Transformer


def looking_back(n_pos, back):
    A = torch.zeros(1, 1, n_pos, n_pos)
    for i in range(n_pos):
        A[0, 0, i, max(0, i - back)] = 1
    return A


@pytest.mark.parametrize("back", [0, 1, 3])
def test_a_head_that_looks_back_is_seen_to_look_back(back):
    found = patterns.by_distance(looking_back(12, back), 4)
    expected = torch.zeros(1, 4)
    expected[0, back] = 1
    assert torch.equal(found, expected)


def test_rest_is_no_distance():
    A = torch.zeros(2, 3, 8, 8)
    A[..., 0] = 1
    assert patterns.by_distance(A, 5).abs().max() == 0
    assert patterns.to_begin(A).tolist() == [1, 1, 1]


def test_value_weighted_attention_by_hand(model, tokens):
    trace = model.trace(tokens)
    weighted = patterns.value_weighted(model, trace, 1)
    v = model.layers[1].W_V[2] @ trace.residual[1][0, 3]
    torch.testing.assert_close(weighted[0, 2, 5, 3], trace.patterns[1][0, 2, 5, 3] * v.norm())


@pytest.mark.parametrize("n_places", [1, 4])
@pytest.mark.parametrize(("n_layers", "d_mlp"), [(0, 0), (1, 0), (2, 0), (2, 5)])
def test_the_stream_at_some_places_is_the_whole_stream_there(
    n_layers, d_mlp, n_places, tokens, generator
):
    model = Transformer(dataclasses.replace(SHAPE, n_layers=n_layers, d_mlp=d_mlp)).double()
    model.randomise(generator=generator)
    places = torch.arange(2, tokens.shape[1])[:n_places]
    at = patterns.stream_at(model, tokens, places)
    torch.testing.assert_close(at, model.stream(tokens)[:, places])


@pytest.mark.parametrize("d_mlp", [0, 5])
@pytest.mark.parametrize("n_layers", [0, 1, 2, None])
def test_the_stream_by_distinct_tokens_is_the_stream(n_layers, d_mlp, tokens, generator):
    model = Transformer(dataclasses.replace(SHAPE, d_mlp=d_mlp)).double()
    model.randomise(generator=generator)
    by_distinct = patterns.stream(model, tokens, n_layers)
    torch.testing.assert_close(by_distinct, model.stream(tokens, n_layers))
