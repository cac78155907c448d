import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from conftest import SHAPE

from transformer_circuits.analysis import ablation, induction
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text.tokenizer import BEGIN


def test_the_same_tokens_come_again_after_begin(generator):
    tokens = induction.repeated(50, 6, 3, 2, generator=generator)
    assert tokens.shape == (2, 19)
    assert (tokens[:, 0] == BEGIN).all() and (tokens[:, 1:] != BEGIN).all()
    assert torch.equal(tokens[:, 1:7], tokens[:, 7:13])
    assert torch.equal(tokens[:, 1:7], tokens[:, 13:])


def test_a_model_that_knows_nothing_has_the_same_loss_in_every_copy(generator):
    model = Transformer(SHAPE)
    losses = induction.copy_losses(model, range(2, 6), 2, generator=generator)
    torch.testing.assert_close(losses, torch.full((2,), math.log(SHAPE.n_vocab)))


class Repeater(Transformer):
    """Predicts what followed the last earlier occurrence of the present token."""

    def forward(self, tokens, patterns=None):
        logits = torch.zeros(*tokens.shape, self.config.n_vocab)
        for b, row in enumerate(tokens.tolist()):
            for i, token in enumerate(row):
                if token in row[:i]:
                    last = max(j for j in range(i) if row[j] == token)
                    logits[b, i, row[last + 1]] = 20
        return logits


def test_a_model_that_repeats_is_right_in_the_second_copy(generator):
    """2,003 tokens, so that none comes twice within a copy."""
    model = Repeater(SHAPE.__class__(**(vars(SHAPE) | {"n_vocab": 2003})))
    losses = induction.copy_losses(model, range(3, 6), 2, generator=generator)
    assert losses[0] > 7 and losses[1] < 0.01
    share = induction.next_token_preference(model, range(3, 6), 2, generator=generator)
    assert share[0] < 0.1 and share[1] > 0.99


def test_without_knowing_the_order_the_right_token_wins_half_of_the_time(generator):
    model = Transformer(SHAPE).requires_grad_(False)
    model.randomise(generator=generator)
    share = induction.next_token_preference(model, range(4, 6), 2, n=200, generator=generator)
    assert ((share - 0.5).abs() < 0.06).all()


def test_followers_by_hand():
    """In a b a c a, the third a looks at b and c; nothing looks at or from BEGIN."""
    a, b, c = 1, 2, 3
    where = induction.followers(torch.tensor([[BEGIN, a, b, a, c, a, BEGIN, BEGIN]]))[0]
    assert where[3].nonzero().flatten().tolist() == [2]
    assert where[5].nonzero().flatten().tolist() == [2, 4]
    assert not where[[0, 1, 2, 4, 6, 7]].any()


def test_a_token_that_follows_itself_does_not_look_at_itself():
    where = induction.followers(torch.tensor([[BEGIN, 5, 5, 5]]))[0]
    assert where[2].nonzero().flatten().tolist() == []
    assert where[3].nonzero().flatten().tolist() == [2]


def test_a_perfect_induction_pattern_has_prefix_matching_one(generator):
    tokens = torch.arange(1, 11).repeat(2)[None]
    where = induction.followers(tokens).float()
    A = where + torch.eye(20) * (where.sum(-1, keepdim=True) == 0)
    assert induction.prefix_matching_score(A[:, None], tokens).tolist() == [1.0]
    at_the_same = torch.eye(20).roll(-10, dims=1)  # looks at the earlier token itself: no match
    assert induction.prefix_matching_score(at_the_same[None, None], tokens).tolist() == [0.0]


def test_uniform_matching_by_hand():
    tokens = torch.tensor([[BEGIN, 1, 2, 1, 2]])
    assert induction.uniform_matching(tokens) == pytest.approx((1 / 4 + 1 / 5) / 2)
    with pytest.raises(ValueError, match="no token occurs twice"):
        induction.uniform_matching(torch.tensor([[BEGIN, 1, 2, 3]]))


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


def test_there_is_no_in_context_learning_without_attention():
    shape = SHAPE.__class__(**(vars(SHAPE) | {"n_ctx": 512, "n_layers": 0}))
    model = Transformer(shape).requires_grad_(False)
    model.randomise(generator=torch.Generator().manual_seed(0))
    stream = torch.from_numpy(np.random.default_rng(0).integers(1, SHAPE.n_vocab, 2000))
    assert induction.in_context_learning_score(model, stream, 4).abs().max() < 1e-5


def test_the_increase_by_copy_is_the_increase_where_only_that_copy_counts(model, generator):
    found = induction.loss_increase_by_copy(model, range(3, 6, 2), n=3, generator=generator)
    assert found.shape == (2, SHAPE.n_layers, SHAPE.n_heads)
    again = torch.Generator().manual_seed(7)
    model_again = Transformer(SHAPE).double()
    model_again.randomise(generator=again)  # brings the generator to where it was
    expected = torch.zeros(2, dtype=torch.float64)
    for length in (3, 5):
        tokens = induction.repeated(SHAPE.n_vocab, length, 2, 3, generator=again)
        off = ablation.without(model, [(0, 1)])
        rise = F.cross_entropy(off(tokens).mT[:, :, :-1], tokens[:, 1:], reduction="none")
        rise -= F.cross_entropy(model(tokens).mT[:, :, :-1], tokens[:, 1:], reduction="none")
        expected[0] += rise[:, 1:length].mean() / 2
        expected[1] += rise[:, length + 1 :].mean() / 2
    torch.testing.assert_close(found[:, 0, 1], expected)
    with pytest.raises(ValueError, match="no lengths given"):
        induction.loss_increase_by_copy(model, range(0), generator=generator)


def test_what_does_not_fit_is_refused(generator):
    model = Transformer(SHAPE)
    with pytest.raises(
        ValueError, match="2 copies of 6 tokens and BEGIN are 13 tokens but n_ctx is 11"
    ):
        induction.copy_losses(model, range(3, 7), 2, generator=generator)
    with pytest.raises(ValueError, match="shortest length is 1 but must be at least 2"):
        induction.copy_losses(model, range(1, 3), 2, generator=generator)
    with pytest.raises(ValueError, match="0 copies of 4 tokens"):
        induction.repeated(9, 4, 0, 1, generator=generator)
    stream = torch.ones(600, dtype=torch.int32)
    with pytest.raises(ValueError, match="late positions end at 500 but there are 11"):
        induction.in_context_learning_score(model, stream)
    with pytest.raises(ValueError, match=r"late is \(480, 500\) and early \(40, 50\) but both"):
        induction.in_context_learning_score(model, stream, early=(40, 50))


def test_targets_are_the_next_tokens_within_one_copy_but_for_its_first(generator):
    tokens = induction.repeated(17, 3, 2, 2, generator=generator)  # BEGIN a b c a b c
    none = torch.full((2, 1), -100)
    first, second = (induction.targets_of_copy(tokens, 3, copy) for copy in (0, 1))
    b_c = tokens[:, 2:4]
    assert torch.equal(first, torch.cat([none, b_c, none.expand(-1, 4)], dim=1))
    assert torch.equal(second, torch.cat([none.expand(-1, 4), b_c, none], dim=1))
