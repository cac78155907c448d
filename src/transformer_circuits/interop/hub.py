"""A model of the book as one folder that a model hub shows: `model.safetensors` and `config.json`.

`own_model.load` reads it, from disk or from a hub; `tools/hub.py` makes it, and adds what readers
need. The keys of `config.json` that are fields of `ModelConfig` build the model, the others say what
it is.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, cast

from torch import Tensor

from transformer_circuits import files
from transformer_circuits.model import weights
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer

CONFIG, WEIGHTS = "config.json", "model.safetensors"
KIND = "transformer_circuits"
"""The `model_type` of such a folder."""
LIBRARY = "transformer-circuits"
"""What has to be installed to load the model."""


def place_of(step: int) -> str:
    """Where in the folder the model lies as it was after so many steps of its training."""
    return f"checkpoints/step-{step:06}"


def describe(folder: Path, shape: ModelConfig, **more: Any) -> None:
    """Write `config.json` into a folder that has the weights already: the shape, and what it is.

    `more`: what else is known of the model; nothing of it is needed to build it.
    """
    about = {
        "architectures": [Transformer.__name__],
        "model_type": KIND,
        **asdict(shape),
        # In the words of TransformerLens, which knows this kind of model.
        "attn_only": not shape.d_mlp,
        "normalization_type": None,
        "positional_embedding_type": "shortformer",
        "weights_sha256": files.sha256(folder / WEIGHTS),
        **more,
    }
    with files.atomic(folder / CONFIG) as temporary:
        temporary.write_text(files.as_json(about, indent=2) + "\n", encoding="utf-8")


def of_tensors(tensors: Mapping[str, Tensor], about: Mapping[str, Any], path: Path) -> Transformer:
    """The model that a `config.json` describes; its weights were read from the file `path`.

    Refused, naming the file, if it is not the file that is described, or does not fit.
    """
    names = {field.name for field in fields(ModelConfig)}
    given = {name: value for name, value in about.items() if name in names}
    expected = about.get("weights_sha256")
    if expected not in (None, actual := files.sha256(path)):
        raise files.UserError(f"{path} has SHA-256 {actual} but {CONFIG} says {expected}")
    weights.require_numbers(tensors, path)
    try:
        model = Transformer(cast(ModelConfig, ModelConfig.from_dict(given)))
        model.load_state_dict(dict(tensors))
    except (files.UserError, RuntimeError) as error:
        raise files.UserError(f"{path} does not fit {CONFIG}: {error}") from error
    return model.eval()
