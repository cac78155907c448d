"""What the command line adds to the trainer; `test_main` runs whole trainings with it."""

import dataclasses
from types import SimpleNamespace

import pytest
import torch
from conftest import PLAN, SHAPE

from transformer_circuits import files, settings
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training import checkpoint, runs

TEXTS = {"train": torch.arange(400) % 17, "validation": torch.arange(300) ** 2 % 17}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Two models that were never trained: "none" has no layers, "two" has two."""
    monkeypatch.setattr(files, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(checkpoint, "models_dir", lambda: tmp_path / "models")
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: TEXTS[split])
    monkeypatch.setattr(corpus, "build", lambda profile: {"train": tmp_path / "text"})
    (tmp_path / "text").write_text("text")
    for name, n_layers in (("none", 0), ("two", 2)):
        (tmp_path / "models" / name).mkdir(parents=True)
        shape = dataclasses.replace(SHAPE, n_layers=n_layers)
        text = settings.dumps(model=shape, training=PLAN)
        (tmp_path / "models" / name / "config.toml").write_text(text)
    return tmp_path


def test_what_is_saved_is_what_was_measured_and_only_layers_are_probed(place):
    seen = []

    def probe(model, text):
        seen.append(text)
        return {"seen": len(seen)}

    assert not runs.prepare("none", compile=False, probe=probe).trainer.probe
    run = runs.prepare("two", compile=False, probe=probe)
    assert [record["seen"] for record in run.records()] == [1]
    assert torch.equal(seen[0], TEXTS["validation"])
    positions = run.trainer.model.W_P.clone()
    nats = run.save()
    assert checkpoint.records("two")[-1]["held_out_nats"] == nats
    assert torch.equal(run.trainer.model.W_P, positions), "not rounded, as weights are"
    kept = checkpoint.of_file(run.folder / "weights.safetensors")
    assert torch.equal(run.trainer.model.W_U, kept.W_U)
    assert checkpoint.steps(run.folder) == []  # which this plan does not ask for


def test_what_is_trained_goes_to_its_config_or_beside_the_other_seeds(place):
    ours, other = (runs.prepare("two", seed=seed, compile=False) for seed in (PLAN.seed, 9))
    assert (ours.name, ours.folder) == ("two", place / "models" / "two")
    assert other.name == "two-seed-9"
    assert other.folder == place / "models" / "two-seed-9"
    assert other.trainer.config == dataclasses.replace(PLAN, seed=9)
    elsewhere = runs.prepare("two", seed=9, folder=place / "x", compile=False)
    assert (elsewhere.name, elsewhere.folder) == ("two-seed-9", place / "x")


def test_checkpoints_of_the_plan_are_kept_also_of_a_run_that_was_stopped(place, monkeypatch):
    monkeypatch.setattr(tokenizer, "load", lambda: SimpleNamespace(get_vocab_size=lambda: 17))
    plan = dataclasses.replace(PLAN, steps=40, checkpoints=(4, 12, 17, 32))
    text = settings.dumps(model=SHAPE, training=plan)
    (place / "models" / "two" / "config.toml").write_text(text)
    run = runs.prepare("two", compile=False)
    run.trainer.every = 4
    checkpoint.save_checkpoint(run.folder, run.trainer.model, 9)  # of an earlier training
    checkpoint.save_checkpoint(run.state, run.trainer.model, 11)  # of one whose state was deleted
    seen = {}
    for record in run.records():
        seen[record["step"]] = run.trainer.model.W_E.detach().clone()
        if record["step"] == 12:
            break
    (
        run.state / "checkpoints" / "000012.safetensors"
    ).unlink()  # stopped just before it was written
    run = runs.prepare("two", compile=False)
    run.trainer.every = 4
    for record in run.records():
        seen[record["step"]] = run.trainer.model.W_E.detach().clone()
    run.save()
    assert checkpoint.steps(run.folder) == [4, 12, 20, 32]  # 17 has no record
    for step in (4, 32):
        model = checkpoint.load("two", step=step)
        rows = seen[step].abs().amax(dim=0)  # a token shares a scale
        assert ((model.W_E - seen[step]).abs() <= rows / 253).all()
    with pytest.raises(
        ValueError, match=r"no weights of step 5 were kept in .*, only of steps \[4"
    ):
        checkpoint.load("two", step=5)
    path = run.folder / "checkpoints" / "000012.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))  # it has the shapes of the model still
    with pytest.raises(ValueError, match=r"000012\.safetensors has SHA-256 .* Correct it"):
        checkpoint.load("two", step=12)
    checkpoint.take_checkpoints(run.state, run.folder)
    checkpoint.load("two", step=12)
