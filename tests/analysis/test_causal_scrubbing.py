import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import causal_scrubbing, repeats
from transformer_circuits.model import hand_built


def test_scrubbing_spares_what_the_story_of_the_built_circuit_needs():
    model = hand_built.induction(n_vocab=9, n_ctx=17)
    passages = torch.stack([torch.arange(1, 9).roll(k) for k in (0, 2, 3, 5)])
    tokens = repeats.copies(passages)
    whole, story, none = causal_scrubbing.losses(
        model, tokens[:, :-1], tokens[:, 1:], [(1, 0)], (0, 0)
    ).mean(dim=(1, 2))
    assert story == pytest.approx(float(whole))
    assert none > whole


def test_scrubbing_is_none_where_the_story_holds_all_that_heads_read(model, generator):
    model.layers[0].W_O[2:].zero_()
    inputs, targets = torch.randint(SHAPE.n_vocab, (2, 4, 7), generator=generator)
    model.layers[1].W_K[1].zero_()  # its keys read nothing but positions
    whole, story, none = causal_scrubbing.losses(
        model, inputs, targets, [(1, 1)], (0, 0), as_token=[(0, 0), (0, 1)]
    )
    torch.testing.assert_close(story, whole)
    assert (none - whole).abs().max() > 1e-3
