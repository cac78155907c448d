"""A trained model on disk: `config.toml`, `weights.safetensors` and `training.jsonl` in a folder."""

from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError

from transformer_circuits import files
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.settings import dumps
from transformer_circuits.text import tokenizer
from transformer_circuits.training import config
from transformer_circuits.training.config import Provenance, TrainConfig


def models_dir() -> Path:
    """`data/models/`: the models that come with the book."""
    return files.data_dir() / "models"


def other_seeds_dir() -> Path:
    """`data/cache/models/`: models trained here from other seeds. Not under version control."""
    return files.cache_dir() / "models"


HALF_PRECISION_ABOVE = 10_000_000
"""Bytes. Larger models are saved in half precision, to be small enough for the repository."""


def save(
    folder: Path, model: Transformer, training: TrainConfig, corpus_sha256: str, tokens: int
) -> None:
    """Write weights and their provenance; the config goes last, so a half-written model never loads.

    Raises:
        OSError: naming the file, if it cannot be written.
    """
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    if sum(tensor.nbytes for tensor in weights.values()) > HALF_PRECISION_ABOVE:
        weights = {name: tensor.half() for name, tensor in weights.items()}
    with files.atomic(folder / "weights.safetensors") as temporary:
        temporary.write_bytes(safetensors.torch.save(weights))
    provenance = Provenance(
        corpus_sha256=corpus_sha256,
        tokenizer_sha256=files.sha256(files.data_dir() / "tokenizer.json"),
        weights_sha256=files.sha256(folder / "weights.safetensors"),
        torch=torch.__version__,
        tokens=tokens,
    )
    text = dumps(model=model.config, training=training, provenance=provenance)
    with files.atomic(folder / "config.toml") as temporary:
        temporary.write_text(text, encoding="utf-8")


def settings(name: str) -> tuple[ModelConfig, TrainConfig]:
    """How a model of the book is built and trained, whether it was trained yet or not.

    Raises:
        UserError: if there is no such model, or its config.toml is not valid.
    """
    tables = config.read(folder(name) / "config.toml", "model", "training")
    return tables["model"], tables["training"]


def load(name: str, device: str = "cpu") -> Transformer:
    """A trained model of the book, ready for analysis, on `device`, its weights frozen.

    Raises:
        UserError: if there is no such model, it was not trained yet, a file of it is damaged, the
            weights are not those the config describes, or they learned with another tokenizer.
    """
    place = folder(name)
    tables = config.read(place / "config.toml", "model")
    path = place / "weights.safetensors"
    if "provenance" not in tables or not path.exists():
        raise files.UserError(
            f"{name} is not trained: run python -m transformer_circuits train {name}"
        )
    provenance = tables["provenance"]
    if (found := files.sha256(path)) != provenance.weights_sha256:
        raise files.damaged(
            path, f"has SHA-256 {found} but its config says {provenance.weights_sha256}"
        )
    vocabulary = tokenizer.load().get_vocab_size()
    if tables["model"].n_vocab != vocabulary:
        raise files.UserError(
            f"{name} has n_vocab {tables['model'].n_vocab} but the tokenizer has {vocabulary}: "
            "set n_vocab in its config.toml, and train it again"
        )
    path_of_tokenizer = files.data_dir() / "tokenizer.json"
    if (found := files.sha256(path_of_tokenizer)) != provenance.tokenizer_sha256:
        raise files.damaged(
            path_of_tokenizer,
            f"has SHA-256 {found} but {name} learned with {provenance.tokenizer_sha256}",
        )
    model = Transformer(tables["model"])
    load_weights(model, path)
    return model.requires_grad_(False).eval().to(device)


def records(name: str, log: str = "training") -> list[dict]:
    """The records of a model's log, one per line of the file.

    `log`: "training", what was measured along its training (see `development.probe`); "seeds",
    the same analysis of every seed, the committed weights first (see `experiments.seeds`); or
    "runs", what came of each training that was tried.

    Raises:
        UserError: if there is no such model, it has no such log, or the log is damaged.
    """
    path = folder(name) / f"{log}.jsonl"
    if not path.is_file():
        command = "seeds" if log == "seeds" else "train"
        raise files.UserError(
            f"{path} is not there: run python -m transformer_circuits {command} {name}"
        )
    return files.read_json_lines(path)


def load_weights(model: Transformer, path: Path) -> None:
    """Fill `model` from a safetensors file.

    Raises:
        UserError: if the file is damaged or holds other names or shapes than the model.
    """
    try:
        weights = safetensors.torch.load_file(path)
        model.load_state_dict(weights)
    except (SafetensorError, RuntimeError) as error:
        raise files.damaged(path, f"does not fit the model: {error}") from error


def folder(name: str) -> Path:
    """The folder of a model: of those that come with the book, or trained here from other seeds.

    Raises:
        UserError: if there is no such model.
    """
    folders = [
        path.parent
        for place in (models_dir(), other_seeds_dir())
        for path in place.glob("*/config.toml")
    ]
    for folder in folders:
        if folder.name == name:
            return folder
    raise files.UserError(f'no model called "{name}"; there are {sorted(f.name for f in folders)}')
