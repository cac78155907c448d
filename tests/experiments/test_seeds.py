import json

import numpy as np
import pytest
import torch

from transformer_circuits import files
from transformer_circuits.analysis import composition
from transformer_circuits.experiments import seeds
from transformer_circuits.model import hand_built
from transformer_circuits.training import checkpoint


def test_a_known_circuit_is_recognised():
    """The hand-built induction circuit, analysed as a trained model would be."""
    model = hand_built.induction(40, 512).float()
    text = torch.from_numpy(np.random.default_rng(0).integers(1, 40, 2000))
    found = json.loads(json.dumps(seeds.two_layer(model, text)))
    assert found["previous_token"][0][0] > 0.99
    assert found["matching_random"][0] > 0.99
    dearest = found["edges"][0]
    assert (dearest["kind"], dearest["later"], dearest["earlier"]) == ("K", 0, 0)
    assert found["edges"][1]["nats"] == pytest.approx(0, abs=1e-5)
    assert found["matching_positivity"] == [[1.0]]
    assert torch.tensor(found["loss_increase_by_copy_free"])[1, 0, 0] > 0.3
    assert torch.tensor(found["loss_increase_by_copy_frozen"])[:, 0].abs().max() < 1e-5
    assert found["terms_frozen"]["order 2"] == pytest.approx(found["terms_free"]["order 2"])


def test_edges_are_named_by_kind_later_and_earlier(model):
    """The five dearest are five different edges of heads that exist."""
    shape = type(model.config)(**(vars(model.config) | {"n_ctx": 512}))
    wide = type(model)(shape, generator=torch.Generator().manual_seed(0)).requires_grad_(False)
    wide.randomise(generator=torch.Generator().manual_seed(1))
    text = torch.from_numpy(np.random.default_rng(0).integers(1, shape.n_vocab, 2000))
    edges = seeds.two_layer(wide, text)["edges"]
    assert len({(e["kind"], e["later"], e["earlier"]) for e in edges}) == 5
    assert {e["kind"] for e in edges} <= set(composition.KINDS)
    assert all(max(e["later"], e["earlier"]) < shape.n_heads for e in edges)
    assert edges == sorted(edges, key=lambda e: -e["nats"])


@pytest.mark.parametrize("name", [seeds.ONE_LAYER, seeds.TWO_LAYER])
def test_results_of_the_book_begin_with_the_committed_weights(name):
    shape, plan = checkpoint.settings(name)
    rows = checkpoint.records(name, "seeds")
    assert rows[0]["seed"] == plan.seed
    assert sorted(row["seed"] for row in rows) == [*seeds.SEEDS]
    for row in rows:
        positivities = torch.tensor(row["ov_positivity"])
        assert positivities.numel() == shape.n_layers * shape.n_heads


def test_results_that_are_not_there_are_named_with_the_command():
    with pytest.raises(files.UserError, match=r"is not there: run python -m .* seeds zero-layer"):
        checkpoint.records("zero-layer", "seeds")
    with pytest.raises(ValueError, match='no analysis over seeds for "zero-layer"'):
        seeds.write("zero-layer")


def test_seeds_that_are_not_trained_are_named_with_the_command():
    with pytest.raises(files.UserError, match=r"First run: .* train one-layer --seed [12]"):
        seeds.write("one-layer")
