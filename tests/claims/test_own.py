"""The scorecard of a reader's own model: every rule, and in words what cannot be had."""

import dataclasses
import json

import forms
import pytest
import torch
from safetensors.torch import save_file

from transformer_circuits import __main__ as cli
from transformer_circuits import files, settings
from transformer_circuits.claims import catalogue, controls, own, registry, subjects
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.registry import Claim, Rule
from transformer_circuits.interop import own_model
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint

OF = {"plain": "two", "sibling": "two", "logged": "two", "only-one": "one", "with-mlps": "mlp"}
"""Of which model each rule is."""


def size(subject):
    """1 for a model that was not made at random here."""
    return torch.tensor(float(subject.own and subject.name != "untrained"))


def logged(subject):
    if subject.name == "untrained":
        return torch.tensor(0.0)
    subject.require(bool(subject.log), "a log")
    return torch.tensor(subject.log[0]["x"])


@pytest.fixture
def shape():
    return ModelConfig(2, 2, 4, 2, tokenizer.load().get_vocab_size(), 9, position_base=100.0)


def measured_by(monkeypatch, plain, logged):
    """The measurements are these: of "logged" one, of all other rules the other."""
    found = {name: decides(name, controls=[controls.untrained])(plain) for name in OF}
    found["sibling"] = decides("sibling", controls=[controls.one_layer, controls.untrained])(plain)
    found["logged"] = decides("logged", controls=[controls.untrained])(logged)
    monkeypatch.setattr(catalogue, "measurements", lambda: found)


def found(place):
    return dict(zip(OF, own.rows(subjects.of_folder(place)), strict=True))


@pytest.fixture
def place(tmp_path, monkeypatch, shape):
    """A folder with a model, and rules of our own."""
    one, mlp = (dataclasses.replace(shape, **it) for it in ({"n_layers": 1}, {"d_mlp": 8}))
    shapes = {"two": shape, "one": one, "mlp": mlp}
    monkeypatch.setattr(checkpoint, "settings", lambda name: (shapes[name], None))
    monkeypatch.setattr(subjects, "held_out", lambda: torch.arange(100))
    rows = {n: Claim(n, "paper", "trained", "s", f"{n} holds", "r", "r", "x") for n in OF}
    rules = {n: Rule(of, "above", 0.5, "the paper", "2026-11-22") for n, of in OF.items()}
    monkeypatch.setattr(registry, "read", lambda: rows)
    monkeypatch.setattr(registry, "rules", lambda: rules)
    measured_by(monkeypatch, size, logged)
    (tmp_path / "config.toml").write_text(settings.dumps(model=shape))
    save_file(Transformer(shape).state_dict(), tmp_path / "weights.safetensors")
    return tmp_path


def test_every_rule_is_tried_or_says_why_not(place):
    rows = found(place)
    assert {*rows["plain"]} == {*own.COLUMNS}
    assert rows["plain"]["verdict"] == "reproduced: 1 of 1 seeds"
    assert rows["plain"]["controls"] == "untrained 0"
    assert rows["sibling"]["verdict"].startswith("reproduced")
    assert rows["sibling"]["controls"] == "one layer unavailable; untrained 0"
    assert rows["logged"]["verdict"].startswith("unavailable: this needs a log, which /")
    assert rows["only-one"]["verdict"] == "left out: for 1 layers"
    assert rows["with-mlps"]["verdict"] == "left out: for 2 layers and MLPs"


def test_what_was_logged_is_read_where_it_lies(place):
    (place / "training.jsonl").write_text('{"x": 0.75}\n')
    assert (
        found(place)["logged"]["estimate (95 % interval), by seed"] == "0.75, one number per seed"
    )


@pytest.mark.parametrize("error", [ValueError, KeyError, IndexError, files.UserError])
def test_a_bug_in_a_measurement_is_an_error_and_no_verdict(place, monkeypatch, error):
    def wrong(subject):
        raise error("a bug")

    measured_by(monkeypatch, wrong, wrong)
    with pytest.raises(error, match="a bug"):
        [*own.rows(subjects.of_folder(place))]


def test_a_control_that_is_there_but_cannot_be_measured_is_not_left_out(place, monkeypatch):
    """Only what cannot be made is: a rule must not gain by a control that it fails to measure."""

    def fails_on_control(subject):
        subject.require(subject.name != "untrained", "training")
        return torch.tensor(1.0)

    measured_by(monkeypatch, fails_on_control, fails_on_control)
    assert found(place)["plain"]["verdict"].startswith("unavailable: this needs training")


def test_where_nothing_can_be_measured_that_is_said(place, monkeypatch):
    measured_by(monkeypatch, lambda subject: torch.tensor([torch.nan]), size)
    assert found(place)["plain"]["verdict"] == "no case: 1 of 1 seeds without what it speaks of"


def test_contexts_in_which_nothing_comes_twice_are_left_out(place, shape):
    short = dataclasses.replace(shape, n_ctx=7)
    (place / "config.toml").write_text(settings.dumps(model=short))
    assert found(place)["plain"]["verdict"] == "left out: for contexts of at least 8 tokens"


def test_the_command_prints_the_table(place, capsys):
    cli.main(["scorecard", "--model", str(place)])
    said = capsys.readouterr().out
    assert "plain holds" in said and "reproduced" in said and str(place) in said


def ended(*arguments):
    with pytest.raises(SystemExit) as raised:
        cli.main([*arguments])
    return raised.value.code


def test_what_is_wrong_with_a_model_is_one_line(place, shape):
    wrong = settings.dumps(model=dataclasses.replace(shape, n_heads=3))
    (place / "config.toml").write_text(wrong)
    assert "does not fit its config" in ended("scorecard", "--model", str(place))
    small = dataclasses.replace(shape, n_vocab=7)
    (place / "config.toml").write_text(settings.dumps(model=small))
    save_file(Transformer(small).state_dict(), place / "weights.safetensors")
    assert "has n_vocab 7, but rules measure" in ended("scorecard", "--model", str(place))
    (place / "config.toml").unlink()
    assert "nor a config.toml beside it" in ended("scorecard", "--model", str(place))


def test_a_checkpoint_of_transformer_lens_has_a_scorecard_too(place, shape, tmp_path):
    config = forms.config("as in the paper") | {"d_vocab": shape.n_vocab}
    theirs = forms.as_tensors(forms.draw(config, bias=0.0))
    folder = tmp_path / "theirs"
    folder.mkdir()
    save_file(theirs, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    assert found(folder)["plain"]["verdict"] == "reproduced: 1 of 1 seeds"


def test_the_checksum_counts_where_there_is_one(place, shape):
    provenance = {"corpus_sha256": "", "tokenizer_sha256": "", "torch": "", "tokens": 1}
    sha = files.sha256(place / "weights.safetensors")
    for given, fits in ((sha, True), ("0" * 64, False)):
        text = settings.dumps(model=shape, provenance=provenance | {"weights_sha256": given})
        (place / "config.toml").write_text(text)
        if fits:
            assert own_model.load(place).config == shape
        else:
            with pytest.raises(files.UserError, match="not the file that"):
                own_model.load(place)


def test_an_own_model_has_no_siblings(place):
    with pytest.raises(subjects.NotToBeHad, match="has no sibling one-layer"):
        subjects.of_folder(place).sibling("one-layer")
