"""The command that makes the planned trainings: what is made is kept, and what is kept is read."""

import dataclasses
import json

import pytest
import torch
from conftest import PLAN, SHAPE

from transformer_circuits import files
from transformer_circuits.experiments import formation, plan
from transformer_circuits.experiments.development import KEPT
from transformer_circuits.model import altered
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training import checkpoint
from transformer_circuits.training.trainer import Trainer

TEXT = {"full": torch.arange(400) % 17, "prose": torch.arange(400) ** 2 % 17}
BASE = """
[base]
model = "two-layer"
tokens = 300
taken_from = ""
first_layer = ""
repeat_weight = 1.0
family = ""
[[run]]
name = "base"
why = "to compare with"
taken_from = "training"
[[run]]
name = "free"
why = "positions"
taken_from = "variants"
training = { blind_steps = 0 }
"""
MADE = {
    "given": 'first_layer = "previous token"',
    "silent": "repeat_weight = 0.0",
    "small batch": "training = { batch = 2 }",
    "prose": 'family = "prose"',
    "bare": "shape = { begin = false }",
    "shifted": 'first_layer = "shifted keys"',
}


def measured(model, held_out):
    norm = float(model.W_U.detach().norm())
    return dict.fromkeys([*KEPT[3:], "first_position"], norm) | {"k_scores": []}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A checkout whose two-layer model is tiny, with its own log and one of variants."""
    settings = dataclasses.replace(PLAN, steps=40, blind_steps=2, seed=0)

    def of(name):
        seed = int(name[-1]) if name[-1].isdigit() else 0
        return SHAPE, dataclasses.replace(settings, seed=seed, moments=True)

    runs = [f'[[run]]\nname = "{name}"\nwhy = "x"\n{change}\n' for name, change in MADE.items()]
    (tmp_path / "plan.toml").write_text(BASE + "".join(runs))
    monkeypatch.setattr(plan, "path", lambda: tmp_path / "plan.toml")
    monkeypatch.setattr(files, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(checkpoint, "folder", lambda name: tmp_path)
    monkeypatch.setattr(checkpoint, "settings", of)
    monkeypatch.setattr(checkpoint, "seeds", lambda name: [name, f"{name}-1", f"{name}-2"])
    monkeypatch.setattr(corpus, "tokens", lambda profile, split: TEXT["full"])
    monkeypatch.setattr(corpus, "tokens_of", lambda profile, split, family: TEXT[family])
    monkeypatch.setattr(formation, "probe", measured)
    monkeypatch.setattr(formation, "EVERY", 88)  # two steps of the base

    def log(name, kind="training"):
        if kind == "training":
            return [record(s) for s in (2, 4, 6, 8, 10)]
        free = dataclasses.asdict(dataclasses.replace(settings, blind_steps=0, moments=False))
        logs = [
            {"plan": free | {"seed": s}, "training": [record(2), record(20)]} for s in (0, 1, 2)
        ]
        return [{"model": "two-layer"} | one for one in logs]

    monkeypatch.setattr(checkpoint, "records", log)
    return tmp_path


def record(step):
    return dict.fromkeys(KEPT, 0.5) | {"step": step, "tokens": 44 * step, "other": 1}


def test_each_training_is_a_line_with_its_choices_and_its_log(place):
    formation.write(compile=False)
    rows = files.read_json_lines(place / "experiments.jsonl")
    assert [(row["seed"], row["run"]) for row in rows] == [(s, n) for n in MADE for s in (0, 1, 2)]
    for row in rows:
        assert [list(r) for r in row["training"]] == len(row["training"]) * [
            [*KEPT, "first_position"]
        ]
        tokens = [r["tokens"] for r in row["training"]]
        assert tokens == ([88, 176, 264, 352] if row["run"] != "small batch" else tokens)
        assert tokens[-2] < 300 <= tokens[-1]
    ends = {row["run"]: row["training"][-1]["held_out"] for row in rows[::3]}
    assert len({*ends.values()}) == len(MADE)  # every choice makes another model
    assert formation.records("given") == [row["training"] for row in rows[:3]]


def test_a_stopped_command_loses_no_record_and_ends_with_the_same_lines(place, monkeypatch):
    formation.write(compile=False)
    path, whole = place / "experiments.jsonl", (place / "experiments.jsonl").read_text()
    path.unlink()
    (place / "cache").rename(place / "done")
    steps, one_step = iter(range(100)), Trainer._one_step

    def until_stopped(self):
        if next(steps, None) == 28:  # within the fourth training
            raise KeyboardInterrupt
        return one_step(self)

    monkeypatch.setattr(Trainer, "_one_step", until_stopped)
    with pytest.raises(KeyboardInterrupt):
        formation.write(compile=False)
    assert 0 < len(kept := path.read_text().splitlines()) < len(MADE)
    assert without_seconds("\n".join(kept)) == without_seconds(whole)[: len(kept)]
    formation.write(compile=False)
    assert without_seconds(path.read_text()) == without_seconds(whole)


def without_seconds(text):
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        for one in row["training"]:
            del one["seconds"]
    return rows


def test_what_was_made_is_not_made_again_and_another_plan_replaces_its_own_line_alone(
    place, monkeypatch
):
    formation.write(compile=False)
    path = place / "experiments.jsonl"
    before = path.read_text().splitlines()
    made, trainer = [], formation.trainer
    monkeypatch.setattr(
        formation, "trainer", lambda one, compile: made.append(one.title) or trainer(one, compile)
    )
    formation.write(compile=False)
    assert not made and path.read_text().splitlines() == before
    text = plan.path().read_text().replace("repeat_weight = 0.0", "repeat_weight = 0.5")
    plan.path().write_text(text)
    with pytest.raises(files.UserError, match=r"silent-seed-0/state.pt belongs to the run"):
        formation.write(compile=False)
    assert path.read_text().splitlines() == before
    for state in (place / "cache" / "runs").glob("*silent*"):
        state.rename(place / state.name)
    made.clear()
    formation.write(compile=False)
    assert made == [f"silent, seed {seed}" for seed in (0, 1, 2)]
    after = path.read_text().splitlines()
    changed = [new != old for new, old in zip(after, before, strict=True)]
    assert changed == [json.loads(line)["run"] == "silent" for line in before]


def test_a_missing_log_is_named_with_the_command_and_what_is_there_is_read_in_whatever_log(place):
    with pytest.raises(files.UserError, match=r'"given, seed 0": run .* experiments$'):
        formation.records("given")
    base, free = formation.records("base"), formation.records("free")
    assert [r["step"] for r in base[0]] == [2, 4, 6, 8]  # up to the first past 300 tokens
    assert [r["step"] for r in free[2]] == [2, 20] and len(base) == len(free) == 3
    assert "other" not in base[0][0]
    with pytest.raises(ValueError, match=r'no run of plan\.toml is called "freed"'):
        formation.records("freed")
    plan.path().write_text(plan.path().read_text().replace("blind_steps = 0", "blind_steps = 1"))
    with pytest.raises(files.UserError, match=r'"free, seed 0": run .* variants$'):
        formation.records("free")


def test_the_probe_says_how_much_heads_rest_on_the_first_token(monkeypatch):
    monkeypatch.setattr(formation.development, "probe", lambda model, text: {"step": 7})
    model = altered.model(SHAPE, "").requires_grad_(False)  # fresh: see the test of its formula
    found = formation.probe(model, TEXT["full"])
    inputs, _ = windows.evenly(TEXT["full"], 8, SHAPE)
    expected = [
        A[:, :, SHAPE.n_ctx // 2 :, 0].mean(dim=(0, 2)) for A in model.trace(inputs).patterns
    ]
    assert found["first_position"] == [pytest.approx(A.tolist(), abs=1e-4) for A in expected]
    assert found["step"] == 7


def test_another_series_has_its_own_plan_tokens_lines_and_measures_at_the_end(place, monkeypatch):
    text = plan.path().read_text().replace('name = "given"', 'name = "given"\nround = 9')
    (place / "other.toml").write_text(text)
    read = []

    def tokens(profile, split):
        read.append(tokenizer.path())
        return TEXT["full"]

    monkeypatch.setattr(corpus, "tokens", tokens)
    vocabulary, ends = place / "vocabulary.json", []

    def at_end(one, run):
        ends.append((one.title, run.log[-1]["tokens"], tokenizer.path()))
        return {"width": run.model.config.d_model}

    series = formation.Series(place / "other.toml", place / "other.jsonl", vocabulary, at_end)
    formation.write(compile=False, series=series)
    assert not formation.why().results.exists() and {*read} == {vocabulary}
    rows = files.read_json_lines(place / "other.jsonl")
    assert [row["run"] for row in rows[-3:]] == ["given"] * 3
    assert [row["width"] for row in rows] == len(rows) * [SHAPE.d_model]
    assert ends == [
        (f"{row['run']}, seed {row['seed']}", row["training"][-1]["tokens"], vocabulary)
        for row in rows
    ]
    # Without a line the training is not made again, only measured.
    (place / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[1:]))
    monkeypatch.setattr(Trainer, "_one_step", lambda self: pytest.fail("trained again"))
    formation.write(compile=False, series=series)
    assert files.read_json_lines(place / "other.jsonl") == rows
