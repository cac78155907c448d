"""`_build/hub/`: for each model, and for the text, the folder that its owner may upload to a hub."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import safetensors.torch

from transformer_circuits import files
from transformer_circuits.claims import subjects
from transformer_circuits.model import hub
from transformer_circuits.release.hub import cards, measures, model_card, text_card
from transformer_circuits.release.placeholders import NAMELESS, NOWHERE
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint, config

FOLDER, DATASET = "_build/hub", "dataset"


def base_models() -> list[str]:
    """The models of the book, without those that differ in their seed alone."""
    names = (path.parent.name for path in checkpoint.models_dir().glob("*/config.toml"))
    return sorted(name for name in names if "-seed-" not in name)


def write(names: Sequence[str], owner: str, root: Path) -> Iterator[Path]:
    """Write the folder of each model, and of the text; each, when it is there, in turn.

    A folder that was there before is replaced only when the new one is complete.

    `names`: all of `base_models`, if there is none.
    `owner`: the account on the hub that the cards name, may be empty.

    Raises:
        UserError: if there is no such model, it is not trained, or a file is damaged; or if another
            process writes these folders.
        OSError: if they cannot be written.
    """
    for name in names:
        checkpoint.folder(name)  # all of them are there, before the first is made
    place = cards.Place(root, owner)
    with files.alone_in(root / FOLDER):
        for name in names or base_models():
            with _whole(root / FOLDER / name) as folder:
                _model(folder, name, place)
            yield root / FOLDER / name
        with _whole(root / FOLDER / DATASET) as folder:
            shutil.copy(files.data_dir() / "corpus.toml", folder)
            _card(folder, text_card.text(place))
        yield root / FOLDER / DATASET


def placeholders(folder: Path) -> list[str]:
    """What a card names and is not there: to be set before the folder is uploaded."""
    card = (folder / cards.NAME).read_text(encoding="utf-8")
    known = (NAMELESS, NOWHERE, cards.NO_ADDRESS, cards.NO_OWNER)
    return [name for name in known if name in card]


def _model(folder: Path, name: str, place: cards.Place) -> None:
    source, subject = checkpoint.folder(name), subjects.named(name)
    tables = config.read(source / "config.toml", "model", "training", "provenance")
    shape = tables["model"]
    about = {kind: asdict(tables[kind]) for kind in ("training", "provenance")}
    shutil.copy(source / "weights.safetensors", folder / hub.WEIGHTS)
    hub.describe(folder, shape, dtype="float16", **about)
    for path in (source / "training.jsonl", files.data_dir() / "tokenizer.json"):
        shutil.copy(path, folder)
    _write(folder / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokenizer.load().id_to_token(tokenizer.BEGIN),
        "model_max_length": shape.n_ctx,
        "clean_up_tokenization_spaces": False,
    })  # fmt: skip
    steps = checkpoint.moments(source)
    for step in steps:
        moment = folder / hub.place_of(step)
        moment.mkdir(parents=True)
        weights = checkpoint.load(name, step=step).state_dict()
        safetensors.torch.save_file(weights, moment / hub.WEIGHTS)
        hub.describe(moment, shape, dtype="float32", step=step, training=about["training"])
    found = measures.measured(subject)
    _card(folder, model_card.text(name, tables, found, steps, place))


def _card(folder: Path, text: str) -> None:
    (folder / cards.NAME).write_text(text, encoding="utf-8")


def _write(path: Path, table: dict) -> None:
    path.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """An empty folder that takes the place of `target` if the block succeeds."""
    new, old = (target.with_name(f".{target.name}.{what}.partial") for what in ("new", "old"))
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        yield new
        if target.exists():
            target.rename(old)
        new.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)
