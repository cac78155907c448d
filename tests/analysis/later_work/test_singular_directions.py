import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import composition, heads, path_patching
from transformer_circuits.analysis.later_work import singular_directions
from transformer_circuits.model import hand_built


@pytest.fixture
def pair(model):
    return composition.reader(model, "K", (1, 3)), heads.W_OV(model, (0, 2))


def test_meetings_hold_the_whole_score(pair):
    later, earlier = pair
    found = singular_directions.meeting(later, earlier)
    torch.testing.assert_close(found.norm(), (later @ earlier).norm())
    shares = singular_directions.score_shares(found)
    assert shares[-1] == pytest.approx(1)
    assert shares.diff().min() >= 0
    assert shares[0] == pytest.approx(float(found[0, 0] ** 2 / found.norm() ** 2))


@pytest.mark.parametrize("kind", ["Q", "K", "V"])
def test_a_channel_cuts_both_matrices_to_their_strongest_directions(model, kind):
    later, earlier = composition.reader(model, kind, (1, 3)), heads.W_OV(model, (0, 2))
    through = singular_directions.channel(model, (kind, (1, 3), (0, 2)), 2)

    def cut(circuit):
        U, S, Vh = circuit.svd()
        return U[:, :2] * S[:2] @ Vh[:2]

    found = later.dense() @ through @ earlier.dense()
    torch.testing.assert_close(found, cut(later) @ cut(earlier), rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["Q", "K", "V"])
def test_through_all_directions_the_model_is_whole_and_through_none_the_edge_is_cut(
    model, tokens, kind, generator
):
    trace, edge = model.trace(tokens), (kind, (1, 3), (0, 2))
    for chance in (None, generator):
        every = singular_directions.channel(model, edge, SHAPE.d_head, generator=chance)
        whole = singular_directions.narrowed(model, trace, edge, every)
        torch.testing.assert_close(whole, trace.logits, rtol=0, atol=1e-10)
    none = singular_directions.channel(model, edge, 0)
    cut = singular_directions.narrowed(model, trace, edge, none)
    wanted = path_patching.without_edge(model, trace, kind, (1, 3), (0, 2))
    torch.testing.assert_close(cut, wanted, rtol=0, atol=1e-10)


def test_strength_is_one_where_the_strongest_directions_meet(model):
    assert singular_directions.strengths(hand_built.induction(4, 7), "K").item() == pytest.approx(1)
    found = singular_directions.strengths(model, "Q")
    later, earlier = composition.reader(model, "Q", (1, 3)), heads.W_OV(model, (0, 2))
    most = [torch.linalg.matrix_norm(m.dense(), 2) for m in (later @ earlier, later, earlier)]
    assert float(found[3, 2]) == pytest.approx(float(most[0] / most[1] / most[2]), rel=1e-5)
