import numpy as np
import pytest
import torch
from conftest import SHAPE

from transformer_circuits import ablation, training


@pytest.fixture
def stream():
    return np.random.default_rng(0).integers(0, SHAPE.n_vocab, 300).astype(np.uint16)


def test_without_every_head_only_the_direct_path_is_left(model, tokens):
    left = ablation.without(model, ablation.every_head(model))
    torch.testing.assert_close(left(tokens), model.W_E.T[tokens] @ model.W_U.T)


def test_a_head_taken_away_is_its_output_subtracted(model, tokens):
    """In the last layer, where no later head can react."""
    gone = model.trace(tokens).head_outputs[1][:, 3] @ model.W_U.T
    torch.testing.assert_close(ablation.without(model, [(1, 3)])(tokens), model(tokens) - gone)


def test_the_model_itself_is_left_alone(model, tokens):
    before = model(tokens)
    ablation.without(model, [(0, 0)])
    assert torch.equal(model(tokens), before)


def test_costs_are_loss_differences_by_layer_and_head(model, stream):
    costs = ablation.costs(model, stream, 4)
    assert costs.shape == (SHAPE.n_layers, SHAPE.n_heads)
    smaller = ablation.without(model, [(1, 2)])
    by_hand = (training.evaluate(smaller, stream, 4) - training.evaluate(model, stream, 4)).mean()
    torch.testing.assert_close(costs[1, 2], by_hand)


def test_losses_at_a_position_are_the_last_of_its_window(model, stream):
    positions = torch.tensor([50, 120])
    intact, without_each = ablation.losses_at(model, stream, positions)
    for row, position in enumerate(positions):
        window = stream[position + 2 - SHAPE.n_ctx : position + 2]
        torch.testing.assert_close(intact[row], training.evaluate(model, window, 1)[0, -1])
        for head in range(SHAPE.n_heads):
            off = ablation.without(model, [(1, head)])
            expected = training.evaluate(off, window, 1)[0, -1]
            torch.testing.assert_close(without_each[row, head], expected)


def test_what_is_not_there_is_refused(model, stream):
    with pytest.raises(ValueError, match=r"head 0\.5 asked for but the model has 2 layers of 5"):
        ablation.without(model, [(0, 5)])
    with pytest.raises(ValueError, match="position 3 has less than a context of 11 tokens"):
        ablation.losses_at(model, stream, torch.tensor([50, 3]))
    with pytest.raises(ValueError, match="0 positions, 2 layers: need both"):
        ablation.losses_at(model, stream, torch.tensor([], dtype=torch.int64))
