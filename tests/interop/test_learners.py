"""Models as people write them with torch.nn alone, trained here; `test_peers` has those of libraries."""

import learners
from learners import Plain

from transformer_circuits.analysis import head_roles
from transformer_circuits.interop import own_model


def test_a_model_of_plain_torch_learns_induction_and_the_census_finds_it(generator):
    peer = Plain()
    learners.learns(peer, peer, lambda: (peer.state_dict(), peer.settings), generator, steps=300)


def test_one_that_learnt_to_name_the_token_before_has_a_head_for_it_and_no_induction(generator):
    peer = Plain()
    learners.draw(peer.named_parameters(), generator)
    right = learners.learn(peer, peer.parameters(), generator, copies=False, steps=200)
    assert right > 0.9
    model = own_model.load(peer.state_dict(), peer.settings)
    learners.has_none(model)
    assert "previous token" in {row.role for row in head_roles.census(model)}
