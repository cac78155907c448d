import base64
import dataclasses
import json

import numpy as np
import pytest
import torch
from conftest import SHAPE

from transformer_circuits.model import cross_entropy, quantisation
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training import checkpoint
from transformer_circuits.website import serving
from transformer_circuits.website.live import weights


def test_a_weight_moves_by_at_most_half_a_step(generator):
    weight = torch.randn(5, 7, generator=generator)
    weight[2] = 0
    whole, scale = quantisation.quantise(weight)
    back = whole * scale[:, None]
    assert whole.abs().max() == 127
    assert ((back - weight).abs() <= scale[:, None] * 0.5001).all()
    assert torch.equal(back[2], weight[2])


def test_what_is_packed_is_the_rounded_model(model):
    """And packing leaves the model alone."""
    model = model.float()
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    given = json.loads(weights.dumps(model))
    data = base64.b64decode(given["data"])
    rounded = dict(quantisation.rounded(model).named_parameters())
    assert {tensor["name"] for tensor in given["tensors"]} == set(rounded)
    for tensor in given["tensors"]:
        rows, columns = tensor["shape"]
        scale = np.frombuffer(data, np.float32, rows, tensor["offset"])
        whole = np.frombuffer(data, np.int8, rows * columns, tensor["offset"] + 4 * rows)
        back = torch.from_numpy(whole.reshape(rows, columns) * scale[:, None])
        name = tensor["name"]
        assert torch.equal(back, rounded[name].T if name == "W_E" else rounded[name])
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())


@pytest.mark.parametrize("name", serving.LIVE_MODELS)
def test_eight_bits_cost_less_than_a_hundredth_of_a_nat(name):
    model, text = checkpoint.load(name), corpus.tokens("small", "validation")
    exact, rounded = (
        cross_entropy.evaluate(m, text, 16) for m in (model, quantisation.rounded(model))
    )
    assert abs(float((rounded - exact).mean())) < 0.01


def test_the_team_has_its_names_on_the_page_too():
    model, text = checkpoint.load("two-layer"), corpus.tokens("small", "validation")
    names = weights.team(model, text)
    assert json.loads(weights.dumps(model, names))["team"] == {str(k): v for k, v in names.items()}
    assert [names[0], names[5]] == ["note-taker", "re-coder"]
    assert [head for head, name in names.items() if name == "finder"] == [8, 9, 12, 15]
    assert weights.team(checkpoint.load("one-layer"), text) == {}


def test_models_with_mlps_are_rounded_but_not_packed(generator):
    model = Transformer(dataclasses.replace(SHAPE, d_mlp=7))
    model.randomise(generator=generator)
    rounded = quantisation.rounded(model)
    for new, old in zip(rounded.mlps.parameters(), model.mlps.parameters(), strict=True):
        assert 0 < (new - old).abs().max() <= old.abs().max() / 253
    with pytest.raises(ValueError, match="d_mlp is 7"):
        weights.dumps(model)


def test_the_vocabulary_can_stand_in_a_script():
    text = weights.vocabulary()
    assert "<" not in text
    assert len(json.loads(text)["labels"]) == tokenizer.load().get_vocab_size()
