"""Subjects measure by document; controls are what their names say."""

import pytest
import torch

from transformer_circuits.text import tokenizer
from transformer_circuits.training import cross_entropy
from transformer_circuits.verdicts import controls, evaluate


def test_means_are_of_documents(subject):
    values = torch.zeros(4, subject.model.config.n_ctx, dtype=torch.float64)
    inputs, _ = subject.windows(4)
    values[0, :] = 6.0
    means = subject.by_document(values)
    assert float(means.max()) == 6.0
    assert len(means) >= 4
    values[1:] = float("nan")
    assert subject.by_document(values).tolist() == [6.0] * len(subject.by_document(values))
    assert inputs.shape == values.shape


def test_losses_are_those_of_the_windows(subject):
    inputs, targets = subject.windows(3)
    right = cross_entropy.per_token(subject.model(inputs), targets)
    assert torch.equal(subject.losses(3), right)


def test_shuffled_text_keeps_each_document_s_tokens(subject):
    shuffled = controls.control("shuffled text", subject).text
    assert not torch.equal(shuffled, subject.text)
    at = torch.nonzero(subject.text == tokenizer.BEGIN).flatten()
    assert torch.equal(torch.nonzero(shuffled == tokenizer.BEGIN).flatten(), at)
    for before, after in zip(subject.text.split(20), shuffled.split(20), strict=True):
        assert torch.equal(before.sort().values, after.sort().values)


def test_random_heads_stand_between_the_trained_embeddings(subject):
    control = controls.control("random heads", subject).model
    assert torch.equal(control.W_E, subject.model.W_E.to(control.W_E))
    ours, random = (m.layers[0].W_O.double() for m in (subject.model, control))
    assert not torch.allclose(ours, random)


def test_without_heads_only_the_direct_path_is_left(subject):
    control = controls.control("without heads", subject).model
    tokens = torch.tensor([[1, 2, 3]])
    direct = subject.model.W_U @ subject.model.W_E[:, 3]
    assert torch.allclose(control(tokens)[0, 2], direct)


def test_what_is_not_there_is_refused(subject):
    with pytest.raises(ValueError, match='no control is called "mirror"'):
        controls.control("mirror", subject)
    for name in ("copying.none", "none.copying", "copying"):
        with pytest.raises(ValueError, match=f'no metric is called "{name}"'):
            evaluate.metric(name)


@pytest.mark.parametrize("name", ["rotated basis", "outsized coordinate"])
def test_in_another_basis_a_model_computes_the_same(subject, name):
    control = controls.control(name, subject).model
    tokens = torch.tensor([[1, 2, 3, 2, 1]])
    assert torch.allclose(control(tokens), subject.model(tokens), atol=1e-8)
    ours, other = (m.trace(tokens).residual[-1] for m in (subject.model, control))
    assert not torch.allclose(ours, other)
