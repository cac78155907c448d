"""Checkpoint: a trained model on disk, as `config.toml`, `weights.safetensors` and `training.jsonl`."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError

from transformer_circuits import files
from transformer_circuits.model import quantisation, weights
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.settings import dumps
from transformer_circuits.text import tokenizer
from transformer_circuits.training import config
from transformer_circuits.training.config import Provenance, TrainConfig


def models_dir() -> Path:
    """Folder `data/models/` of the models that come with the book."""
    return files.data_dir() / "models"


def save(
    folder: Path,
    model: Transformer,
    training: TrainConfig,
    corpus_sha256: str,
    log: Sequence[Mapping],
) -> None:
    """Write weights, the log of their training and their provenance.

    The config goes last, and has the weights' hash, so a half-written model never loads.
    Weights are written in eight bits, to be small enough for the repository and for a page.

    `log`: the records of the training; the last says on how many `tokens`.

    Raises:
        UserError: if the model has what a config does not say, such as a norm.
    """
    _write(folder / "weights.safetensors", model)
    with files.atomic(folder / "training.jsonl") as temporary:
        temporary.write_text("".join(files.as_json(record) + "\n" for record in log))
    provenance = Provenance(
        corpus_sha256=corpus_sha256,
        tokenizer_sha256=files.sha256(tokenizer.path()),
        weights_sha256=files.sha256(folder / "weights.safetensors"),
        torch=torch.__version__,
        tokens=int(log[-1]["tokens"]),
    )
    text = dumps(model=model.config, training=training, provenance=provenance)
    with files.atomic(folder / "config.toml") as temporary:
        temporary.write_text(text, encoding="utf-8")


def save_checkpoint(folder: Path, model: Transformer, step: int) -> None:
    """Write a checkpoint of a run, for `load(name, step=step)`."""
    _write(_checkpoint(folder, step), model)


def _write(path: Path, model: Transformer) -> None:
    model.require()  # a config says nothing of a norm, say, so it would be loaded without
    with files.atomic(path) as temporary:
        temporary.write_bytes(safetensors.torch.save(quantisation.packed(model)))


def steps(folder: Path) -> list[int]:
    """Steps of the checkpoints along a run that a folder has, in order.

    Of checkpoints taken over from a run (`take_checkpoints`) only listed ones count.
    """
    place = folder / "checkpoints"
    names = {path.name for path in place.glob(f"{'[0-9]' * 6}.safetensors")}
    return sorted(int(name[:6]) for name in names & {*(files.listed(place) or names)})


def take_checkpoints(source: Path, folder: Path) -> None:
    """Replace the checkpoints along a run in a folder by those of another, with their checksums."""
    new, old = folder / ".checkpoints.partial", folder / "checkpoints"
    shutil.rmtree(new, ignore_errors=True)
    if steps(source):
        shutil.copytree(source / "checkpoints", new)
        files.write_sums(new)
    shutil.rmtree(old, ignore_errors=True)
    if new.exists():
        new.rename(old)


def _checkpoint(folder: Path, step: int) -> Path:
    return folder / "checkpoints" / f"{step:06}.safetensors"


def settings(name: str) -> tuple[ModelConfig, TrainConfig]:
    """Shape and training plan of a model of the book, trained or not."""
    tables = config.read(folder(name) / "config.toml", "model", "training")
    return tables["model"], tables["training"]


def load(name: str, device: str = "cpu", *, step: int | None = None) -> Transformer:
    """Trained model of the book, ready for analysis, on `device`, its weights frozen.

    An error names a file that is damaged, or does not belong to the others, with the remedy.
    `step`: the model after so many steps of its training, one of `steps`.
    """
    place = folder(name)
    tables = config.read(place / "config.toml", "model")
    path = place / "weights.safetensors"
    if "provenance" not in tables or not path.exists():
        raise files.UserError(
            f"{name} is not trained: run python -m transformer_circuits train {name}"
        )
    vocabulary, n_vocab = tokenizer.load().get_vocab_size(), tables["model"].n_vocab
    if n_vocab != vocabulary:
        raise files.UserError(
            f"{name} has n_vocab {n_vocab} but the tokenizer has {vocabulary}: "
            "set n_vocab in its config.toml, and train it again"
        )
    learned_with = tables["provenance"].tokenizer_sha256
    if (actual := files.sha256(tokenizer.path())) != learned_with:
        raise files.damaged(
            tokenizer.path(), f"has SHA-256 {actual} but {name} learned with {learned_with}"
        )
    model = of_file(path)
    if step is not None:
        if step not in steps(place):
            raise files.UserError(
                f"no weights of step {step} were kept in {place}, only of steps {steps(place)}"
            )
        files.require_as_listed(path := _checkpoint(place, step))
        load_weights(model, path)
    return model.to(device)


def of_file(path: Path) -> Transformer:
    """Model from a file of weights, of the shape in the `config.toml` beside it; frozen.

    Of the config, the table `[model]` is enough; with `[provenance]` it must be this very file.
    """
    tables = config.read(path.with_name("config.toml"), "model")
    known = tables.get("provenance")
    if known and (actual := files.sha256(path)) != known.weights_sha256:
        raise files.damaged(
            path,
            f"is not the file that [provenance] describes: it has SHA-256 {actual} but its config "
            f"says {known.weights_sha256}",
        )
    model = Transformer(tables["model"])
    load_weights(model, path)
    return model.requires_grad_(False).eval()


def records(name: str) -> list[dict]:
    """Records of a model's training log, one per line of the file; see `development.probe`."""
    path = folder(name) / "training.jsonl"
    if not path.is_file():
        raise files.UserError(
            f"{path} is not there: run python -m transformer_circuits train {name}"
        )
    return files.read_json_lines(path)


def held_out_nats(name: str) -> float:
    """Loss of a model of the book on held-out text, from the log of its training. [nats per token]"""
    last = records(name)[-1]
    if "held_out_nats" not in last:
        raise files.UserError(
            f"the log of {name} ends with step {last['step']}, without held_out_nats: run "
            f"python -m transformer_circuits train {name}"
        )
    return last["held_out_nats"]


def load_weights(model: Transformer, path: Path) -> None:
    """Fill `model` from a safetensors file, in eight bits or in floating point."""
    try:
        tensors = quantisation.unpacked(safetensors.torch.load_file(path))
        weights.require_numbers(tensors, path)
    except (SafetensorError, RuntimeError) as error:
        raise files.damaged(path, f"does not fit its config: {error}") from error
    if differ := _differ(tensors, model):
        raise files.damaged(path, f"does not fit its config: {differ}")
    model.load_state_dict(tensors)


def _differ(tensors: Mapping[str, torch.Tensor], model: Transformer) -> str:
    """Difference of a file of weights from the model of its config; "" if there is none."""
    has, needs = (
        {name: tuple(W.shape) for name, W in state.items()}
        for state in (tensors, model.state_dict())
    )
    n_layers = len({name.split(".")[1] for name in has if name.startswith("layers.")})
    if n_layers != model.config.n_layers:
        return f"its weights are of {n_layers} layers, but n_layers is {model.config.n_layers}"
    faults = (
        f"{name} is {has.get(name, 'not there')} but must be {needs.get(name, 'absent')}"
        for name in {**needs, **has}
        if has.get(name) != needs.get(name)
    )
    return next(faults, "")


def folder(name: str) -> Path:
    """Folder of a model of the book."""
    names = sorted(path.parent.name for path in models_dir().glob("*/config.toml"))
    if name not in names:
        raise files.UserError(f'no model called "{name}"; there are {names}')
    return models_dir() / name


def of_seed(name: str, seed: int) -> str:
    """Name of the model that differs from `name` in its seed alone."""
    return f"{name}-seed-{seed}"


def seeds(name: str) -> list[str]:
    """Names of a model and of those that differ from it in their seed alone, `name` itself first."""
    pattern = re.compile(re.escape(of_seed(name, 0)).removesuffix("0") + r"(\d+)")
    matches = (pattern.fullmatch(path.parent.name) for path in models_dir().glob("*/config.toml"))
    others = sorted((match for match in matches if match), key=lambda match: int(match[1]))
    return [folder(name).name, *(match[0] for match in others)]
