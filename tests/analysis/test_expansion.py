import torch
from conftest import SHAPE

from transformer_circuits.analysis import expansion, heads
from transformer_circuits.model.transformer import Transformer


def close(left, right):
    torch.testing.assert_close(left, right, rtol=0, atol=1e-9)


def test_the_paths_sum_to_the_residual_stream(model, tokens):
    terms = expansion.paths(model, tokens)
    close(torch.stack(list(terms.values())).sum(dim=0), model.trace(tokens).residual[-1])


def test_there_are_one_direct_path_one_per_head_and_one_per_pair(model, tokens):
    n = SHAPE.n_heads
    by_length = [len(path) for path in expansion.paths(model, tokens)]
    assert [by_length.count(k) for k in range(3)] == [1, 2 * n, n * n]


def test_each_path_is_its_formula(model, tokens):
    """(A² A¹) ⊗ (W_OV² W_OV¹), with the later head to the left."""
    trace = model.trace(tokens)
    terms = expansion.paths(model, tokens)
    x = model.W_E.T[tokens[0]]
    close(terms[()][0], x)
    close(terms[((1, 2),)][0], trace.patterns[1][0, 2] @ x @ heads.W_OV(model, (1, 2)).dense().T)
    A = trace.patterns[1][0, 2] @ trace.patterns[0][0, 4]
    W_OV = heads.W_OV(model, (1, 2)).dense() @ heads.W_OV(model, (0, 4)).dense()
    close(terms[((0, 4), (1, 2))][0], A @ x @ W_OV.T)


def test_without_layers_only_the_direct_path_is_left(tokens):
    model = Transformer(SHAPE.__class__(**(vars(SHAPE) | {"n_layers": 0})))
    assert list(expansion.paths(model, tokens)) == [()]


def test_the_score_terms_sum_to_the_raw_scores(model, tokens):
    terms = expansion.score_terms(model, tokens, (1, 3))
    assert len(terms) == (1 + SHAPE.n_heads) ** 2
    x = model.trace(tokens).residual[1]
    scores = model.layers[1].scores(x, x, model.W_P[: tokens.shape[1]])[:, 3]
    seen = scores.isfinite()
    close(torch.stack(list(terms.values())).sum(dim=0)[seen], scores[seen])


def test_each_score_term_is_its_formula(model, tokens):
    """Queries have the destination's index and come first; keys have the source's."""
    trace = model.trace(tokens)
    terms = expansion.score_terms(model, tokens, (1, 3))
    W_QK = heads.W_QK(model, (1, 3)).dense() / SHAPE.d_head**0.5
    x = trace.residual[0][0] + model.W_P[: tokens.shape[1]]
    moved = trace.head_outputs[0][0, 2]
    close(terms[(None, (0, 2))][0], x @ W_QK @ moved.T)
    close(terms[((0, 2), None)][0], moved @ W_QK @ x.T)
    close(terms[((0, 1), (0, 2))][0], trace.head_outputs[0][0, 1] @ W_QK @ moved.T)


def test_first_layer_scores_have_one_term(model, tokens):
    assert list(expansion.score_terms(model, tokens, (0, 0))) == [(None, None)]
