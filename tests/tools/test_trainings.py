"""The runner of planned trainings: the plan is read strictly, and what is made is kept."""

import dataclasses
import json
import math

import pytest
import torch
from conftest import PLAN, SHAPE

from tools import trainings as runner
from transformer_circuits import files
from transformer_circuits.experiments import trainings
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import corpus, tokenizer, windows
from transformer_circuits.training import checkpoint
from transformer_circuits.training.trainer import Trainer

TEXT = {"full": torch.arange(400) % 7, "prose": torch.arange(400) ** 2 % 17}
MADE = {
    "given": 'first_layer = "previous token"',
    "silent": "repeat_weight = 0.0",
    "small batch": "training = { batch = 2 }",
    "prose": 'family = "prose"',
    "bare": "shape = { begin = false }",
    "shifted": 'first_layer = "shifted keys"',
    "normed": "norm = true",
    "waves": 'positions = "usual"',
}
SERIES = '[short]\nmodel = "two-layer"\ntokens = 300\n'


def run(name, change="", series="short"):
    return f'[[{series}.run]]\nname = "{name}"\nwhy = "x"\n{change}\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A checkout whose two-layer model is tiny, with a plan of two series."""

    def measured(model, held_out):
        norm = float(model.W_U.detach().norm())
        return dict.fromkeys(runner.KEPT[3:], norm) | {"k_scores": []}

    runs = SERIES + "".join(run(name, change) for name, change in MADE.items())
    other = SERIES.replace("short", "other") + 'tokenizer = "v.json"\n' + run("last", "", "other")
    (tmp_path / "plan.toml").write_text(runs + other)
    (tmp_path / "v.json").write_bytes(tokenizer.path().read_bytes())
    (tmp_path / "text").write_text("text")
    settings = dataclasses.replace(PLAN, steps=40, blind_steps=2, seed=0, checkpoints=(9,))
    for target, name, value in [
        (trainings, "path", lambda: tmp_path),
        (files, "cache_dir", lambda: tmp_path / "cache"),
        (checkpoint, "settings", lambda name: (SHAPE, settings)),
        (corpus, "build", lambda profile: {"train": tmp_path / "text"}),
        (corpus, "tokens", lambda profile, split: TEXT["full"]),
        (corpus, "tokens_of", lambda profile, split, family: TEXT[family]),
        (runner, "probe", measured),
        (runner, "EVERY", 88),  # two steps of the base
    ]:
        monkeypatch.setattr(target, name, value)
    return tmp_path


def test_each_training_is_a_line_with_its_choices_and_its_log(place):
    runner.write(compile=False)
    rows = files.read_json_lines(place / "records.jsonl")
    names = [*MADE, "last"]
    assert [(row["run"], row["seed"]) for row in rows] == [
        (n, s) for n in names for s in trainings.SEEDS
    ]
    for row in rows:
        assert {(*record,) for record in row["training"]} == {runner.KEPT}
        tokens = [record["tokens"] for record in row["training"]]
        assert tokens == ([88, 176, 264, 352] if row["run"] != "small batch" else tokens)
        assert tokens[-2] < 300 <= tokens[-1]
    ends = {row["run"]: row["training"][-1]["held_out"] for row in rows[::3]}
    assert len({*ends.values()}) == len(names)  # every choice makes another model; "last" has none
    folder = place / "cache" / "runs" / "last-seed-2"
    saved = checkpoint.of_file(folder / "weights.safetensors")
    assert float(saved.W_U.norm()) == pytest.approx(rows[-1]["training"][-1]["held_out"], rel=0.01)
    assert not (folder.with_name("normed-seed-0") / "weights.safetensors").exists()


def test_a_stopped_command_loses_no_record_and_another_plan_replaces_its_own_line_alone(
    place, monkeypatch
):
    path, one_step, trainer, made = place / "records.jsonl", Trainer._one_step, runner.trainer, []
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
        runner.write(compile=False)
    kept = path.read_text().splitlines()
    assert 0 < len(kept) < len(MADE)
    monkeypatch.setattr(runner, "trainer", noted)
    runner.write(compile=False)
    before = path.read_text().splitlines()
    assert before[: len(kept)] == kept and len(made) == 3 * (len(MADE) + 1) - len(kept)
    plan = place / "plan.toml"
    plan.write_text(plan.read_text().replace("repeat_weight = 0.0", "repeat_weight = 0.5"))
    with pytest.raises(files.UserError, match=r"silent-seed-0/state.pt belongs to the run"):
        runner.write(compile=False)
    assert path.read_text().splitlines() == before
    for state in (place / "cache" / "runs").glob("*silent*"):
        state.rename(place / state.name)
    made.clear()
    runner.write(compile=False)
    assert made == [f"silent, seed {seed}" for seed in trainings.SEEDS]
    changed = [new != old for new, old in zip(path.read_text().splitlines(), before, strict=True)]
    assert changed == [json.loads(line)["run"] == "silent" for line in before]


def test_each_run_is_the_series_but_for_its_own_and_runs_of_a_round_take_turns(place):
    turns = "round = 9\nseeds = [4, 3]\n"
    plan = SERIES + 'training = { steps = 9 }\n' + run("one") + run("two", f"{turns}training = {{ batch = 2 }}")  # fmt: skip
    (place / "plan.toml").write_text(plan + run("three", turns))
    one, *_ = found = runner.planned()
    titles = [f"one, seed {k}" for k in (0, 1, 2)]
    titles += ["two, seed 3", "three, seed 3", "two, seed 4", "three, seed 4"]
    assert [training.title for training in found] == titles
    shape, own = checkpoint.settings("two-layer")
    same = dataclasses.replace(own, checkpoints=(), steps=9)
    assert (one.shape, one.training) == (shape, same)
    assert found[3].training == dataclasses.replace(same, batch=2, seed=3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("repeat_weight = 0.0", "heavy = 1", r'run "silent": .* unknown keys \[\'heavy\'\]'),
        ('"previous token"', '"x"', r'run "given": \[run\] first_layer is \'x\''),
        ('name = "silent"', 'name = "given"', r"more than one run called \['given, seed 0'"),
    ],
)
def test_what_is_wrong_is_said_with_the_file_and_the_run(place, old, new, message):
    plan = place / "plan.toml"
    plan.write_text(plan.read_text().replace(old, new))
    with pytest.raises(files.UserError, match=rf"plan\.toml .*{message}"):
        runner.planned()


def test_every_training_of_the_plan_has_its_line_and_they_are_in_its_order():
    planned, rows = runner.planned(), [each.line for each in trainings.read()]
    for training, row in zip(planned, rows, strict=True):
        assert training.begins.items() <= row.items(), training.title
        assert training.choices.tokens <= row["training"][-1]["tokens"]
        if "edges" in row:
            n = training.shape.n_heads
            for name in ("stored", "white", "change", "loss"):
                assert torch.tensor(row["edges"][name]).shape == (3, n, n)
    assert {*trainings.why()} == {training.choices.name for training in planned}


def test_usual_sinusoids_begin_at_one_radian_per_token_and_are_as_long_as_ours():
    W_P = runner.usual_sinusoids(600, 64)
    assert W_P[1, 0] == pytest.approx(2**0.5 * math.sin(1)) and W_P[1, 1] > W_P[2, 1]
    assert float(W_P.square().mean()) == pytest.approx(1)


def test_a_probe_says_how_far_back_heads_look(generator):
    model = Transformer(dataclasses.replace(SHAPE, n_ctx=512)).requires_grad_(False)
    model.randomise(generator=generator)
    text = torch.randint(SHAPE.n_vocab, (9000,), generator=generator)
    measured = runner.probe(model, text)
    A = model.trace(windows.evenly(text, 8, model.config)[0]).patterns[1]
    two_back = A.diagonal(-2, dim1=-2, dim2=-1)[..., 1:].mean(dim=(0, 2))
    assert measured["two_back"][1] == pytest.approx(two_back.tolist(), abs=1e-4)
    assert {*runner.KEPT[3:]} <= measured.keys()


def test_spans_come_again_in_their_own_document_as_often_as_asked():
    text = torch.arange(1, 8193).reshape(8, 1024)
    text[:, 0] = tokenizer.BEGIN
    text, span = text.flatten(), runner.SPAN
    assert torch.equal(runner.overwritten(text, 0.0), text)
    made = runner.overwritten(text, 0.5).view(-1, span)
    moved = (made != text.view(-1, span)).any(dim=1)
    assert 0.4 < moved.float().mean() < 0.5  # the first span of a document has none before it
    for k in moved.nonzero().flatten().tolist():
        before = made[max(k // 64 * 64, k - runner.REACH) : k]  # a document has 64 spans
        assert any(torch.equal(made[k], one) for one in before)


def test_prose_with_planted_repeats_has_those_of_code(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    texts = {
        "prose": torch.randint(1, 900, (200_000,), generator=generator),
        "python": torch.randint(1, 20, (200_000,), generator=generator),
    }
    monkeypatch.setattr(corpus, "tokens_of", lambda profile, split, family: texts[family])
    shape = dataclasses.replace(SHAPE, n_ctx=256)
    made = runner.with_repeats("full", shape, best_of=1)

    def rate(text):
        return float(windows.completes_repeat(*windows.evenly(text, 512, shape)).float().mean())

    assert rate(texts["prose"]) < 0.1 < 0.2 < rate(texts["python"])
    assert rate(made) == pytest.approx(rate(texts["python"]), abs=0.02)
