"""The plan file, read strictly: what is wrong in it is said with the file and the run."""

import dataclasses

import pytest

from transformer_circuits import files
from transformer_circuits.experiments import plan
from transformer_circuits.training import checkpoint

GOOD = """
[base]
model = "two-layer"
tokens = 1000
first_layer = ""
repeat_weight = 1.0
family = ""
[[run]]
name = "one"
why = "because"
[[run]]
name = "two"
why = "because"
repeat_weight = 0.0
training = { batch = 4 }
shape = { begin = false }
"""


ONE_SEED = ("no decay, lengths free", "with MLPs, race between layers")
"""Runs that were made once, for a table in which they stand beside others."""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a plan in place of the book's."""
    path = tmp_path / "plan.toml"
    monkeypatch.setattr(plan, "path", lambda: path)
    return lambda text: path.write_text(text)


def test_each_run_is_the_base_but_for_its_own_and_is_made_with_every_seed(write):
    write(GOOD)
    found = plan.read()
    assert [one.title for one in found] == [
        f"{n}, seed {s}" for n in ("one", "two") for s in (0, 1, 2)
    ]
    shape, training = checkpoint.settings("two-layer")
    same = dataclasses.replace(training, checkpoints=())
    assert (found[0].shape, found[0].training) == (shape, same)
    assert found[3].shape == dataclasses.replace(shape, begin=False)
    assert found[3].training == dataclasses.replace(same, batch=4)
    assert found[5].training == dataclasses.replace(same, batch=4, seed=2)
    assert len({str(one.row) for one in found}) == len({one.title_of_state for one in found}) == 6


def test_a_run_may_have_seeds_of_its_own_and_runs_of_a_round_take_turns(write):
    own = "round = 9\nseeds = [4, 3]\n"
    write(
        GOOD.replace('name = "two"\n', f'name = "two"\n{own}')
        + f'[[run]]\nname="three"\nwhy="x"\n{own}'
    )
    found = [one.title for one in plan.read()]
    assert found[3:] == ["two, seed 3", "three, seed 3", "two, seed 4", "three, seed 4"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("repeat_weight = 0.0", "heavy = 1", r'run 2, "two": .* unknown keys \[\'heavy\'\]'),
        ('model = "two-layer"', 'model = "other"', r'run 1, "one": no model called "other"'),
        ('first_layer = ""', 'first_layer = "x"', r'run 1, "one": \[run\] first_layer is \'x\''),
        ('name = "two"', 'name = "one"', r"more than one run called \['one'\]"),
    ],
)
def test_what_is_wrong_is_said_with_the_file_and_the_run(write, old, new, message):
    assert old in GOOD
    write(GOOD.replace(old, new))
    with pytest.raises(files.UserError, match=rf"plan\.toml .*{message}"):
        plan.read()


def test_the_book_s_plan_differs_from_the_base_in_each_run_and_has_every_seed():
    """Batches of another size have the schedule of the base in tokens."""
    planned = plan.read()
    more = [one for one in planned if one.choices.name.endswith(", more seeds")]
    for name in {one.choices.name for one in more}:
        seeds = [one.training.seed for one in more if one.choices.name == name]
        assert seeds == [3, 4, 5, 6, 7], name
    planned = [one for one in planned if one not in more]
    first = [one for one in planned if one.training.seed == 0]
    base = first[0]
    assert base.choices.name == "base"
    in_order = [s for one in first for s in ([0] if one.choices.name in ONE_SEED else plan.SEEDS)]
    assert [one.training.seed for one in planned] == in_order
    like = {one.choices.name: one for one in first}
    for one in more:  # no other choice than the runs whose pairs they add to
        first_of = like[one.choices.name.removesuffix(", more seeds")]
        assert one.shape == first_of.shape
        for choice in ("model", "first_layer", "repeat_weight", "family"):
            assert getattr(one.choices, choice) == getattr(first_of.choices, choice)
        training = dataclasses.replace(first_of.training, seed=one.training.seed)
        assert one.training == training
    for one in first[1:]:
        changed = {key for key in one.row if key != "run" and one.row[key] != base.row[key]}
        choices = {"first_layer", "repeat_weight", "family", "model"}
        own = {c for c in choices if one.row["choices"][c] != base.row["choices"][c]}
        assert changed - {"choices"} or own, one.title
    found = {one.choices.name: one.training for one in planned}
    base = found["base"]
    for batch in (4, 8, 32):
        other = found[f"batch {batch}"]
        assert other.batch == batch
        for key in ("steps", "warmup_steps", "blind_steps"):
            assert getattr(other, key) * batch == getattr(base, key) * base.batch, (key, batch)
        rates = {"lr_embed", "lr_attention"}
        by_root = dataclasses.asdict(found[f"batch {batch}, rate by the root"])
        assert {k for k, v in by_root.items() if v != getattr(other, k)} == rates
        for key in rates:
            root = (batch / base.batch) ** 0.5
            assert by_root[key] == pytest.approx(root * getattr(base, key), rel=1e-3), (key, batch)
