import dataclasses
import math

import pytest
import torch
from conftest import PLAN, SHAPE
from safetensors.torch import save_file

from transformer_circuits import files
from transformer_circuits.model import general, quantisation
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint, config


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "models_dir", lambda: tmp_path)
    return tmp_path


def saved(store, generator, **changed):
    shape = dataclasses.replace(SHAPE, n_vocab=tokenizer.load().get_vocab_size())
    model = Transformer(dataclasses.replace(shape, **changed))
    model.randomise(generator=generator)
    quantisation.round_(model)
    checkpoint.save(store / "m", model, PLAN, "0" * 64, [{"tokens": 123}])
    return model


def test_what_is_saved_is_loaded_frozen(store, generator):
    model = saved(store, generator)
    again = checkpoint.load("m")
    assert again.config == model.config
    for new, old in zip(again.parameters(), model.parameters(), strict=True):
        assert new.dtype == torch.float32
        assert torch.equal(new, old)
    assert not any(weight.requires_grad for weight in again.parameters())
    assert checkpoint.settings("m") == (model.config, PLAN)
    assert checkpoint.records("m") == [{"tokens": 123}]


def test_what_a_config_does_not_say_is_not_saved(store):
    model = general.with_norm(SHAPE).requires_grad_(False)
    with pytest.raises(files.UserError, match="does not know a norm"):
        checkpoint.save(store / "m", model, PLAN, "0" * 64, [{"tokens": 123}])
    assert not (store / "m" / "config.toml").exists()


def test_what_does_not_belong_together_is_noticed(store, generator):
    saved(store, generator)
    with pytest.raises(ValueError, match=r'no model called "n"; there are \[\'m\'\]'):
        checkpoint.load("n")
    path = store / "m" / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ValueError, match=r"weights.safetensors is not the .* but its config says"):
        checkpoint.load("m")
    config_file = store / "m" / "config.toml"
    text = config_file.read_text()
    config_file.write_text(text.replace('tokenizer_sha256 = "', 'tokenizer_sha256 = "f00d'))
    with pytest.raises(ValueError, match="but m learned with f00d"):
        checkpoint.load("m")
    for said, other, wrong in (
        ("d_head = 3", "d_head = 7", r"layers.0.W_Q_concat is \(\S+, \d+\) but must be \("),
        (
            "n_layers = 2",
            "n_layers = 12",
            "its weights are of 2 layers, but n_layers is 12. Correct",
        ),
        ("d_mlp = 0", "d_mlp = 5", r"mlps.0.W_I is not there but must be \(5, "),
    ):
        assert said in text
        config_file.write_text(text.replace(said, other).partition("[provenance]")[0])
        with pytest.raises(ValueError, match=f"does not fit its config: {wrong}"):
            checkpoint.of_file(path)
    for file, wrong in (
        (path, "m is not trained: run"),
        (store / "m/training.jsonl", "not there: run"),
    ):
        file.unlink()
        with pytest.raises(ValueError, match=wrong):
            checkpoint.load("m") if file == path else checkpoint.records("m")
    saved(store, generator, n_vocab=17)
    with pytest.raises(ValueError, match="m has n_vocab 17 but the tokenizer has"):
        checkpoint.load("m")


def test_seeds_of_a_model_are_those_that_are_trained_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "models_dir", lambda: tmp_path)
    names = ["m", "m-seed-10", "m-seed-2", "m-mlp", "m-seed-2-seed-3", "x-seed-1"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text("")
    (tmp_path / "m-seed-4").mkdir()  # in training
    assert checkpoint.seeds("m") == ["m", "m-seed-2", "m-seed-10"]


NAMES = sorted(path.parent.name for path in checkpoint.models_dir().glob("*/weights.safetensors"))


@pytest.mark.parametrize("name", NAMES)
def test_the_models_of_the_book_load_and_had_all_of_their_training(name):
    model = checkpoint.load(name)
    assert all(torch.isfinite(weight).all() for weight in model.parameters())
    folder = checkpoint.models_dir() / name
    tables = config.read(folder / "config.toml", "model", "training", "provenance")
    shape, plan = tables["model"], tables["training"]
    assert tables["provenance"].tokens == plan.steps * plan.batch * shape.n_ctx
    assert (folder / "weights.safetensors").stat().st_size < 8e6
    assert checkpoint.records(name)[-1]["step"] == plan.steps
    assert checkpoint.held_out_nats(name) < math.log(shape.n_vocab)


def test_a_file_in_floating_point_is_loaded_as_well(store, generator):
    model = saved(store, generator)
    save_file(model.state_dict(), path := store / "m" / "whole.safetensors")
    checkpoint.load_weights(other := Transformer(model.config), path)
    assert torch.equal(other.W_E, model.W_E)


def test_one_run_has_the_checkpoints_of_its_plan_and_they_are_small():
    folder = checkpoint.folder("two-layer")
    _, plan = checkpoint.settings("two-layer")
    assert checkpoint.steps(folder) == list(plan.checkpoints) and len(plan.checkpoints) >= 6
    assert (folder / "checkpoints" / files.SUMS).is_file()
    paths = [folder / "checkpoints" / f"{step:06}.safetensors" for step in plan.checkpoints]
    assert sum(path.stat().st_size for path in paths) < 40e6
    for path in paths:
        files.require_as_listed(path)
    for step in (plan.checkpoints[0], plan.checkpoints[-1]):
        checkpoint.load("two-layer", step=step)
