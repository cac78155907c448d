"""One loss per token, checked against −ln p in NumPy and against what it replaced."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from conftest import SHAPE

from transformer_circuits.model import cross_entropy
from transformer_circuits.text import windows

STREAM = torch.arange(400) ** 2 % SHAPE.n_vocab


@pytest.fixture(params=[torch.float32, torch.float64])
def case(request, generator):
    """Logits [batch, pos, n_vocab] and targets [batch, pos]."""
    logits = torch.randn(3, 7, 17, generator=generator, dtype=request.param)
    return logits, torch.randint(17, (3, 7), generator=generator)


def test_the_loss_of_a_token_is_minus_the_logarithm_of_its_probability(case):
    logits, targets = case
    powers = np.exp(logits.double().numpy())
    p = powers / powers.sum(axis=-1, keepdims=True)
    expected = -np.log(np.take_along_axis(p, targets.numpy()[..., None], axis=-1)[..., 0])
    found = cross_entropy.per_token(logits, targets)
    assert found.dtype == logits.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-6)


def test_the_mean_leaves_out_what_is_not_counted(case):
    logits, targets = case
    targets[0, :4] = targets[2, 6] = -100
    each = cross_entropy.per_token(logits, targets)
    assert not each[targets == -100].any() and each[targets != -100].all()
    mean = cross_entropy.mean(logits, targets)
    torch.testing.assert_close(mean, each.sum() / 16)
    torch.testing.assert_close(mean, F.cross_entropy(logits.mT, targets))
    assert torch.equal(cross_entropy.loss_nats(lambda _: logits, targets, targets), mean)


def test_weights_say_how_much_each_target_counts(case, generator):
    logits, targets = case
    weights = torch.randint(4, targets.shape, generator=generator).to(logits.dtype)
    found = cross_entropy.loss_nats(lambda _: logits, targets, targets, weights=weights)
    each = cross_entropy.per_token(logits, targets)
    expected = np.average(each.numpy(), weights=weights.numpy())
    assert float(found) == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize(
    ("n", "n_vocab", "sizes"),
    [(1, 1, [1]), (9, 1, [5, 4]), (20, 1, [7, 7, 6]), (6, 12, [2, 2, 2]), (3, 1000, [1, 1, 1])],
)
def test_parts_are_nearly_equal_and_have_so_many_logits_and_no_more(monkeypatch, n, n_vocab, sizes):
    monkeypatch.setattr(cross_entropy, "LOGITS", 100)
    inputs = torch.arange(3 * n).reshape(n, 3)
    parts = list(cross_entropy.batches(inputs, inputs + 1, n_vocab=n_vocab))
    assert [len(some) for some, _ in parts] == sizes
    assert torch.equal(torch.cat([some for some, _ in parts]), inputs)
    assert torch.equal(torch.cat([right for _, right in parts]), inputs + 1)


def test_evaluating_is_the_loss_of_all_windows_at_once(model):
    inputs, targets = windows.evenly(STREAM, 9, SHAPE)
    loss = cross_entropy.evaluate(model, STREAM, 9)
    assert loss.dtype == torch.float64
    torch.testing.assert_close(loss, cross_entropy.per_token(model(inputs), targets))


def test_the_loss_of_streams_is_that_of_their_logits(model, tokens, monkeypatch):
    monkeypatch.setattr(cross_entropy, "LOGITS", 50)
    x, targets = model.stream(tokens), tokens.roll(-1, dims=1)
    whole = cross_entropy.per_token(model.unembed(x), targets)
    torch.testing.assert_close(cross_entropy.of_streams(model, x, targets), whole)
    rows = cross_entropy.of_streams(model, x.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(rows, whole.flatten())
