"""`make release`: what is handed out, once nothing in it is a placeholder any more.

Into `_build/release/`: the built book as one zip, which opens from a file; the sources; the weights;
`book.zip`, with what a chapter needs in Colab; and a list of their SHA-256. The same commit and the
same built book give the same bytes.
"""

import io
import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from transformer_circuits import files
from transformer_circuits.release import placeholders
from transformer_circuits.release.placeholders import git

FOLDER = "_build/release"
CHAPTER_NEEDS = (
    "src", "data", "chapters", "pyproject.toml", "requirements.txt", "_config.yml", "LICENSE",
)  # fmt: skip
"""What is in `book.zip`, below its one folder `book/`: as the repository has it, so without a cache."""
WEIGHTS = ("data/models", "data/tokenizer.json", "LICENSE")
_EARLIEST = (1980, 1, 1, 0, 0, 0)


def write(root: Path, version: str) -> list[Path]:
    """Write the files of a release, and take away those of the last one; returns their paths.

    Raises:
        UserError: listing all placeholders, if there are some; if the book is not built.
        OSError: as `files.atomic`.
    """
    placeholders.require_none(root, version)
    site = root / "_build" / "html"
    if not (site / "index.html").is_file():
        raise files.UserError(f"{site} has no index.html: run `make book` first")
    folder, name = root / FOLDER, f"transformer-circuits-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    pages = (path for path in site.rglob("*") if path.is_file())
    _zip(
        folder / f"{name}-site.zip",
        {f"{name}/{path.relative_to(site).as_posix()}": path.read_bytes() for path in pages},
    )
    for target, top, among in (
        (f"{name}-sources.zip", name, ()),
        (f"{name}-weights.zip", f"{name}-weights", WEIGHTS),
    ):
        _zip(folder / target, *_committed(root, top, among))
    write_book_zip(root, folder)
    files.write_sums(folder)
    return sorted(folder.iterdir())


def write_book_zip(root: Path, folder: Path | None = None) -> Path:
    """Write `book.zip`: what a chapter needs in Colab, of the last commit. Returns its path.

    `folder`: where it goes; by default `_build`.

    Raises:
        UserError: if the sources are no git repository.
        OSError: as `files.atomic`.
    """
    target = (folder or root / "_build") / "book.zip"
    _zip(target, *_committed(root, "book", CHAPTER_NEEDS))
    return target


def _committed(root: Path, top: str, among: tuple[str, ...]) -> tuple[dict[str, bytes], set[str]]:
    """The files of the last commit by their names below `top`, and which of them are programs.

    `among`: only these files and folders; all, if none is named.
    """
    found, programs = {}, set()
    archive = git(root, "archive", "--format=tar", f"--prefix={top}/", "HEAD", *among)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar.getmembers():
            if file := tar.extractfile(member):
                found[member.name] = file.read()
                programs |= {member.name} if member.mode & 0o111 else set()
    return found, programs


def _zip(target: Path, contents: Mapping[str, bytes], programs: set[str] = frozenset()) -> None:
    """A zip whose bytes depend on names and contents alone: one date for all, in order of names."""
    with (
        files.atomic(target) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.create_system = 3  # Unix, wherever this runs, for the permissions below
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, contents[name])
