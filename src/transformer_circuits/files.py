"""Folders of the project's data, and reading and writing of files so that no damage goes unseen."""

import fcntl
import hashlib
import json
import os
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

IN_BOOK = "TRANSFORMER_CIRCUITS_IN_BOOK"
"""Variable set in the environment of chapters that are executed for the book, whose pages load scripts."""


class UserError(ValueError):
    """Raised when a request cannot be met: a name that is not there, a file that is damaged.

    The message is for the reader, and names a remedy. The command line prints it alone; any other
    error but the machine's own refusal (OSError) is a bug and keeps its traceback.
    """


def data_dir() -> Path:
    """Folder `data/` of the checkout from which this package is imported."""
    folder = Path(__file__).resolve().parents[2] / "data"
    if not (folder / "corpus.toml").is_file():
        raise FileNotFoundError(f"{folder} is not the project's data folder: no corpus.toml in it")
    return folder


def cache_dir() -> Path:
    """Folder `data/cache/` of all that can be fetched or computed again. Not under version control."""
    folder = data_dir() / "cache"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Temporary path beside `path` that takes its name only if the block succeeds.

    After any failure inside (an exception, a full disk, a kill, a power cut), `path` holds either
    its old content or the complete new one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if error.filename is None:  # as when the disk is full: say where
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Work in a folder as the only process; the folder is made if it is not there.

    Warns where the disk has no locks, so that nothing keeps another process out.

    Raises:
        UserError: if another process is at work in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another process is at work in {folder}: wait until it has ended, and try again"
            ) from None
        except OSError as error:
            said = f"{folder}: {error.strerror}; nothing keeps another process from working there"
            print(f"{said} at the same time", file=sys.stderr)
        yield


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


SUMS = "SHA256SUMS"
"""Name of the list that `write_sums` leaves in a folder; `sha256sum --check SHA256SUMS` reads it, too."""


def write_sums(folder: Path) -> None:
    """Write the SHA-256 of every file of a folder into its `SUMS`, for `require_as_listed`."""
    listed = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    with atomic(folder / SUMS) as temporary:
        temporary.write_text("".join(f"{sha256(path)}  {path.name}\n" for path in listed))


def listed(folder: Path) -> dict[str, str]:
    """SHA-256 of each file by its name, from the `SUMS` of a folder; empty without a list."""
    if not (sums := folder / SUMS).is_file():
        return {}
    lines = sums.read_text(encoding="utf-8", errors="replace").splitlines()
    return {line[66:]: line[:64] for line in lines}


def require_as_listed(path: Path) -> None:
    """Raise unless a file is as the `SUMS` of its folder says.

    Raises:
        UserError: if its hash differs, the list does not have it, or there is no list.
        FileNotFoundError: if the file itself is missing.
    """
    sums = path.with_name(SUMS)
    if not sums.is_file():
        raise damaged(sums, f"is not there, so nobody can say whether {path.name} is whole")
    expected = listed(path.parent).get(path.name, "nothing of it")
    if (actual := sha256(path)) != expected:
        raise damaged(path, f"has SHA-256 {actual} but {SUMS} beside it says {expected}")


def damaged(path: Path, reason: object) -> UserError:
    """Error that names a damaged or invalid file, and a remedy that loses nobody's work."""
    remedy = "Correct it, or take it again from where it came from: the archive of the book, say"
    root, path = data_dir().parent, path.absolute()
    if cache_dir() in path.parents:
        remedy = "Delete it, and run again the command that wrote it"
    elif root in path.parents:
        again = f"git -C {shlex.quote(str(root))} restore {shlex.quote(str(path))}"
        remedy = f"Correct it, or take it again: from the archive of the book, or by {again}"
    return UserError(f"{path} {reason}. {remedy}")


def as_json(value: Any, **layout: Any) -> str:
    """JSON of a value, by which all JSON of ours is written, so that every program can read it.

    `layout`: options of `json.dumps`.

    Raises:
        ValueError: if a number is not finite, for which JSON has no word: it must be None, or go.
    """
    return json.dumps(value, allow_nan=False, **layout)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise damaged(path, "is not there") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Tables of a TOML file; a UserError names the file if it is not there or not TOML."""
    try:
        return tomllib.loads(_text(path))
    except UserError:
        raise
    except (ValueError, RecursionError) as error:  # not TOML, not even UTF-8, or without end
        raise damaged(path, f"is not TOML: {error}") from error


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Rows of a file of JSON Lines: one object in each line, and at least one.

    A UserError names the file if it is not there, or has anything else.
    """
    try:
        rows = json.loads("[" + ",\n".join(_text(path).splitlines()) + "]")
    except UserError:
        raise
    except (ValueError, RecursionError) as error:  # not JSON, not even UTF-8, or without end
        raise damaged(path, f"is not JSON: {error}") from error
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise damaged(path, "has no rows of results")
    return rows
