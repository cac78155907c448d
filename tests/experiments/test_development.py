import json
import math

import numpy as np
import pytest
import torch
from conftest import SHAPE

from transformer_circuits.experiments import development
from transformer_circuits.model import hand_built
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def fresh(n_layers):
    shape = ModelConfig(**(vars(SHAPE) | {"n_ctx": 512, "n_layers": n_layers}))
    return Transformer(shape, generator=torch.Generator().manual_seed(0)).requires_grad_(False)


@pytest.mark.parametrize("n_layers", [1, 2])
def test_a_probe_can_be_written_down(n_layers):
    stream = torch.from_numpy(np.random.default_rng(0).integers(0, SHAPE.n_vocab, 2000))
    found = json.loads(json.dumps(development.probe(fresh(n_layers), stream, 2)))
    assert found["held_out"] == pytest.approx(math.log(SHAPE.n_vocab), abs=1e-3)
    assert found["in_context_learning_score"] == pytest.approx(0, abs=1e-3)
    for name in ("previous_token", "matching_text", "matching_random", "ov_positivity"):
        assert [len(layer) for layer in found[name]] == [SHAPE.n_heads] * n_layers
    assert ("k_scores" in found) == (n_layers == 2)


def test_weights_of_a_fresh_model_say_nothing_and_of_a_known_circuit_what_it_is():
    found = development.of_weights(fresh(2))
    assert {v for row in found["ov_positivity"] for v in row} == {0.0}
    assert {v for row in found["k_scores"] + found["matching_positivity"] for v in row} == {0.0}
    known = development.of_weights(hand_built.induction(11, 21).float())
    assert known["ov_positivity"][1] == [1.0]
    assert known["matching_positivity"] == [[1.0]]
    assert known["k_scores"] == [[round(11**-0.5, 4)]]


def test_where_a_curve_crosses():
    assert development.crossing([0, 10, 20], [0.0, 0.1, 0.3], 0.2) == pytest.approx(15)
    assert development.crossing([0, 10, 20], [0.0, 0.3, 0.1], 0.2) == pytest.approx(20 / 3)
    assert development.crossing([5, 10], [0.4, 0.3], 0.2) == 5
    assert development.crossing([5, 10], [0.1, 0.15], 0.2) is None
    with pytest.raises(ValueError, match="2 numbers of tokens but 1 values"):
        development.crossing([5, 10], [0.1], 0.2)
