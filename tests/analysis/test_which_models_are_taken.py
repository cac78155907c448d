"""Every public analysis of a model, given one with layer norm: refused in words, or right.

Run as a script, without the types that tests check: a reader has none, so a wrong model got through.
"""

import copy
import json
import subprocess
import sys

import pytest
import torch
from calls import CALLS, beside, n_layers, name, outcome, public, random

from transformer_circuits.analysis import ablation, heads, layer_norm
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def with_zero(model):
    """Head 0.1 writes nothing."""
    other = copy.deepcopy(model)
    other.layers[0].W_O[1] = 0
    return other


BY_HAND = {
    heads.layer_of: lambda m: m.layers[1].W_O,
    ablation.without: lambda m: with_zero(m)(beside(m).IN),
}
"""What asks for more than logits and is right all the same: no norm comes after W_O."""


class Logits:
    """A model of which nothing is known but what it computes, and where."""

    def __init__(self, model):
        self.model, self.config = model, model.config
        self.W_E = torch.full_like(model.W_E, torch.nan)  # for its device

    def __call__(self, *given):
        return self.model(*given)


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


def outcomes():
    """What each function makes of a model with layer norm, once it has taken one without."""
    for function in CALLS:
        shape = ModelConfig(n_layers(function), 5, 14, 3, 17, 11, position_base=100.0)
        normed = layer_norm.NormedTransformer(shape, generator=random()).requires_grad_(False)
        normed.disturb(generator=random())  # no gain is one
        plain = Transformer(shape).requires_grad_(False)
        plain.randomise(generator=random())
        trace = plain.trace(beside(plain).IN)
        outcome(function, plain, trace)
        try:
            found = outcome(function, normed, trace)
        except Exception as error:
            yield name(function), f"{type(error).__name__}: {error}"
            continue
        by_logits = BY_HAND.get(function, lambda m, f=function, t=trace: outcome(f, Logits(m), t))
        try:
            right = same(found, by_logits(normed))
        except AttributeError:  # it asks for more than logits
            right = False
        yield name(function), "right" if right else "wrong"


@pytest.fixture(scope="module")
def found():
    script = subprocess.run([sys.executable, __file__], capture_output=True, text=True)
    assert script.returncode == 0, script.stderr
    return json.loads(script.stdout)


def test_no_analysis_is_left_out():
    assert {name(function) for function in public()} == {name(function) for function in CALLS}


@pytest.mark.parametrize("function", [*map(name, CALLS)])
def test_a_model_with_layer_norm_is_refused_by_what_would_ignore_it(found, function):
    said = found[function]
    refused = said.startswith("UserError: ") and "layer_norm.fold(model)" in said
    assert refused or said == "right"


if __name__ == "__main__":
    print(json.dumps(dict(outcomes())))
