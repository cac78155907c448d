import dataclasses

import pytest
from conftest import PLAN, SHAPE

from transformer_circuits import config
from transformer_circuits.config import ModelConfig, TrainConfig


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(config.dumps(model=SHAPE, training=PLAN, note={"text": 'a "quoted" — word'}))
    tables = config.read(path)
    assert tables == {"model": SHAPE, "training": PLAN, "note": {"text": 'a "quoted" — word'}}


def test_an_unknown_key_is_named(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(config.dumps(model=SHAPE).replace("d_head", "d_heads"))
    with pytest.raises(ValueError, match=r"config.toml.*unknown keys \['d_heads'\].*\['d_head'\]"):
        config.read(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_model": 7}, "d_model is 7 .* even"),
        ({"n_heads": 0}, "n_heads is 0 but must be at least 1"),
        ({"n_layers": -1}, "n_layers is -1 but must be at least 0"),
    ],
)
def test_impossible_shapes_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SHAPE, **change)


def test_impossible_plans_are_refused():
    with pytest.raises(ValueError, match="steps is 0"):
        dataclasses.replace(PLAN, steps=0)
    with pytest.raises(ValueError, match="decay_from is 1"):
        dataclasses.replace(PLAN, decay_from=1.0)
    with pytest.raises(ValueError, match=r"copies is 1.5 but must lie in \[0, 1\]"):
        dataclasses.replace(PLAN, copies=1.5)


def test_field_names_are_told_apart_by_table():
    assert (ModelConfig.table, TrainConfig.table) == ("model", "training")
