import math

import torch

from transformer_circuits.analysis import superposition


def test_kurtosis_of_what_is_known(generator):
    normal = torch.randn(50, 4000, generator=generator)
    assert abs(float(superposition.kurtosis(normal).mean()) - 3) < 0.05
    one_large = torch.zeros(100)
    one_large[3] = 1.0
    centred = one_large - 0.01
    expected = (centred**4).mean() / (centred**2).mean() ** 2
    torch.testing.assert_close(superposition.kurtosis(one_large), expected)
    assert float(expected) > 90
    torch.testing.assert_close(
        superposition.kurtosis(torch.tensor([1.0, -1.0, 1.0, -1.0])), torch.ones(())
    )


def test_a_rotation_hides_an_outsized_coordinate(generator):
    x = torch.randn(30, 200, generator=generator)
    x[:, 0] *= 30
    null = superposition.rotated_kurtosis(x, 5, generator=generator)
    assert null.shape == (5,)
    assert float(superposition.kurtosis(x).mean()) > 10 * float(null.max())


def test_recovered_features_come_out_alone():
    """Two features at right angles, and a third on top of the first."""
    W = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    b = torch.zeros(3)
    assert superposition.recovered(W, b).tolist() == [False, True, False]
    assert superposition.recovered(W[:, :2], b[:2]).all()
    assert not superposition.recovered(0.8 * W[:, :2], b[:2]).any()
    opposite = torch.tensor([[1.0, -1.0]])
    assert superposition.recovered(opposite, torch.zeros(2)).all()
    assert not superposition.recovered(opposite, torch.ones(2)).any()


def test_rare_features_share_dimensions_and_dense_ones_do_not():
    dense, rare, untrained = (
        [int(superposition.recovered(*toy).sum()) for toy in zip(W, b, strict=True)]
        for seed in [torch.Generator().manual_seed(0)]
        for how in ((1.0, 300), (0.05, 300), (0.05, 0))
        for W, b in [superposition.train_toy(12, 3, *how, n_toys=2, generator=seed)]
    )
    assert untrained == [0, 0] and max(dense) <= 3 < min(rare)  # of three dimensions


def test_one_head_holds_one_triple_and_two_hold_all(generator):
    one, nats, each = superposition.triples_held(4, 1, 8, 300, generator=generator)
    assert (one, each.shape) == (1, (1, 4, 4)) and 0.3 < nats < math.log(4)
    two, nats, each = superposition.triples_held(4, 2, 8, 300, generator=generator)
    assert two == 4 and nats < 0.2
    assert all(torch.linalg.matrix_rank(head) == 1 for head in each)
