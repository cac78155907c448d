"""Results that several chapters need of one model of the book: measured by the first, kept for the rest.

They lie under `data/cache/kept/`, each with a hash of its inputs: weights, text, sizes of samples,
packages and code. A result with another hash is measured again.
"""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.claims import recorded, samples, subjects
from transformer_circuits.claims.subjects import Subject
from transformer_circuits.training import checkpoint

Made = dict[str, Tensor]
MADE_OF = "made of"


def for_all_chapters(make: Callable[[Subject], Made]) -> Callable[[Subject], Made]:
    """Wrap a function of a subject so that a build calls it once for each model of the book, as stored.

    For other subjects it is called once each, see `subjects.once`.
    """

    @subjects.once
    @functools.wraps(make)
    def made(subject: Subject) -> Made:
        if not (checkpoint.models_dir() / subject.name).is_dir():
            return make(subject)
        path = files.cache_dir() / "kept" / f"{make.__module__}.{make.__name__}.{subject.name}"
        key = _made_of(make, subject)
        result = _read(path, key)
        if result is None:
            result = {name: values.contiguous() for name, values in make(subject).items()}
            with files.atomic(path) as temporary:
                safetensors.torch.save_file(result, temporary, {MADE_OF: key})
        return result

    return made


def _read(path: Path, key: str) -> Made | None:
    """Result that is kept there; None if there is none, or its inputs were others."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            if (file.metadata() or {}).get(MADE_OF) == key:
                return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError):
        pass  # there is none, or it is damaged: it is made anew
    return None


def _made_of(make: Callable, subject: Subject) -> str:
    """Hash of the inputs of a function of a subject."""
    sizes = {name: value for name, value in vars(samples).items() if name.isupper()}
    words = (
        recorded.made_of(make.__module__),
        sizes,
        subject.longest,
        subject.instead,
        subject.model,
    )
    digest = hashlib.sha256(repr((words, subject.model.config)).encode())
    for values in (*subject.model.parameters(), *subject.model.buffers(), subject.text):
        digest.update(values.detach().contiguous().numpy())
    return digest.hexdigest()
