"""The heads of the built circuit are found; passages fit twice into a context."""

import dataclasses

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import head_roles
from transformer_circuits.model import hand_built
from transformer_circuits.model.transformer import Transformer


@pytest.fixture(scope="module")
def built():
    return hand_built.induction(n_vocab=23, n_ctx=41)


def test_the_heads_of_the_built_circuit_play_their_parts(built):
    text = torch.randint(1, 23, (900,), generator=torch.Generator().manual_seed(1))
    assert head_roles.previous_token_head(built, text) == (0, 0)
    assert head_roles.induction_head(built) == (1, 0)
    assert [row.role for row in head_roles.census(built)] == ["previous token", "induction"]


def test_random_weights_match_as_little_as_chance_has_it():
    model = Transformer(dataclasses.replace(SHAPE, n_ctx=81)).requires_grad_(False)
    model.randomise(generator=torch.Generator().manual_seed(1))
    found = head_roles.matching(model)
    assert found.shape == (SHAPE.n_heads,) and 0 <= float(found.min()) <= float(found.max()) < 0.3


@pytest.mark.parametrize(("length", "fits"), [(7, 7), (60, 20)])
def test_passages_come_twice_in_a_context_and_have_no_begin(built, length, fits):
    found = head_roles.random_passages(built.config, 5, seed=1, length=length)
    assert found.shape == (5, fits) and found.min() > 0
    assert torch.equal(found, head_roles.random_passages(built.config, 5, seed=1, length=length))
