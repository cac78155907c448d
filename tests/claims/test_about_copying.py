"""What is measured of copying: finite on any model, high on what was built, low on controls."""

import copy
import dataclasses

import pytest
import torch

from transformer_circuits.analysis import ablation, copying_scores
from transformer_circuits.claims import about_copying, controls, rules, subjects
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


@pytest.fixture
def subject(subject, generator):
    """A small subject whose tokens reach the letters, of a model of four heads a layer."""
    config = dataclasses.replace(
        subject.model.config, n_heads=4, d_model=16, d_head=4, n_vocab=101, n_ctx=13
    )
    model = Transformer(config).double().requires_grad_(False)
    model.randomise(generator=generator)
    text = torch.randint(1, config.n_vocab, (900,), generator=generator)
    text[::30] = tokenizer.BEGIN
    return Subject("small", model, text)


def test_without_a_negative_head_nothing_is_deleted_or_suppressed_and_that_is_no_case(subject):
    """What has positive eigenvalues is no head that the claims speak of."""
    model = subject.model
    model.W_U.data = model.W_E.T.clone()
    for layer in model.layers:
        layer.W_O.data.copy_(layer.W_V.mT)
    for measurement in (
        about_copying.deletion_by_negative_head,
        about_copying.suppression_by_negative_head,
    ):
        found = measurement.interval(dataclasses.replace(subject, name="copiers"))
        assert found == rules.NOTHING, measurement.claim.id


def test_what_is_moved_is_as_long_in_whatever_basis_a_head_has_and_a_value_is_not(subject):
    """An invertible matrix between W_O and W_V, and its inverse, leave the head what it is.

    Another basis of the stream leaves the value what it is, and not what is moved.
    """
    plain = about_copying.lengths_of_begin(subject)
    value, moved, logits = plain.values()
    model = copy.deepcopy(subject.model)
    d_head = model.config.d_head
    M = torch.randn(d_head, d_head, generator=torch.Generator().manual_seed(5)).double()
    for layer in model.layers:
        for h in range(model.config.n_heads):
            layer.W_V.data[h] = M @ layer.W_V[h]
            layer.W_O.data[h] = layer.W_O[h] @ torch.linalg.inv(M)
    inside = about_copying.lengths_of_begin(dataclasses.replace(subject, model=model)).values()
    turned = subjects.in_basis(
        subject, "stretched", torch.diag(torch.linspace(0.1, 10, model.config.d_model))
    )
    outside = about_copying.lengths_of_begin(turned).values()
    same = [
        [torch.allclose(one, before, rtol=1e-3) for one, before in zip(after, plain, strict=True)]
        for plain, after in (((value, moved, logits), of) for of in (inside, outside))
    ]
    assert same == [[False, True, True], [True, False, True]]


def test_exceptions_are_chosen_by_what_they_move_and_measured_by_where_they_look(subject):
    """The first head of each layer looks at the present token and lowers it; the others copy."""
    model = subject.model
    d_head = model.config.d_head
    model.W_U.data = model.W_E.T.clone()
    for layer in model.layers:
        for head in range(model.config.n_heads):
            axes = torch.linalg.qr(layer.W_V[head].T).Q
            layer.W_V.data[head], layer.W_O.data[head] = axes.T, axes if head else -axes
        look = 3 * torch.eye(d_head, model.config.d_model).double()
        layer.W_Q.data[0], layer.W_K.data[0] = look, look
        layer.W_Q.data[1:] *= 0  # the others look everywhere alike
    shuffled = controls.shuffled_heads(subject)
    assert about_copying.attention_of_exceptions(subject).mean() > 0.5
    assert about_copying.attention_of_exceptions(shuffled).mean() < 0.5
    before, after = (m.trace(subject.text[None, :9]) for m in (model, shuffled.model))
    assert torch.equal(before.patterns[0], after.patterns[0])
    idle = controls.heads_without_effect(subject)
    assert about_copying.attention_of_exceptions(idle).isnan().all()


def test_in_one_layer_a_short_begin_token_moves_little(subject):
    one = Transformer(dataclasses.replace(subject.model.config, n_layers=1)).double()
    one.requires_grad_(False).randomise(generator=torch.Generator().manual_seed(2))
    single = dataclasses.replace(subject, model=one)
    plain = about_copying.length_of_begin_value(single)
    one.W_E.data[:, tokenizer.BEGIN] *= 0.01
    short = about_copying.length_of_begin_value(dataclasses.replace(subject, model=one))
    assert short.mean() < 0.1 < 0.5 < plain.mean()


def test_what_helps_inside_words_is_worth_more_there(subject, monkeypatch):
    """A loss that rises by one nat inside words, when the previous-token head is off, is seen."""
    previous = subject.previous_token_head

    def losses(model, inputs, targets, off):
        inside = tokenizer.inside_words(inputs).double()
        return 0 * inside, torch.stack([inside * (head == previous) for head in off])

    monkeypatch.setattr(ablation, "losses_without_heads", losses)
    found = about_copying.worth_inside_words(subject)
    assert torch.allclose(found[~found.isnan()], torch.ones(()).double())


def test_heads_that_copy_are_counted(subject, monkeypatch):
    model, config = subject.model, subject.model.config
    assert not about_copying.share_of_copying_heads(controls.untrained(subject)).any()
    narrow = torch.tensor([-0.1, 0.1])  # among so few tokens random heads stray to either end
    monkeypatch.setattr(copying_scores, "null", lambda *_, generator: narrow)
    model.W_U[:] = model.W_E.T
    for head in range(config.n_heads):
        model.layers[1].W_O[head] = (1 if head < 3 else -1) * model.layers[1].W_V[head].T
    alike = dataclasses.replace(subject, name="copying")
    assert about_copying.share_of_copying_heads(alike).tolist() == [1, 1, 1, 0]
    nothing = controls.heads_without_effect(alike)
    assert not about_copying.share_of_copying_heads(nothing).any()
