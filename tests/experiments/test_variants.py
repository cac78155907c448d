import dataclasses
import shutil

import pytest
import torch
from conftest import PLAN, SHAPE

from transformer_circuits import files
from transformer_circuits.experiments import development, variants
from transformer_circuits.text import corpus
from transformer_circuits.training import checkpoint, runs
from transformer_circuits.training.config import TrainConfig


def measured(model, held_out):
    return dict.fromkeys(variants.KEPT[3:], float(model.W_U.detach().norm())) | {"k_scores": []}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Two trainings of a tiny model, of two steps each."""
    planned = [("tiny", variants.AS_TRAINED, 0), ("tiny", variants.FROM_THE_START, 1)]
    plan = dataclasses.replace(PLAN, blind_steps=2, rms_embed=0.5)
    monkeypatch.setattr(variants, "STEPS", 2)
    monkeypatch.setattr(variants, "PLANNED", planned)
    monkeypatch.setattr(files, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(checkpoint, "folder", lambda name: tmp_path)
    monkeypatch.setattr(checkpoint, "settings", lambda name: (SHAPE, plan))
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: torch.arange(400) % 17)
    monkeypatch.setattr(development, "probe", measured)
    return tmp_path


def test_each_training_is_a_line_with_its_plan_and_its_log(place):
    variants.write(compile=False)
    ours, other = files.read_json_lines(place / "variants.jsonl")
    assert (ours["variant"], other["variant"]) == (variants.AS_TRAINED, variants.FROM_THE_START)
    assert (ours["plan"]["blind_steps"], other["plan"]["blind_steps"]) == (2, 0)
    assert (ours["plan"]["seed"], other["plan"]["seed"]) == (0, 1)
    assert TrainConfig.from_dict(other["plan"]).steps == 2
    assert [list(record) for record in ours["training"]] == [list(variants.KEPT)]
    assert ours["training"][0]["held_out"] != other["training"][0]["held_out"]


def test_what_was_made_is_not_made_again(place, monkeypatch):
    variants.write(compile=False)
    before = (place / "variants.jsonl").read_bytes()
    monkeypatch.setattr(runs, "trainer", None)
    variants.write(compile=False)
    assert (place / "variants.jsonl").read_bytes() == before


def test_trainings_of_another_plan_are_made_again_and_replaced(place, monkeypatch):
    variants.write(compile=False)
    monkeypatch.setattr(variants, "STEPS", 3)
    with pytest.raises(files.UserError, match="belongs to the run"):
        variants.write(compile=False)
    assert len(files.read_json_lines(place / "variants.jsonl")) == 2
    shutil.rmtree(place / "cache")
    variants.write(compile=False)
    rows = files.read_json_lines(place / "variants.jsonl")
    assert [row["plan"]["steps"] for row in rows] == [3, 3]


def test_the_planned_variants_are_known_and_each_differs_from_the_book_s_plan():
    for name, variant, _ in variants.PLANNED:
        _, plan = checkpoint.settings(name)
        changed = dataclasses.replace(plan, **variants.CHANGES[variant])
        assert (changed == plan) == (variant == variants.AS_TRAINED), (name, variant)
    assert len(set(variants.PLANNED)) == len(variants.PLANNED)
