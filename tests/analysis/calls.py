"""One call of every analysis that takes a model, on one small text: what it is tried with for other forms
of models, and for precision.
"""

import dataclasses
import importlib
import inspect
import pkgutil
from types import SimpleNamespace

import torch

from transformer_circuits import analysis
from transformer_circuits.analysis import (
    ablation,
    causal_scrubbing,
    composition,
    edge_effects,
    expansion,
    head_roles,
    heads,
    induction,
    layer_norm,
    path_patching,
    patterns,
    repeats,
    term_importance,
)
from transformer_circuits.analysis.later_work import (
    attributions,
    credit,
    edge_sets,
    features,
    markov,
    over_text,
    singular_directions,
)
from transformer_circuits.analysis.one_layer import (
    ensemble,
    skip_trigram_bugs,
    skip_trigram_places,
    skip_trigrams,
)
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer

SHAPE = ModelConfig(2, 5, 14, 3, n_vocab=17, n_ctx=11, position_base=100.0)  # as in conftest
STREAM = torch.randint(1, 17, (200,), generator=torch.Generator().manual_seed(0))
PLACES = torch.arange(3)
NEVER = torch.zeros(17, 17, dtype=torch.bool)
PASSAGES = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])
EDGE = ("K", (1, 2), (0, 3))


def beside(model):
    """What a call needs, in the model's precision."""
    like, inputs = model.W_E, STREAM[:28].reshape(4, 7)
    every = torch.ones(17, dtype=torch.bool)
    return SimpleNamespace(
        IN=inputs,
        OUT=STREAM[1:29].reshape(4, 7),
        ALONE=inputs[0],
        FORMS=torch.arange(17)[:, None],
        WORDS=torch.zeros(17, dtype=torch.long),
        APART={(1, 2): (every, every)},
        NOTHING=torch.zeros(4, 7, len(like)).to(like),
        EYE=torch.eye(len(like)).to(like),
        EVEN=(torch.ones(17) / 17).to(like),
    )


def random():
    return torch.Generator().manual_seed(0)


CALLS = {
    ablation.without: lambda f, m, t, x: f(m, [(0, 1)])(x.IN),
    ablation.without_mlps: lambda f, m, t, x: f(m)(x.IN),
    ablation.with_output: lambda f, m, t, x: f(m, t, (0, 1), t.head_outputs[0][:, 0]),
    ablation.loss_increase: lambda f, m, t, x: f(m, x.IN, x.OUT),
    ablation.losses_at: lambda f, m, t, x: f(m, STREAM, torch.tensor([20, 40])),
    causal_scrubbing.losses: lambda f, m, t, x: f(m, x.IN, x.OUT, [(1, 2)], (0, 3)),
    composition.reader: lambda f, m, t, x: f(m, "K", (1, 2)),
    composition.scores: lambda f, m, t, x: f(m, "K", basis="stored"),
    composition.shares: lambda f, m, t, x: f(m, x.IN),
    composition.matching: lambda f, m, t, x: f(m, (1, 2), (0, 3)),
    composition.impossible: lambda f, m, t, x: f(m, "K", basis="stored"),
    composition.change_basis: lambda f, m, t, x: f(m, 2 * x.EYE)(x.IN),
    composition.white_basis: lambda f, m, t, x: f(m, x.IN),
    edge_effects.effects: lambda f, m, t, x: f(m, x.IN, x.OUT, PLACES),
    expansion.paths: lambda f, m, t, x: f(m, x.IN),
    expansion.score_terms: lambda f, m, t, x: f(m, x.IN, (1, 2)),
    head_roles.census: lambda f, m, t, x: [row[1:] for row in f(m)],
    head_roles.matching: lambda f, m, t, x: f(m),
    head_roles.induction_head: lambda f, m, t, x: f(m),
    head_roles.previous_token_head: lambda f, m, t, x: f(m, STREAM),
    head_roles.cast: lambda f, m, t, x: f(m, STREAM),
    heads.every: lambda f, m, t, x: f(m),
    heads.of_layer: lambda f, m, t, x: f(m, 1),
    heads.layer_of: lambda f, m, t, x: f(m, (1, 2)).W_O,
    heads.require_two_layers: lambda f, m, t, x: f(m),
    heads.W_OV: lambda f, m, t, x: f(m, (1, 2)),
    heads.W_QK: lambda f, m, t, x: f(m, (1, 2)),
    heads.full_ov: lambda f, m, t, x: f(m, (1, 2)),
    heads.full_qk: lambda f, m, t, x: f(m, (0, 2)),
    induction.in_context_learning_score: lambda f, m, t, x: f(m, STREAM, 9, (8, 10), (2, 4)),
    layer_norm.freeze: lambda f, m, t, x: f(m, x.IN)(x.IN),
    path_patching.without_edge: lambda f, m, t, x: f(m, t, *EDGE),
    path_patching.loss_increase: lambda f, m, t, x: f(m, x.IN, x.OUT),
    patterns.of_all_layers: lambda f, m, t, x: f(m, x.IN),
    patterns.value_norms: lambda f, m, t, x: f(m, t, 0),
    patterns.value_weighted: lambda f, m, t, x: f(m, t, 0),
    repeats.predictions: lambda f, m, t, x: vars(f(m, PASSAGES)),
    repeats.loss_increase_by_copy: lambda f, m, t, x: f(m, [PASSAGES]),
    term_importance.streams: lambda f, m, t, x: f(m, x.IN),
    term_importance.streams_by_steps: lambda f, m, t, x: f(m, x.IN),
    term_importance.patterns_of_embeddings: lambda f, m, t, x: f(m, x.IN),
    term_importance.losses: lambda f, m, t, x: f(m, x.IN, x.OUT),
    term_importance.losses_by_steps: lambda f, m, t, x: f(m, x.IN, x.OUT),
    ensemble.copying: lambda f, m, t, x: f(m, x.IN, t.patterns[0], x.FORMS),
    ensemble.each_by_itself: lambda f, m, t, x: f(m, x.IN, x.EVEN),
    skip_trigram_bugs.split: lambda f, m, t, x: f(m, x.IN),
    skip_trigram_bugs.veto: lambda f, m, t, x: f(m, STREAM, NEVER, 3),
    skip_trigram_bugs.raised_together: lambda f, m, t, x: f(m, x.IN, x.APART),
    skip_trigram_bugs.gated: lambda f, m, t, x: f(m)(x.IN),
    skip_trigram_bugs.with_more_heads: lambda f, m, t, x: f(m, 2, generator=random())(x.IN),
    skip_trigram_places.read: lambda f, m, t, x: f(m, 3),
    skip_trigrams.factors: lambda f, m, t, x: f(m, (0, 1)),
    attributions.of_score: lambda f, m, t, x: f(m, x.ALONE, (1, 2), 5, 3),
    attributions.by_maker: lambda f, m, t, x: f(m, x.ALONE, (1, 2), 5),
    attributions.loadings: lambda f, m, t, x: f(m, x.ALONE, 5, 3),
    credit.paths: lambda f, m, t, x: f(m, x.ALONE, 5, 3),
    credit.gradients: lambda f, m, t, x: f(m, x.IN, PLACES),
    credit.shares: lambda f, m, t, x: f(m, x.IN, PLACES),
    path_patching.patched: lambda f, m, t, x: f(m, t, {EDGE: x.NOTHING}),
    edge_sets.rise: lambda f, m, t, x: f(m, t, x.OUT, [EDGE]),
    edge_sets.interaction: lambda f, m, t, x: f(m, t, x.OUT, EDGE, ("Q", (1, 2), (0, 3))),
    features.makers: lambda f, m, t, x: f(m, 1),
    features.vectors: lambda f, m, t, x: f(m, heads.Head(0, 1)),
    features.activations: lambda f, m, t, x: f(m, x.IN, 1),
    features.qk: lambda f, m, t, x: f(m, (1, 2), "token", "token"),
    features.ov: lambda f, m, t, x: f(m, (1, 2), "token"),
    markov.predicted: lambda f, m, t, x: f(m, PASSAGES % 3, torch.tensor([[1, 2, 3]] * 2)),
    over_text.strongest: lambda f, m, t, x: f(m, x.IN, x.OUT, (1, 2), x.WORDS),
    singular_directions.strengths: lambda f, m, t, x: f(m, "K"),
    singular_directions.channel: lambda f, m, t, x: f(m, EDGE, 2),
    singular_directions.narrowed: lambda f, m, t, x: f(m, t, EDGE, x.EYE),
}

ASKED_ALONE = {induction.in_context_learning_score, repeats.predictions}
"""What takes anything that makes logits of tokens."""


def name(function):
    return f"{function.__module__.removeprefix(analysis.__name__ + '.')}.{function.__name__}"


def plain(function, dtype=torch.float32):
    """A random model of the paper's form that a function takes, and its trace on the calls' text."""
    n_layers = 1 if "one_layer" in function.__module__ else 2
    model = Transformer(dataclasses.replace(SHAPE, n_layers=n_layers)).requires_grad_(False)
    model.to(dtype).randomise(generator=random())
    return model, model.trace(beside(model).IN)


def outcome(function, model, trace):
    """What a function makes of a model; `trace` may be that of another."""
    return CALLS[function](function, model, trace, beside(model))


def public():
    """The functions of `analysis` that take a model of the book."""
    for found in pkgutil.walk_packages(analysis.__path__, analysis.__name__ + "."):
        for function in vars(importlib.import_module(found.name)).values():
            own = inspect.isfunction(function) and function.__module__ == found.name
            if own and not function.__name__.startswith("_"):
                kinds = (
                    each.annotation for each in inspect.signature(function).parameters.values()
                )
                if function in ASKED_ALONE or Transformer in kinds:
                    yield function
