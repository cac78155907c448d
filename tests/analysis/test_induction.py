import numpy as np
import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import induction
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text.tokenizer import BEGIN


def test_followers_by_hand():
    """In a b a c a, the third a looks at b and c; nothing looks at or from BEGIN, or at itself."""
    a, b, c = 1, 2, 3
    where = induction.followers(torch.tensor([[BEGIN, a, b, a, c, a, BEGIN, BEGIN]]))[0]
    assert where[3].nonzero().flatten().tolist() == [2]
    assert where[5].nonzero().flatten().tolist() == [2, 4]
    assert not where[[0, 1, 2, 4, 6, 7]].any()
    where = induction.followers(torch.tensor([[BEGIN, a, a, a]]))[0]
    assert not where[2].any() and where[3].nonzero().flatten().tolist() == [2]


def test_uniform_matching_by_hand():
    tokens = torch.tensor([[BEGIN, 1, 2, 1, 2]])
    assert induction.uniform_matching(tokens) == pytest.approx((1 / 4 + 1 / 5) / 2)


def test_in_context_learning_is_scored_on_the_same_tokens(generator):
    """By hand from full windows: losses at the late positions, of the tokens of the early ones."""
    shape = SHAPE.__class__(**(vars(SHAPE) | {"n_ctx": 30}))
    model = Transformer(shape).requires_grad_(False)
    model.randomise(generator=generator)
    stream = torch.from_numpy(np.random.default_rng(0).integers(1, SHAPE.n_vocab, 200))
    found = induction.in_context_learning_score(model, stream, 3, late=(20, 24), early=(6, 10))
    for k, start in enumerate((0, 88, 176)):
        text = stream[start : start + 24]
        losses = []
        for first, positions in ((0, range(20, 24)), (14, range(6, 10))):
            inputs = torch.cat([torch.tensor([BEGIN]), text[first:]])[None]
            log_p = model(inputs[:, :-1])[0].log_softmax(dim=-1)
            losses.append(-torch.stack([log_p[p, inputs[0, p + 1]] for p in positions]).mean())
        torch.testing.assert_close(found[k], losses[0] - losses[1])
