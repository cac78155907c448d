"""The command that makes the planned trainings: what is made is kept, and what is kept is read."""

import dataclasses
import json

import pytest
import torch
from conftest import PLAN, SHAPE

from transformer_circuits import files
from transformer_circuits.experiments import formation, plan
from transformer_circuits.experiments.development import KEPT
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training import checkpoint
from transformer_circuits.training.trainer import Trainer

TEXT = {"full": torch.arange(400) % 17, "prose": torch.arange(400) ** 2 % 17}
BASE = """
[base]
model = "two-layer"
tokens = 300
first_layer = ""
repeat_weight = 1.0
family = ""
"""
MADE = {
    "given": 'first_layer = "previous token"',
    "silent": "repeat_weight = 0.0",
    "small batch": "training = { batch = 2 }",
    "prose": 'family = "prose"',
    "bare": "shape = { begin = false }",
    "shifted": 'first_layer = "shifted keys"',
    "normed": "norm = true",
}


def measured(model, held_out):
    norm = float(model.W_U.detach().norm())
    return dict.fromkeys([*KEPT[3:], "first_position"], norm) | {"k_scores": []}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A checkout whose two-layer model is tiny."""
    settings = dataclasses.replace(PLAN, steps=40, blind_steps=2, seed=0, checkpoints=(9,))
    runs = [f'[[run]]\nname = "{name}"\nwhy = "x"\n{change}\n' for name, change in MADE.items()]
    (tmp_path / "plan.toml").write_text(BASE + "".join(runs))
    for target, name, value in [
        (plan, "path", lambda: tmp_path / "plan.toml"),
        (files, "cache_dir", lambda: tmp_path / "cache"),
        (checkpoint, "settings", lambda name: (SHAPE, settings)),
        (corpus, "tokens", lambda profile, split: TEXT["full"]),
        (corpus, "tokens_of", lambda profile, split, family: TEXT[family]),
        (formation, "probe", measured),
        (formation, "EVERY", 88),  # two steps of the base
    ]:
        monkeypatch.setattr(target, name, value)
    return tmp_path


def test_each_training_is_a_line_with_its_choices_and_its_log(place):
    formation.write(compile=False)
    rows = files.read_json_lines(place / "runs.jsonl")
    assert [(row["seed"], row["run"]) for row in rows] == [(s, n) for n in MADE for s in plan.SEEDS]
    for row in rows:
        assert {(*r,) for r in row["training"]} == {(*KEPT, "first_position")}
        tokens = [r["tokens"] for r in row["training"]]
        assert tokens == ([88, 176, 264, 352] if row["run"] != "small batch" else tokens)
        assert tokens[-2] < 300 <= tokens[-1]
    ends = {row["run"]: row["training"][-1]["held_out"] for row in rows[::3]}
    assert len({*ends.values()}) == len(MADE)  # every choice makes another model
    assert formation.records("given") == [row["training"] for row in rows[:3]]


def test_a_stopped_command_loses_no_record_and_another_plan_replaces_its_own_line_alone(
    place, monkeypatch
):
    path, one_step, trainer, made = (
        place / "runs.jsonl",
        Trainer._one_step,
        formation.trainer,
        [],
    )
    steps = iter(range(100))

    def until_stopped(self):
        if next(steps, None) == 28:  # within the fourth training
            raise KeyboardInterrupt
        return one_step(self)

    def noted(one, compile):
        made.append(one.title)
        return trainer(one, compile)

    monkeypatch.setattr(Trainer, "_one_step", until_stopped)
    with pytest.raises(KeyboardInterrupt):
        formation.write(compile=False)
    kept = path.read_text().splitlines()
    assert 0 < len(kept) < len(MADE)
    monkeypatch.setattr(formation, "trainer", noted)
    formation.write(compile=False)
    before = path.read_text().splitlines()
    assert before[: len(kept)] == kept and len(made) == 3 * len(MADE) - len(kept)
    text = plan.path().read_text().replace("repeat_weight = 0.0", "repeat_weight = 0.5")
    plan.path().write_text(text)
    with pytest.raises(files.UserError, match=r'"silent, seed 0": run .* experiments$'):
        formation.records("silent")  # a line of another plan is of no use
    with pytest.raises(files.UserError, match=r"silent-seed-0/state.pt belongs to the run"):
        formation.write(compile=False)
    assert path.read_text().splitlines() == before
    for state in (place / "cache" / "runs").glob("*silent*"):
        state.rename(place / state.name)
    made.clear()
    formation.write(compile=False)
    assert made == [f"silent, seed {seed}" for seed in plan.SEEDS]
    changed = [new != old for new, old in zip(path.read_text().splitlines(), before, strict=True)]
    assert changed == [json.loads(line)["run"] == "silent" for line in before]


def test_a_missing_log_is_named_with_the_command_and_the_book_misses_none(place, monkeypatch):
    with pytest.raises(files.UserError, match=r'"given, seed 0": run .* experiments$'):
        formation.records("given")
    with pytest.raises(ValueError, match=r'no run of plan\.toml is called "freed"'):
        formation.records("freed")
    monkeypatch.undo()
    for name in {one.choices.name for one in plan.read()}:
        assert all(log[-1]["tokens"] > 3e6 for log in formation.records(name)), name


def test_another_series_has_its_own_plan_tokens_lines_and_measures_at_the_end(place, monkeypatch):
    plan.path().rename(place / "other.toml")
    vocabulary, ends = place / "vocabulary.json", []

    def at_end(one, run):
        ends.append((one.title, run.log[-1]["tokens"], tokenizer.path()))
        return {"width": run.model.config.d_model}

    series = formation.Series(place / "other.toml", place / "other.jsonl", vocabulary, at_end)
    formation.write(compile=False, series=series)
    assert not formation.why().results.exists()
    rows = files.read_json_lines(place / "other.jsonl")
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


def test_spans_come_again_in_their_own_document_as_often_as_asked():
    text = torch.arange(1, 8193).reshape(8, 1024)
    text[:, 0] = tokenizer.BEGIN
    text, span = text.flatten(), formation.SPAN
    assert torch.equal(formation.overwritten(text, 0.0), text)
    made = formation.overwritten(text, 0.5).view(-1, span)
    moved = (made != text.view(-1, span)).any(dim=1)
    assert 0.4 < moved.float().mean() < 0.5  # the first span of a document has none before it
    for k in moved.nonzero().flatten().tolist():
        before = made[max(k // 64 * 64, k - formation.REACH) : k]  # a document has 64 spans
        assert any(torch.equal(made[k], one) for one in before)


def test_prose_with_planted_repeats_has_those_of_code(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    texts = {
        "prose": torch.randint(1, 900, (200_000,), generator=generator),
        "python": torch.randint(1, 20, (200_000,), generator=generator),
    }
    monkeypatch.setattr(corpus, "tokens_of", lambda profile, split, family: texts[family])
    shape = dataclasses.replace(SHAPE, n_ctx=256)
    made = formation.with_repeats("full", shape, best_of=1)

    def rate(text):
        return float(windows.completes_repeat(*windows.evenly(text, 512, shape)).float().mean())

    assert rate(texts["prose"]) < 0.1 < 0.2 < rate(texts["python"])
    assert rate(made) == pytest.approx(rate(texts["python"]), abs=0.02)
