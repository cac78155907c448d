"""Students of one layer have as many new weights, or a few more, and begin where it stands."""

import json

import torch

from transformer_circuits import files
from transformer_circuits.experiments import factorisation
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training import checkpoint

SHAPE = ModelConfig(1, 8, 24, 5, 19, 12, position_base=100.0)


def test_results_of_the_book_are_of_its_weights():
    rows = checkpoint.records("one-layer", "factorisation")
    for row, name in zip(rows, checkpoint.seeds("one-layer"), strict=True):
        weights = checkpoint.folder(name) / "weights.safetensors"
        assert (row["model"], row["weights_sha256"]) == (name, files.sha256(weights))
        assert len(row["as_it_is"]) == len(row["more_heads"]) == len(row["gated"]) == 4
    assert len({row["start"] for row in rows}) == len(rows)


def test_losses_before_and_along_are_written(tmp_path, monkeypatch, generator):
    model = Transformer(SHAPE, generator=generator)
    folder = tmp_path / "one-layer"
    folder.mkdir()
    (folder / "weights.safetensors").write_bytes(b"weights")
    stream = torch.randint(1, SHAPE.n_vocab, (40_000,), generator=generator)
    for target, name, value in [
        (checkpoint, "seeds", lambda name: ["one-layer"]),
        (checkpoint, "load", lambda name: model.requires_grad_(False)),
        (checkpoint, "folder", lambda name: folder),
        (files, "cache_dir", lambda: tmp_path),
        (factorisation.corpus, "tokens", lambda profile, split: stream),
    ]:
        monkeypatch.setattr(target, name, value)
    plan = {**vars(factorisation.PLAN), "steps": 2, "batch": 2, "warmup_steps": 1}
    monkeypatch.setattr(factorisation, "PLAN", type(factorisation.PLAN)(**plan))
    factorisation.write(compile=False)
    (row,) = map(json.loads, (folder / "factorisation.jsonl").read_text().splitlines())
    assert row["start"] > 0 and [*row][-3:] == ["as_it_is", "more_heads", "gated"]
    assert all(len(row[name]) == 1 for name in ("as_it_is", "more_heads", "gated"))
