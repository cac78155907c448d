from conftest import SHAPE

from transformer_circuits.analysis import expansion
from transformer_circuits.model.transformer import Transformer


def test_without_layers_only_the_direct_path_is_left(tokens):
    model = Transformer(SHAPE.__class__(**(vars(SHAPE) | {"n_layers": 0})))
    assert list(expansion.paths(model, tokens)) == [()]


def test_first_layer_scores_have_one_term(model, tokens):
    assert list(expansion.score_terms(model, tokens, (0, 0))) == [(None, None)]
