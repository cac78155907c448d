import dataclasses

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.one_layer import skip_trigram_bugs
from transformer_circuits.model.transformer import Transformer

ONE = dataclasses.replace(SHAPE, n_layers=1)


@pytest.fixture
def one(generator):
    model = Transformer(ONE).requires_grad_(False)
    model.randomise(generator=generator)
    return model


def test_the_two_parts_sum_to_the_logits(one, tokens):
    parts = skip_trigram_bugs.split(one, tokens)
    torch.testing.assert_close(parts.present + parts.earlier, one(tokens))
    torch.testing.assert_close(
        parts.earlier.mean(dim=-1), torch.zeros(tokens.shape), atol=1e-5, rtol=0
    )


def test_veto_by_hand(one):
    """Sources raise token 3 alone; the text forbids it after token 5, where it never comes."""
    for weight in one.parameters():
        weight.zero_()
    one.W_E[0] = 1.0  # every token reads the same
    one.W_U[3, 1] = 1.0
    one.layers[0].W_V_concat[0, 0] = 1.0
    one.layers[0].W_O_concat[1, 0] = 6.0
    stream = torch.full((60,), 5)
    never = torch.zeros(ONE.n_vocab, ONE.n_vocab, dtype=torch.bool)
    untouched = skip_trigram_bugs.veto(one, stream, never, 2)
    assert untouched.cost == pytest.approx(0) and untouched.mass == 0
    never[3, 5] = True
    found = skip_trigram_bugs.veto(one, stream, never, 2)
    assert found.cost < -1  # the heads were wrong each time
    assert found.mass > 0.5 > found.mass_vetoed and found.frequency == 0
    right = skip_trigram_bugs.veto(one, torch.full((60,), 3), never.roll(-2, dims=1), 2)
    assert right.cost > 0.5  # here they are right each time, and the veto costs
    assert right.frequency == pytest.approx(9 / 11)  # all but the two without earlier tokens


def test_forms_that_a_text_keeps_apart():
    counts = torch.zeros(6, 6)
    counts[1, 3], counts[2, 4] = 5, 7  # 1 after 3, 2 after 4
    counts[1, 5], counts[2, 5] = 9, 1  # both after 5
    forms = torch.tensor([[0, -1], [1, 2], [1, 2], [3, -1], [4, -1], [5, -1]])
    found = skip_trigram_bugs.apart(counts, forms)
    assert {*found} == {(1, 2), (2, 1)}
    own, other = found[1, 2]
    assert (own.nonzero().tolist(), other.nonzero().tolist()) == ([[3]], [[4]])


def test_what_is_raised_together_is_what_the_sources_add(one):
    inputs = torch.tensor([[0, 1, 3, 1, 4], [0, 3, 2, 5, 1]])
    after_3, after_4 = (torch.arange(one.config.n_vocab) == token for token in (3, 4))
    found = skip_trigram_bugs.raised_together(one, inputs, {(1, 2): (after_3, after_4)})
    pattern = one.trace(inputs[:1]).patterns[0][0]
    for dst, k, outs in ((2, (0, 2), (1, 2)), (4, (3, 1), (1, 2))):
        added = 0
        for h in range(one.config.n_heads):
            column = heads.full_ov(one, (0, h)).dense()[:, 1]
            paid = pattern[h, dst, inputs[0] == 1].sum()
            added = added + paid * (column - column.mean())[list(outs)]
        torch.testing.assert_close(found[0, list(k)], added)
