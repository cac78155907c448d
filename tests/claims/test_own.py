"""The scorecard of a reader's own model: every rule, and in words what cannot be had."""

import dataclasses

import pytest
import torch
from safetensors.torch import save_file

from transformer_circuits import __main__ as cli
from transformer_circuits import files, settings
from transformer_circuits.claims import catalogue, controls, own, registry, subjects
from transformer_circuits.claims.measurement import decides
from transformer_circuits.claims.registry import Claim, Rule
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


def test_every_rule_is_tried_or_says_why_not(place, shape):
    rows = found(place)
    assert {*rows["plain"]} == {*own.COLUMNS}
    assert (
        rows["plain"]["verdict"]
        == "reproduced: this one model is beyond the threshold, no control is"
    )
    assert rows["plain"]["controls"] == "untrained 0"
    assert rows["sibling"]["verdict"].startswith("reproduced")
    assert rows["sibling"]["controls"] == "one layer unavailable; untrained 0"
    assert rows["logged"]["verdict"].startswith("unavailable: this needs a log, which /")
    assert rows["only-one"]["verdict"] == "left out: for 1 layers"
    assert rows["with-mlps"]["verdict"] == "left out: for 2 layers and MLPs"
    (place / "training.jsonl").write_text('{"x": 0.75}\n')
    logged = found(place)["logged"]
    assert logged["estimate (95 % interval), by seed"] == "0.75, one number per seed"
    short = dataclasses.replace(shape, n_ctx=7)
    (place / "config.toml").write_text(settings.dumps(model=short))
    assert found(place)["plain"]["verdict"] == "left out: for contexts of at least 8 tokens"


def test_a_bug_is_no_verdict_and_a_control_that_cannot_be_measured_is_not_left_out(
    place, monkeypatch
):
    """Only what cannot be made is: a rule must not gain by a control that it fails to measure."""

    def wrong(subject):
        raise files.UserError("a bug")

    measured_by(monkeypatch, wrong, wrong)
    with pytest.raises(files.UserError, match="a bug"):
        [*own.rows(subjects.of_folder(place))]

    def fails_on_control(subject):
        subject.require(subject.name != "untrained", "training")
        return torch.tensor(1.0)

    measured_by(monkeypatch, fails_on_control, fails_on_control)
    assert found(place)["plain"]["verdict"].startswith("unavailable: this needs training")


def test_the_command_prints_the_table_or_what_is_wrong_with_the_model(place, shape, capsys):
    cli.main(["scorecard", "--model", str(place)])
    said = capsys.readouterr().out
    assert "plain holds" in said and "reproduced" in said and str(place) in said
    small = dataclasses.replace(shape, n_vocab=7)
    (place / "config.toml").write_text(settings.dumps(model=small))
    save_file(Transformer(small).state_dict(), place / "weights.safetensors")
    with pytest.raises(SystemExit) as raised:
        cli.main(["scorecard", "--model", str(place)])
    assert "has n_vocab 7, but rules measure" in raised.value.code
