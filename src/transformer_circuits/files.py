"""Where the project's data lies, and how a file is written and read so that no damage goes unseen."""

import fcntl
import glob
import hashlib
import json
import os
import re
import secrets
import shlex
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

IN_BOOK = "TRANSFORMER_CIRCUITS_IN_BOOK"
"""Set in the environment of chapters that are executed for the book, whose pages load scripts."""


class UserError(ValueError):
    """What was asked for cannot be done: a name that is not there, a file that is damaged.

    The message is for the reader, and says what to do. The command line prints it alone; what is
    neither this nor the machine's own refusal (OSError) is a bug and keeps its traceback.
    """


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

    Whatever happens inside (an exception, a full disk, a kill, a power cut), `path` holds either
    its old content or the whole new one. What a killed process left is removed by the next one
    that writes `path`. Write to the temporary path in place: the open file marks it as in use.

    Raises:
        OSError: of the class and number the system gives it, naming `path`, if the disk is full or
            the file cannot be written. Errors about other files pass as they are.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with temporary.open("xb") as held:
            _hold(held)
            yield temporary
            os.fsync(held.fileno())
            os.replace(temporary, path)
    except OSError as error:
        if error.errno and error.filename2 is None and error.filename in (None, str(temporary)):
            error.filename = str(path)
            error.strerror += (
                ", and the old content is kept: make room or give access, and try again"
            )
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _hold(file: IO[bytes]) -> bool:
    """Lock the file until it is closed or this process ends; False if another process has the lock.

    False, too, on a disk that knows no locks: nothing is ever taken for a leftover there.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_leftovers(path: Path) -> None:
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with suppress(OSError), leftover.open("r+b") as file:
            if _hold(file):
                leftover.unlink()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Work in a folder that only one process at a time may work in; it is made if it is not there.

    On a disk that knows no locks, any number may.

    Raises:
        UserError: if another process is inside.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another process is at work in {folder}: wait until it has ended, and try again"
            ) from None
        except OSError:
            pass
        yield


def require_writable(folder: Path) -> None:
    """Make the folder if it is not there, and try to write into it: before the work, not after.

    Raises:
        UserError: if nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"nothing can be written into {folder} ({error.strerror}): make it writable, or choose "
            "another folder"
        ) from error


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


SUMS = "SHA256SUMS"
"""The list that `write_sums` leaves in a folder; `sha256sum --check SHA256SUMS` reads it, too."""


def write_sums(folder: Path) -> None:
    """Write the SHA-256 of every file of a folder into its `SUMS`, for `require_as_listed`.

    Raises:
        OSError: as `atomic`.
    """
    listed = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    with atomic(folder / SUMS) as temporary:
        temporary.write_text("".join(f"{sha256(path)}  {path.name}\n" for path in listed))


def require_as_listed(path: Path) -> None:
    """Compare a file with the `SUMS` of its folder.

    Raises:
        UserError: naming the file, if it is not the one that was listed, or not listed at all;
            naming the list, if it is damaged or not there.
    """
    sums = path.with_name(SUMS)
    if not sums.is_file():
        raise damaged(sums, f"is not there, so nobody can say whether {path.name} is whole")
    lines = sums.read_text(encoding="utf-8", errors="replace").splitlines()
    if not all(re.fullmatch(r"[0-9a-f]{64}  .+", line) for line in lines):
        raise damaged(sums, "is not a list of SHA-256 and names")
    listed = {line[66:]: line[:64] for line in lines}
    if (found := sha256(path)) != (expected := listed.get(path.name, "nothing of it")):
        raise damaged(path, f"has SHA-256 {found} but {SUMS} beside it says {expected}")


def write_sealed(path: Path, content: bytes) -> None:
    """Write `content` with its SHA-256 in front, for `read_sealed`.

    Raises:
        OSError: as `atomic`.
    """
    with atomic(path) as temporary, temporary.open("wb") as file:
        file.write(hashlib.sha256(content).digest())
        file.write(content)


def read_sealed(path: Path) -> bytes | None:
    """What `write_sealed` wrote; None if the file is missing or its checksum does not match."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    seal, content = content[:32], content[32:]
    return content if hashlib.sha256(content).digest() == seal else None


def damaged(path: Path, reason: object) -> UserError:
    """A `UserError` that names a damaged or invalid file, and a remedy that loses nobody's work."""
    remedy = "Correct it, or take it again from where it came from: the archive of the book, say"
    if cache_dir() in path.parents:
        remedy = "Delete it, and run again the command that wrote it"
    elif _in_git(path):
        root = shlex.quote(str(data_dir().parent))
        again = f"git -C {root} restore {shlex.quote(str(path.absolute()))}"
        remedy = f"Correct it, or take it from the repository again: {again}"
    return UserError(f"{path} {reason}. {remedy}")


def _in_git(path: Path) -> bool:
    """Whether the repository of this checkout, if it is one, has the file."""
    asked = ["git", "ls-files", "--error-unmatch", "--", str(path.absolute())]
    with suppress(OSError):  # there may be no git
        return not subprocess.run(asked, cwd=data_dir().parent, capture_output=True).returncode
    return False


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        UserError: naming the file, if it is not there or not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise damaged(path, "is not there") from None
    except (ValueError, RecursionError) as error:  # not TOML, not even UTF-8, or without end
        raise damaged(path, f"is not TOML: {error}") from error


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines: one object in each line.

    Raises:
        UserError: naming the file, if it is not there, not JSON, or anything but such rows.
    """
    try:
        text = path.read_text(encoding="utf-8")
        rows = json.loads("[" + ",\n".join(text.splitlines()) + "]")
    except FileNotFoundError:
        raise damaged(path, "is not there") from None
    except (ValueError, RecursionError) as error:  # not JSON, not even UTF-8, or without end
        raise damaged(path, f"is not JSON: {error}") from error
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise damaged(path, "has no rows of results")
    return rows
