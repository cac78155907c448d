"""What several chapters need of one model of the book, measured by the first and kept for the rest.

It lies under `data/cache/kept/`, each with a hash of all that it was made of: weights, text, sizes of
samples, packages and code. Where one of these is another, it is measured again.
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
    """A function of a subject that is called once in a build for each model of the book, as it is stored;
    once for each subject otherwise, see `subjects.once`."""

    @subjects.once
    @functools.wraps(make)
    def made(subject: Subject) -> Made:
        if not (checkpoint.models_dir() / subject.name).is_dir():
            return make(subject)
        path = files.cache_dir() / "kept" / f"{make.__module__}.{make.__name__}.{subject.name}"
        key = _made_of(make, subject)
        found = _read(path, key)
        if found is None:
            found = {name: values.contiguous() for name, values in make(subject).items()}
            with files.atomic(path) as temporary:
                safetensors.torch.save_file(found, temporary, {MADE_OF: key})
        return found

    return made


def _read(path: Path, key: str) -> Made | None:
    """What is kept there; None if nothing is, or it was made of something else."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            if (file.metadata() or {}).get(MADE_OF) == key:
                return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError):
        pass  # there is none, or it is damaged: it is made anew
    return None


def _made_of(make: Callable, subject: Subject) -> str:
    """A hash of what a function of a subject depends on."""
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
