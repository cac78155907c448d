"""What comes in as float64 goes out as float64, and was not rounded on the way; float32 stays float32."""

import dataclasses

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import (
    ablation,
    composition,
    copying_scores,
    edge_effects,
    expansion,
    heads,
    induction,
    layer_norm,
    path_patching,
    patterns,
    repeats,
    superposition,
    term_importance,
)
from transformer_circuits.analysis.one_layer import skip_trigram_bugs, skip_trigrams
from transformer_circuits.model.transformer import Transformer

STREAM = torch.arange(400) ** 2 % SHAPE.n_vocab
TOKENS = STREAM[:28].reshape(4, 7)
PASSAGES = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])


def random():
    return torch.Generator().manual_seed(0)


def one_layer(dtype):
    model = Transformer(dataclasses.replace(SHAPE, n_layers=1)).to(dtype).requires_grad_(False)
    model.randomise(generator=random())
    return model


def folded(dtype):
    normed = layer_norm.NormedTransformer(SHAPE, generator=random()).to(dtype)
    return layer_norm.fold(normed.requires_grad_(False))


def first_pattern(model):
    return model.trace(TOKENS).patterns[0]


def each_replacement(model):
    return [
        ablation.loss_increase(model, TOKENS, TOKENS, replacement)
        for replacement in ablation.REPLACEMENTS
    ]


ANALYSES = {
    "without": lambda m: [ablation.without(m, [(0, 1)])(TOKENS)],
    "with_output": lambda m: [
        ablation.with_output(m, m.trace(TOKENS), (0, 1), m.trace(TOKENS).residual[0])
    ],
    "ablation.loss_increase": each_replacement,
    "losses_at": lambda m: ablation.losses_at(m, STREAM, torch.tensor([20, 40])),
    "path_patching.loss_increase": lambda m: [path_patching.loss_increase(m, TOKENS, TOKENS)],
    "edge_effects.effects": lambda m: [
        edge_effects.effects(m, TOKENS, TOKENS, torch.arange(3)).change
    ],
    "loss_increase_by_copy": lambda m: [repeats.loss_increase_by_copy(m, [PASSAGES])],
    "repeats.predictions": lambda m: [
        (found := repeats.predictions(m, PASSAGES)).loss, found.preferred
    ],
    "in_context_learning_score": lambda m: [
        induction.in_context_learning_score(m, STREAM, 9, (8, 10), (2, 4))
    ],
    "prefix_matching_score": lambda m: [induction.prefix_matching_score(first_pattern(m), TOKENS)],
    "composition.scores": lambda m: [composition.scores(m, kind) for kind in composition.KINDS],
    "matching": lambda m: [composition.matching(m, (1, 2), (0, 3)).dense()],
    "change_basis": lambda m: [
        *composition.change_basis(m, 3 * torch.eye(SHAPE.d_model).to(m.W_E)).parameters()
    ],
    "copying_scores.null": lambda m: [copying_scores.null(m.W_U, m.W_E, 3, 4, generator=random())],
    "deletion": lambda m: [copying_scores.deletion(m.W_U, *m.trace(TOKENS).residual[:2])],
    "full circuits": lambda m: [
        heads.full_ov(m, (0, 1)).dense(), heads.full_qk(m, (1, 2)).dense()
    ],
    "paths": lambda m: expansion.paths(m, TOKENS).values(),
    "score_terms": lambda m: expansion.score_terms(m, TOKENS, (1, 2)).values(),
    "patterns": lambda m: [
        patterns.by_distance(first_pattern(m), 2),
        patterns.to_begin(first_pattern(m)),
        patterns.value_weighted(m, m.trace(TOKENS), 1),
    ],
    "skip_trigrams.factors": lambda m: [
        skip_trigrams.factors(m, (0, 1)).attention, skip_trigrams.factors(m, (0, 1)).logits
    ],
    "split": lambda m: skip_trigram_bugs.split(one_layer(m.W_E.dtype), TOKENS),
    "with_more_heads": lambda m: [
        skip_trigram_bugs.with_more_heads(m, 1, generator=random())(TOKENS)
    ],
    "gated": lambda m: [skip_trigram_bugs.gated(m).requires_grad_(False)(TOKENS)],
    "kurtosis": lambda m: [superposition.kurtosis(m.W_U)],
    "rotated_kurtosis": lambda m: [superposition.rotated_kurtosis(m.W_U, 2, generator=random())],
    "streams": lambda m: term_importance.streams(m, TOKENS).orders[1:],
    "patterns_of_embeddings": lambda m: term_importance.patterns_of_embeddings(m, TOKENS),
    "losses": lambda m: term_importance.losses(m, TOKENS, TOKENS).values(),
    "losses_by_steps": lambda m: [term_importance.losses_by_steps(m, TOKENS, TOKENS)],
    "fold": lambda m: [
        *folded(m.W_E.dtype).paths(TOKENS, folded(m.W_E.dtype).run(TOKENS)).values()
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ANALYSES)
def test_precision_is_kept(model, name):
    found = list(ANALYSES[name](model))
    assert {tensor.dtype for tensor in found} == {torch.float64}
    assert any((tensor != tensor.float()).any() for tensor in found)
    assert {tensor.dtype for tensor in ANALYSES[name](model.float())} == {torch.float32}
