"""Where the project's data lies, and how a file is written without ever being half-written."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def data_dir() -> Path:
    """The folder `data/` of the checkout this package is imported from.

    Raises:
        FileNotFoundError: if the package was imported from anywhere but a checkout.
    """
    folder = Path(__file__).resolve().parents[2] / "data"
    if not (folder / "corpus.toml").is_file():
        raise FileNotFoundError(f"{folder} is not the project's data folder: no corpus.toml in it")
    return folder


def cache_dir() -> Path:
    """`data/cache/`: everything that can be fetched or computed again. Not under version control."""
    folder = data_dir() / "cache"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its name only if the block succeeds.

    Whatever happens inside (an exception, a full disk, a kill), `path` holds either its old
    content or the whole new one.

    Raises:
        OSError: naming `path`, if the disk is full or the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)  # mkstemp's own 0600 would shut out other users
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(f"could not write {path}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
