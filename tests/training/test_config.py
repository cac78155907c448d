import dataclasses

import pytest
from conftest import PLAN, SHAPE

from transformer_circuits import settings
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.training import config


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "config.toml"
    note = {"text": 'a "quoted" — 🙂 word'}
    path.write_text(settings.dumps(model=SHAPE, training=PLAN, note=note), encoding="utf-8")
    assert config.read(path) == {"model": SHAPE, "training": PLAN, "note": note}


@pytest.mark.parametrize(
    ("of", "change", "message"),
    [
        (SHAPE, {"d_model": 7}, "d_model is 7 .* even"),
        (SHAPE, {"n_heads": 0}, "n_heads is 0 but must be at least 1"),
        (PLAN, {"steps": 0}, "steps is 0 but must be at least 1"),
        (PLAN, {"seed": 99999999999999999999}, "seed is 9+ but must lie between 0 and"),
        (PLAN, {"lr_embed": 0.0}, "lr_embed is 0.0 but must be positive"),
        (PLAN, {"decay_from": 1.0}, "decay_from is 1"),
        (PLAN, {"decay_attention": -0.1}, "decay_attention is -0.1 but must be at least 0"),
        (PLAN, {"corpus": "huge"}, 'corpus is \'huge\' but must be "small" or "full"'),
    ],
)
def test_what_is_impossible_is_refused(of, change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(of, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_layers": 1.5}, r"\[model\] n_layers is 1.5 but must be a whole number"),
        ({"n_heads": True}, "n_heads is True but must be a whole number"),
        ({"begin": 1}, "begin is 1 but must be true or false"),
        ({"position_base": float("nan")}, "position_base is nan but must be a finite number"),
    ],
)
def test_a_table_takes_no_value_of_another_type(change, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig.from_dict(vars(SHAPE) | change)
    found = ModelConfig.from_dict(vars(SHAPE) | {"position_base": 100})
    assert found == SHAPE and isinstance(found.position_base, float), "a whole number is one, too"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model", "is not TOML"),
        ("MODEL\nd_heads = 3", r"unknown keys \['d_heads'\]"),
        ("", r"has no table \['model'\]"),
        ("model = 3", "model is 3 but must be a table"),
        ("MODEL\n[training]\nseed = 1", r"\[training\] .* misses \['batch'"),
    ],
)
def test_a_file_that_is_not_right_is_named_with_the_remedy(tmp_path, text, message):
    path = tmp_path / "config.toml"
    path.write_text(text.replace("MODEL", settings.dumps(model=SHAPE)))
    with pytest.raises(ValueError, match=rf"config.toml .*{message}.* Correct it"):
        config.read(path, "model")
