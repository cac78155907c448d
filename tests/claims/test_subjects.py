"""Subjects measure by document; controls are what their names say."""

import dataclasses

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.claims import (
    about_composition,
    about_copying,
    about_how_they_form,
    about_residual_stream,
    about_why_they_form,
    controls,
    subjects,
)
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


def test_means_are_of_documents(subject):
    values = torch.zeros(4, subject.model.config.n_ctx, dtype=torch.float64)
    inputs, _ = subject.windows(4)
    values[0, :] = 6.0
    means = subject.by_document(values)
    assert float(means.max()) == 6.0
    assert len(means) >= 4
    values[1:] = values[0, 5] = float("nan")
    some = subject.by_document(values)
    assert len(some) == len(means) and some[0] == 6.0 and some[-1].isnan()
    assert inputs.shape == values.shape


def test_shuffled_text_keeps_each_document_s_tokens(subject):
    shuffled = controls.shuffled_text(subject).text
    assert not torch.equal(shuffled, subject.text)
    assert torch.equal(shuffled == tokenizer.BEGIN, subject.text == tokenizer.BEGIN)
    for before, after in zip(subject.text.split(20), shuffled.split(20), strict=True):
        assert torch.equal(before.sort().values, after.sort().values)


def own_model(**shape):
    model = Transformer(dataclasses.replace(SHAPE, **shape)).requires_grad_(False).eval()
    model.randomise(generator=torch.Generator().manual_seed(0))
    text = torch.randint(1, 17, (400,), generator=torch.Generator().manual_seed(0))
    text[::20] = tokenizer.BEGIN
    return subjects.Subject("mine", model, text, readers_own=True)


LOG = ({name: 1.0 for name in subjects.LOGGED[:-1]},)


@pytest.mark.parametrize(
    ("measurement", "subject", "needs"),
    [
        (about_how_they_form.bump, own_model(), "a log of its training"),
        (about_how_they_form.bump, dataclasses.replace(own_model(), log=LOG), '"matching_text" in'),
        (about_why_they_form.sooner_given, own_model(), "short trainings beside it"),
        (about_composition.use_of_hidden_edges, own_model(n_heads=1), "two heads in a layer"),
        (about_copying.worth_inside_words, own_model(n_layers=1, n_heads=1), "two heads, which"),
    ],
)
def test_what_a_model_of_one_s_own_does_not_have_is_named(measurement, subject, needs):
    with pytest.raises(subjects.Unavailable, match=f"this needs {needs}.*mine does not have"):
        measurement.interval(subject)


def test_units_of_one_package_are_known_by_it(subject, monkeypatch):
    """Twenty documents of two packages, in turn."""
    subject = dataclasses.replace(subject, of_the_book=True)
    monkeypatch.setattr(subjects, "_packages", lambda: torch.arange(20) % 2)
    n_ctx = subject.model.config.n_ctx
    documents = subject._documents(6, n_ctx)
    by_document = subject.packages_of(6, units=len(documents.unique()))
    assert by_document.tolist() == [(one - 1) % 2 for one in documents.unique().tolist()]
    by_window = subject.packages_of(6, units=6)
    assert by_window.tolist() == [(one - 1) % 2 for one in documents[:, n_ctx // 2].tolist()]
    assert subject.packages_of(6, units=5) is None
    assert dataclasses.replace(subject, of_the_book=False).packages_of(6, units=6) is None


def test_what_a_head_adds_is_a_share_of_what_the_direct_path_does(subject):
    model = subject.model
    whole = subject.added
    assert whole.shape == (2, model.config.n_heads) and (whole > 0).all()
    model.layers[1].W_O[2] *= 0.5
    less = dataclasses.replace(subject, name="less").added
    assert float(less[1, 2]) == pytest.approx(float(whole[1, 2]) / 2)
    other = about_residual_stream.rotated_basis(subject)
    torch.testing.assert_close(other.added, less)
    nothing = controls.heads_without_effect(subject)
    assert not any(nothing.does((layer, head)) for layer in range(2) for head in range(5))
