"""Subjects measure by document; controls are what their names say."""

import dataclasses

import pytest
import torch
from conftest import SHAPE

from transformer_circuits.model import cross_entropy
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer
from transformer_circuits.verdicts import controls, evaluate, metrics, subjects


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


def test_a_metric_whose_module_does_not_import_says_why(monkeypatch, tmp_path):
    """And is not one that nobody has written."""
    (tmp_path / "broken.py").write_text("import a_package_that_is_not_there")
    (tmp_path / "wrong.py").write_text("import transformer_circuits.files as f\nf.nothing")
    monkeypatch.setattr(metrics, "__path__", [str(tmp_path)])
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
        evaluate.metric("broken.anything")
    with pytest.raises(AttributeError, match="nothing"):
        evaluate.metric("wrong.anything")


def own_model(**shape):
    model = Transformer(dataclasses.replace(SHAPE, **shape)).requires_grad_(False).eval()
    model.randomise(generator=torch.Generator().manual_seed(0))
    text = torch.randint(1, 17, (400,), generator=torch.Generator().manual_seed(0))
    text[::20] = tokenizer.BEGIN
    return subjects.Subject("mine", model, text, own=True)


LOG = ({name: 1.0 for name in subjects.LOGGED[:-1]},)


@pytest.mark.parametrize(
    ("metric", "subject", "needs"),
    [
        ("forming.bump", own_model(), "a log of its training"),
        ("forming.factor_of_tokens", own_model(), "a log of its training"),
        ("forming.context_gained", dataclasses.replace(own_model(), log=LOG), '"matching_text" in'),
        ("why_they_form.off_the_law", own_model(), "a config of its training"),
        ("why_they_form.sooner_given", own_model(), "short trainings beside it"),
        ("composition.best_of_queries_and_values", own_model(n_heads=1), "two heads in a layer"),
        ("composition.use_of_hidden_edges", own_model(n_heads=1), "two heads in a layer"),
        ("induction_circuits.gain_of_summed_ov", own_model(n_heads=1), "two heads in a layer"),
        ("copying.worth_inside_words", own_model(n_layers=1, n_heads=1), "two heads, which"),
    ],
)
def test_what_a_model_of_one_s_own_does_not_have_is_named(metric, subject, needs):
    with pytest.raises(subjects.NotToBeHad, match=f"this needs {needs}.*mine does not have"):
        evaluate.measure(metric, subject)


@pytest.mark.parametrize("name", ["deleting head", "suppressing head"])
def test_what_cannot_be_planted_in_a_shape_is_named(name):
    with pytest.raises(subjects.NotToBeHad, match="a d_head of at most d_model"):
        controls.control(name, own_model(d_head=15))


@pytest.mark.parametrize("name", ["rotated basis", "outsized coordinate"])
def test_in_another_basis_a_model_computes_the_same(subject, name):
    control = controls.control(name, subject).model
    tokens = torch.tensor([[1, 2, 3, 2, 1]])
    assert torch.allclose(control(tokens), subject.model(tokens), atol=1e-8)
    ours, other = (m.trace(tokens).residual[-1] for m in (subject.model, control))
    assert not torch.allclose(ours, other)


def test_held_out_text_is_kept_by_vocabulary(monkeypatch, tmp_path):
    read = []

    def tokens(profile, split):
        read.append(tokenizer.path())
        return torch.arange(len(read))

    monkeypatch.setattr(subjects.corpus, "tokens", tokens)
    subjects._held_out.cache_clear()
    with tokenizer.using(tmp_path / "other.json"):
        other = subjects.held_out()
        assert subjects.held_out() is other
    own = subjects.held_out()
    assert read == [tmp_path / "other.json", tokenizer.path()] and len(own) == 2
    subjects._held_out.cache_clear()
