import math

import pytest
import torch
from conftest import SHAPE

from transformer_circuits import induction
from transformer_circuits.model import Transformer
from transformer_circuits.tokenizer import BEGIN


def test_the_same_tokens_come_again_after_begin(generator):
    tokens = induction.repeated(50, 6, 3, 2, generator)
    assert tokens.shape == (2, 19)
    assert (tokens[:, 0] == BEGIN).all() and (tokens[:, 1:] != BEGIN).all()
    assert torch.equal(tokens[:, 1:7], tokens[:, 7:13])
    assert torch.equal(tokens[:, 1:7], tokens[:, 13:])


def test_a_model_that_knows_nothing_has_the_same_loss_in_every_copy(generator):
    model = Transformer(SHAPE)
    losses = induction.copy_losses(model, range(2, 6), 2, generator)
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
    losses = induction.copy_losses(model, range(3, 6), 2, generator)
    assert losses[0] > 7 and losses[1] < 0.01


def test_late_minus_early():
    losses = torch.full((3, 512), 5.0)
    losses[:, 400:] = 4.0
    assert induction.late_minus_early(losses) == -1.0


def test_what_does_not_fit_is_refused(generator):
    model = Transformer(SHAPE)
    with pytest.raises(
        ValueError, match="2 copies of 6 tokens and BEGIN are 13 tokens but n_ctx is 11"
    ):
        induction.copy_losses(model, range(3, 7), 2, generator)
    with pytest.raises(ValueError, match="shortest length is 1 but must be at least 2"):
        induction.copy_losses(model, range(1, 3), 2, generator)
    with pytest.raises(ValueError, match="0 copies of 4 tokens"):
        induction.repeated(9, 4, 0, 1, generator)
    with pytest.raises(ValueError, match="late positions end at 500 but there are 20"):
        induction.late_minus_early(torch.zeros(2, 20))
