import dataclasses
import math

import pytest
import torch
from conftest import PLAN, SHAPE

from transformer_circuits import files
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint, config


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "models_dir", lambda: tmp_path)
    return tmp_path


def saved(store, generator, shape=None):
    shape = shape or dataclasses.replace(SHAPE, n_vocab=tokenizer.load().get_vocab_size())
    model = Transformer(shape)
    model.randomise(generator=generator)
    checkpoint.save(store / "m", model, PLAN, "0" * 64, [{"tokens": 123}])
    return model


def test_what_is_saved_is_loaded_frozen(store, generator):
    model = saved(store, generator)
    again = checkpoint.load("m")
    assert again.config == model.config
    for new, old in zip(again.parameters(), model.parameters(), strict=True):
        assert new.dtype == torch.float32
        assert torch.equal(new, old.half().float())
    assert not any(weight.requires_grad for weight in again.parameters())
    assert checkpoint.settings("m") == (model.config, PLAN)


def test_changed_weights_are_noticed(store, generator):
    saved(store, generator)
    path = store / "m" / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ValueError, match=r"weights.safetensors is not the .* but its config says"):
        checkpoint.load("m")


def test_another_vocabulary_is_noticed(store, generator):
    saved(store, generator, SHAPE)
    with pytest.raises(ValueError, match="m has n_vocab 17 but the tokenizer has"):
        checkpoint.load("m")


def test_another_tokenizer_of_the_same_size_is_noticed(store, generator):
    saved(store, generator)
    path = store / "m" / "config.toml"
    lines = path.read_text().splitlines()
    lines = [line if "tokenizer" not in line else 'tokenizer_sha256 = "f00d"' for line in lines]
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match="but m learned with f00d"):
        checkpoint.load("m")


def test_weights_of_another_shape_do_not_fit(store, generator):
    saved(store, generator)
    other = Transformer(dataclasses.replace(SHAPE, d_head=7))
    with pytest.raises(ValueError, match="does not fit its config"):
        checkpoint.load_weights(other, store / "m" / "weights.safetensors")
    (store / "damaged").write_bytes(b"no safetensors")
    with pytest.raises(ValueError, match="damaged does not fit"):
        checkpoint.load_weights(other, store / "damaged")


def test_unknown_and_untrained_models_are_named(store, generator):
    saved(store, generator)
    with pytest.raises(ValueError, match=r'no model called "n"; there are \[\'m\'\]'):
        checkpoint.load("n")
    (store / "m" / "weights.safetensors").unlink()
    with pytest.raises(ValueError, match="m is not trained: run"):
        checkpoint.load("m")


def test_a_log_is_read_line_by_line(store, generator):
    saved(store, generator)
    assert checkpoint.records("m") == [{"tokens": 123}]
    (store / "m" / "training.jsonl").unlink()
    with pytest.raises(ValueError, match=r"training\.jsonl is not there: run"):
        checkpoint.records("m")


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


def test_one_run_has_at_least_twenty_moments_and_each_is_half_the_size():
    folder = checkpoint.folder("two-layer")
    steps = checkpoint.moments(folder)
    assert len(steps) >= 20
    assert (folder / "moments" / files.SUMS).is_file()
    for path in (folder / "moments").glob("*.safetensors"):
        files.require_as_listed(path)
        assert path.stat().st_size < 0.52 * (folder / "weights.safetensors").stat().st_size
    for step in (steps[0], steps[-1]):
        checkpoint.load("two-layer", step=step)
