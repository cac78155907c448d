"""Every public analysis of a model, given one with layer norm: refused in words, or right.

Run as a script, without the types that tests check: a reader has none, so a wrong model got through.
"""

import copy
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys

import pytest
import torch

from transformer_circuits import analysis
from transformer_circuits.analysis import (
    ablation,
    causal_scrubbing,
    composition,
    edge_effects,
    expansion,
    heads,
    induction,
    layer_norm,
    path_patching,
    patterns,
    repeats,
    term_importance,
)  # fmt: skip
from transformer_circuits.analysis.one_layer import (
    ensemble,
    skip_trigram_bugs,
    skip_trigram_places,
    skip_trigrams,
)  # fmt: skip
from transformer_circuits.analysis.since_2021 import (
    attributions,
    credit,
    edge_sets,
    features,
    markov,
    over_text,
    singular_directions,
)  # fmt: skip
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer

STREAM = torch.randint(1, 17, (200,), generator=torch.Generator().manual_seed(0))
IN, OUT = STREAM[:28].reshape(4, 7), STREAM[1:29].reshape(4, 7)
ALONE, PLACES = IN[0], torch.arange(3)
FORMS = torch.arange(17)[:, None]
NEVER = torch.zeros(17, 17, dtype=torch.bool)
APART = {(1, 2): (torch.ones(17).bool(), torch.ones(17).bool())}
PASSAGES = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])
EDGE = ("K", (1, 2), (0, 3))
WORDS = torch.zeros(17, dtype=torch.long)
INSTEAD = {EDGE: torch.zeros(4, 7, 14)}


def random():
    return torch.Generator().manual_seed(0)


CALLS = {
    ablation.without: lambda f, m, t: f(m, [(0, 1)])(IN),
    ablation.without_mlps: lambda f, m, t: f(m)(IN),
    ablation.with_output: lambda f, m, t: f(m, t, (0, 1), t.head_outputs[0][:, 0]),
    ablation.loss_increase: lambda f, m, t: f(m, IN, OUT),
    ablation.losses_at: lambda f, m, t: f(m, STREAM, torch.tensor([20, 40])),
    causal_scrubbing.losses: lambda f, m, t: f(m, IN, OUT, [(1, 2)], (0, 3)),
    composition.reader: lambda f, m, t: f(m, "K", (1, 2)),
    composition.scores: lambda f, m, t: f(m, "K"),
    composition.matching: lambda f, m, t: f(m, (1, 2), (0, 3)),
    composition.impossible: lambda f, m, t: f(m, "K"),
    composition.change_basis: lambda f, m, t: f(m, 2 * torch.eye(14))(IN),
    composition.white_basis: lambda f, m, t: f(m, IN),
    edge_effects.effects: lambda f, m, t: f(m, IN, OUT, PLACES),
    expansion.paths: lambda f, m, t: f(m, IN),
    expansion.score_terms: lambda f, m, t: f(m, IN, (1, 2)),
    heads.every: lambda f, m, t: f(m),
    heads.of_layer: lambda f, m, t: f(m, 1),
    heads.layer_of: lambda f, m, t: f(m, (1, 2)).W_O,
    heads.W_OV: lambda f, m, t: f(m, (1, 2)),
    heads.W_QK: lambda f, m, t: f(m, (1, 2)),
    heads.full_ov: lambda f, m, t: f(m, (1, 2)),
    heads.full_qk: lambda f, m, t: f(m, (0, 2)),
    induction.in_context_learning_score: lambda f, m, t: f(m, STREAM, 9, (8, 10), (2, 4)),
    path_patching.without_edge: lambda f, m, t: f(m, t, *EDGE),
    path_patching.loss_increase: lambda f, m, t: f(m, IN, OUT),
    patterns.of_all_layers: lambda f, m, t: f(m, IN),
    patterns.value_norms: lambda f, m, t: f(m, t, 0),
    patterns.value_weighted: lambda f, m, t: f(m, t, 0),
    repeats.predictions: lambda f, m, t: vars(f(m, PASSAGES)),
    repeats.loss_increase_by_copy: lambda f, m, t: f(m, [PASSAGES]),
    term_importance.streams: lambda f, m, t: f(m, IN),
    term_importance.streams_by_steps: lambda f, m, t: f(m, IN),
    term_importance.patterns_of_embeddings: lambda f, m, t: f(m, IN),
    term_importance.losses: lambda f, m, t: f(m, IN, OUT),
    term_importance.losses_by_steps: lambda f, m, t: f(m, IN, OUT),
    ensemble.copying: lambda f, m, t: f(m, IN, t.patterns[0], FORMS),
    ensemble.each_by_itself: lambda f, m, t: f(m, IN, torch.ones(17) / 17),
    skip_trigram_bugs.split: lambda f, m, t: f(m, IN),
    skip_trigram_bugs.veto: lambda f, m, t: f(m, STREAM, NEVER, 3),
    skip_trigram_bugs.raised_together: lambda f, m, t: f(m, IN, APART),
    skip_trigram_bugs.gated: lambda f, m, t: f(m)(IN),
    skip_trigram_bugs.with_more_heads: lambda f, m, t: f(m, 2, generator=random())(IN),
    skip_trigram_places.read: lambda f, m, t: f(m, 3),
    skip_trigrams.factors: lambda f, m, t: f(m, (0, 1)),
    attributions.of_score: lambda f, m, t: f(m, ALONE, (1, 2), 5, 3),
    attributions.by_maker: lambda f, m, t: f(m, ALONE, (1, 2), 5),
    attributions.loadings: lambda f, m, t: f(m, ALONE, 5, 3),
    credit.paths: lambda f, m, t: f(m, ALONE, 5, 3),
    credit.gradients: lambda f, m, t: f(m, IN, PLACES),
    credit.shares: lambda f, m, t: f(m, IN, PLACES),
    edge_sets.patched: lambda f, m, t: f(m, t, INSTEAD),
    edge_sets.rise: lambda f, m, t: f(m, t, OUT, [EDGE]),
    edge_sets.interaction: lambda f, m, t: f(m, t, OUT, EDGE, ("Q", (1, 2), (0, 3))),
    features.makers: lambda f, m, t: f(m, 1),
    features.vectors: lambda f, m, t: f(m, heads.Head(0, 1)),
    features.activations: lambda f, m, t: f(m, IN, 1),
    features.qk: lambda f, m, t: f(m, (1, 2), "token", "token"),
    features.ov: lambda f, m, t: f(m, (1, 2), "token"),
    markov.predicted: lambda f, m, t: f(m, PASSAGES % 3, torch.tensor([[1, 2, 3]] * 2)),
    over_text.pattern: lambda f, m, t: f(m, IN, (1, 2)),
    over_text.strongest: lambda f, m, t: f(m, IN, OUT, (1, 2), WORDS),
    singular_directions.strengths: lambda f, m, t: f(m, "K"),
    singular_directions.channel: lambda f, m, t: f(m, EDGE, 2),
    singular_directions.narrowed: lambda f, m, t: f(m, t, EDGE, torch.eye(14)),
}


def with_zero(model):
    """Head 0.1 writes nothing."""
    other = copy.deepcopy(model)
    other.layers[0].W_O[1] = 0
    return other


BY_HAND = {
    heads.layer_of: lambda m: m.layers[1].W_O,
    ablation.without: lambda m: with_zero(m)(IN),
}
"""What asks for more than logits and is right all the same: no norm comes after W_O."""


class Logits:
    """A model of which nothing is known but what it computes, and where."""

    def __init__(self, model):
        self.model, self.config = model, model.config
        self.W_E = torch.full_like(model.W_E, torch.nan)  # for its device

    def __call__(self, *given):
        return self.model(*given)


def name(function):
    return f"{function.__module__.removeprefix(analysis.__name__ + '.')}.{function.__name__}"


def public():
    """The functions of `analysis` that take a model of the book."""
    for found in pkgutil.walk_packages(analysis.__path__, analysis.__name__ + "."):
        for function in vars(importlib.import_module(found.name)).values():
            own = inspect.isfunction(function) and function.__module__ == found.name
            if own and not function.__name__.startswith("_"):
                kinds = (
                    each.annotation for each in inspect.signature(function).parameters.values()
                )
                if Transformer in kinds:
                    yield function


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


def models(n_layers):
    """One with layer norm, whose gains are not one, and a plain one of the same shape."""
    shape = ModelConfig(n_layers, 5, 14, 3, 17, 11, position_base=100.0)
    normed = layer_norm.NormedTransformer(shape, generator=random()).requires_grad_(False)
    normed.disturb(generator=random())
    plain = Transformer(shape).requires_grad_(False)
    plain.randomise(generator=random())
    return normed, plain


def outcomes():
    """What each function makes of a model with layer norm, once it has taken one without."""
    for function, call in CALLS.items():
        normed, plain = models(1 if "one_layer" in name(function) else 2)
        trace = plain.trace(IN)
        call(function, plain, trace)
        try:
            found = call(function, normed, trace)
        except Exception as error:
            yield name(function), f"{type(error).__name__}: {error}"
            continue
        expected = BY_HAND.get(function, lambda m, f=function, c=call, t=trace: c(f, Logits(m), t))
        try:
            right = same(found, expected(normed))
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
