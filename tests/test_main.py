"""The command line: one line for what the reader can mend, a traceback for a bug."""

import dataclasses
import io
import json
import sys
from pathlib import Path

import pytest
import torch
from conftest import PLAN, SHAPE

from tools import __main__ as tools
from transformer_circuits import __main__ as cli
from transformer_circuits import files, settings
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training import checkpoint, runs
from website import building

STREAM = torch.arange(3000) ** 2 % 2048


def ended(*arguments):
    """How a command ended: its exit status, or its last words."""
    with pytest.raises(SystemExit) as raised:
        cli.main([*arguments])
    return raised.value.code


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An own data/models and data/cache with one tiny model, "tiny", that was never trained."""
    monkeypatch.setattr(files, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(checkpoint, "models_dir", lambda: tmp_path / "models")
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: STREAM)
    monkeypatch.setattr(corpus, "build", lambda profile: {"train": tmp_path / "text"})
    (tmp_path / "text").write_text("text")
    (tmp_path / "cache").mkdir()
    (tmp_path / "models" / "tiny").mkdir(parents=True)
    shape = dataclasses.replace(SHAPE, n_layers=0, n_vocab=tokenizer.load().get_vocab_size())
    text = settings.dumps(model=shape, training=PLAN)
    (tmp_path / "models" / "tiny" / "config.toml").write_text(text)
    return tmp_path


def test_a_checkout_is_not_worked_on_from_another(tmp_path, monkeypatch):
    (tmp_path / "src" / "transformer_circuits").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    said = ended("data", "small")
    assert str(tmp_path) in said and str(Path(cli.__file__).parent) in said and "PYTHONPATH" in said


def test_a_model_is_trained_where_its_config_lies_and_eval_says_what_training_said(place, capsys):
    cli.main(["train", "tiny", "--no-compile"])
    capsys.readouterr()
    cli.main(["eval", "tiny"])
    last = json.loads((place / "models/tiny/training.jsonl").read_text().splitlines()[-1])
    said = capsys.readouterr().out
    assert f"tiny: {last['held_out_nats']:.4f} nats" in said and "over 64 windows" in said
    other = place / "models" / "tiny-seed-9"
    cli.main(["train", "tiny", "--no-compile", "--seed", "9"])
    (other / "weights.safetensors").unlink()
    cli.main(["train", "tiny-seed-9", "--no-compile"])
    assert (other / "weights.safetensors").is_file()
    assert checkpoint.seeds("tiny") == ["tiny", "tiny-seed-9"]
    assert checkpoint.load("tiny").config == checkpoint.load("tiny-seed-9").config


def test_a_folder_that_cannot_be_written_is_refused_before_the_training(place, monkeypatch):
    monkeypatch.setattr(runs, "Trainer", lambda *_, **__: pytest.fail("training began"))
    (place / "file").write_text("x")
    wrong = ended("train", "tiny", "--folder", str(place / "file" / "x"))
    assert wrong.startswith("train: ") and "file/x" in wrong


@pytest.mark.parametrize("n_vocab", ["10", "70000"])
def test_an_impossible_vocabulary_is_refused_and_the_tokenizer_kept(monkeypatch, n_vocab):
    monkeypatch.setattr(corpus, "read", lambda *_: pytest.fail("the text was read"))
    before = files.sha256(files.data_dir() / "tokenizer.json")
    assert f"vocabulary of {n_vocab} tokens is impossible" in ended("vocabulary", n_vocab)
    assert files.sha256(files.data_dir() / "tokenizer.json") == before


@pytest.mark.parametrize("kind", [files.UserError, OSError, FloatingPointError, ValueError])
def test_what_the_reader_can_mend_is_one_line_and_a_bug_keeps_its_traceback(monkeypatch, kind):
    def fail(name):
        raise kind("no such model")

    monkeypatch.setattr(checkpoint, "load", fail)
    if kind is ValueError:
        with pytest.raises(ValueError):
            cli.main(["eval", "x"])
    else:
        assert ended("eval", "x") == "eval: no such model"


def test_an_interrupted_training_ends_with_one_line_and_goes_on_later(place, monkeypatch, capsys):
    path = place / "models" / "tiny" / "config.toml"
    path.write_text(path.read_text().replace("steps = 6", "steps = 125"))
    step = runs.Trainer._one_step

    def interrupted(run):
        if run.step == 75:
            raise KeyboardInterrupt
        return step(run)

    with monkeypatch.context() as during:
        during.setattr(runs.Trainer, "_one_step", interrupted)
        assert ended("train", "tiny", "--no-compile") == 130
    *_, last = capsys.readouterr().err.splitlines()
    assert last == "train: stopped; the same command goes on from what was kept"
    cli.main(["train", "tiny", "--no-compile"])
    assert [record["step"] for record in checkpoint.records("tiny")] == [25, 50, 75, 100, 125]


def test_a_terminal_that_knows_ascii_alone_gets_all_the_text(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    monkeypatch.setattr(building, "build", lambda edition: Path("bücher"))
    tools.main(["book"])
    sys.stdout.flush()
    assert sys.stdout.buffer.getvalue() == b"The book is at b\\xfccher/index.html\n"
