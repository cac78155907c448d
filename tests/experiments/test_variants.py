import dataclasses

import pytest
import torch
from conftest import PLAN, SHAPE

from transformer_circuits import files
from transformer_circuits.experiments import development, variants
from transformer_circuits.text import corpus
from transformer_circuits.training import checkpoint


def measured(model, held_out):
    return dict.fromkeys(development.KEPT[3:], float(model.W_U.detach().norm())) | {"k_scores": []}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Two trainings of a tiny model, whose rates fall from the 40th step on."""
    planned = [("tiny", variants.NO_DECAY, 0), ("tiny", variants.FROM_THE_START, 1)]
    plan = dataclasses.replace(PLAN, steps=200, decay_from=0.2, blind_steps=2, rms_embed=0.5)
    monkeypatch.setattr(variants, "PLANNED", planned)
    monkeypatch.setattr(files, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(checkpoint, "folder", lambda name: tmp_path)
    monkeypatch.setattr(checkpoint, "settings", lambda name: (SHAPE, plan))
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: torch.arange(400) % 17)
    monkeypatch.setattr(development, "probe", measured)
    return tmp_path


def test_each_training_is_a_line_with_its_plan_and_its_log(place):
    variants.write(compile=False)
    no_decay, free = files.read_json_lines(place / "variants.jsonl")
    assert (no_decay["variant"], free["variant"]) == (variants.NO_DECAY, variants.FROM_THE_START)
    assert (no_decay["plan"]["rms_embed"], free["plan"]["rms_embed"]) == (0, 0.5)
    assert (no_decay["plan"]["blind_steps"], free["plan"]["blind_steps"]) == (2, 0)
    assert (no_decay["plan"]["seed"], free["plan"]["seed"]) == (0, 1)
    assert [list(record) for record in no_decay["training"]] == 2 * [list(development.KEPT)]
    assert no_decay["training"][0]["held_out"] != free["training"][0]["held_out"]
    (place / "variants.jsonl").unlink()
    variants.write(compile=False)  # from the states that were kept: nothing is trained beyond
    for row in files.read_json_lines(place / "variants.jsonl"):
        assert [record["step"] for record in row["training"]] == [25, 50]
