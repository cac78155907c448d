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
