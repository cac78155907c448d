import pytest
import torch

from transformer_circuits.model.transformer import causal_results, causal_scores
from transformer_circuits.training import hardware


def close(left, right):
    torch.testing.assert_close(left, right, rtol=0, atol=1e-9)


def test_scores_are_those_of_the_fast_path(generator):
    """What `forward` uses has the same mask and factor."""
    q, k, v = torch.randn(3, 2, 5, 7, 3, generator=generator, dtype=torch.float64)
    close(causal_scores(q, k).softmax(dim=-1) @ v, causal_results(q, k, v))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_pos", [1, 3, 4, 5, 8, 11])
def test_blocks_give_the_same_results_and_gradients(generator, monkeypatch, n_pos, dtype):
    """As a training that is compiled takes them, for lengths that the blocks divide and others."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    monkeypatch.setattr(hardware, "BLOCK", 4)
    q, k, v = torch.randn(3, 2, 5, n_pos, 3, generator=generator, dtype=dtype).requires_grad_()
    expected = causal_scores(q, k).softmax(dim=-1) @ v
    found = hardware.causal_blocks(q, k, v)
    weight = torch.randn(found.shape, generator=generator, dtype=dtype)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad((r * weight).sum(), (q, k, v)) for r in (found, expected)]
    torch.testing.assert_close(*gradients)
