"""`make release`: what is handed out, once nothing in it is a placeholder any more.

Into `_build/release/`: the built book as one zip, which opens from a file; the sources; the weights;
`book.zip`, with what a chapter needs in Colab; and a list of their SHA-256. The same commit and the
same built book give the same bytes.
"""

import io
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from transformer_circuits import files

FOLDER = "_build/release"
NAMELESS = "The maintainers"
"""Stands where the authors' names belong."""
NOWHERE = "transformer-circuits-executed/book"
"""The address that the repository does not have."""
CHAPTER_NEEDS = (
    "src", "data", "chapters", "pyproject.toml", "requirements.txt", "_config.yml", "LICENSE",
)  # fmt: skip
"""What is in `book.zip`, below its one folder `book/`: as the repository has it, so without a cache."""
WEIGHTS = ("data/models", "data/tokenizer.json", "LICENSE")
READ_BY_ALL = ("*.md", "*.cff", "*.yml", "chapters", "seminar", ".binder")
"""Where no placeholder of the address may stand."""
_EARLIEST = (1980, 1, 1, 0, 0, 0)


def placeholders(root: Path, version: str) -> list[str]:
    """Everything that must be set before this version is released, each in words.

    Raises:
        UserError: naming the file, if one of those that are asked is not there or cannot be read.
    """
    return [
        *_of_config(_yaml(root / "_config.yml")),
        *_of_citation(_yaml(root / "CITATION.cff"), version),
        *_of_codecheck(_yaml(root / "codecheck.yml")),
        *_of_version(root, version),
        *_of_files(root),
    ]


def _of_config(config: Mapping) -> Iterator[str]:
    if not (config.get("repository") or {}).get("url"):
        yield "_config.yml: repository.url is not set"
    if config.get("author") in (None, "", NAMELESS):
        yield f'_config.yml: author is "{config.get("author")}", which names nobody'


def _of_citation(citation: Mapping, version: str) -> Iterator[str]:
    for author in citation.get("authors") or [{}]:
        name = author.get("name") or author.get("family-names")
        if name in (None, NAMELESS):
            yield f'CITATION.cff: an author is "{name}", which names nobody'
        if not author.get("orcid"):
            yield f"CITATION.cff: {name} has no orcid"
    if str(citation.get("version")) != version:
        yield f"CITATION.cff: version is {citation.get('version')}, not {version}"
    if not citation.get("date-released"):
        yield "CITATION.cff: date-released is not set"


def _of_codecheck(codecheck: Mapping) -> Iterator[str]:
    paper = codecheck.get("paper") or {}
    for author in paper.get("authors") or [{}]:
        if author.get("name") in (None, NAMELESS):
            yield f'codecheck.yml: an author is "{author.get("name")}", which names nobody'
        if not author.get("ORCID"):
            yield f"codecheck.yml: {author.get('name')} has no ORCID"
    if not str(paper.get("reference")).startswith("https://"):
        yield "codecheck.yml: paper.reference is neither a DOI nor another address"


def _of_version(root: Path, version: str) -> Iterator[str]:
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f'"{version}" is not a version: three numbers, as 1.2.3'
    has = files.read_toml(root / "pyproject.toml")["project"]["version"]
    if has != version:
        yield f"pyproject.toml: version is {has}, not {version}"
    if f"\n## {version}" not in _text(root / "CHANGELOG.md"):
        yield f'CHANGELOG.md: no section "## {version}"'


def _of_files(root: Path) -> Iterator[str]:
    if re.search(rf"(?m)^Copyright.* {NAMELESS}$", _text(root / "LICENSE")):
        yield f'LICENSE: the copyright is that of "{NAMELESS}", who are nobody'
    found = _git(root, "grep", "-l", "-F", NOWHERE, "--", *READ_BY_ALL, may_fail=True)
    if names := found.decode().splitlines():
        yield f"{_some(names)}: {NOWHERE} is no repository"
    if lines := _git(root, "status", "--porcelain").decode().splitlines():
        yield f"{_some([line[3:] for line in lines])}: not committed, so not in the sources"


def _some(names: list[str], most: int = 3) -> str:
    """The first names, and how many there are besides."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def require_ready(root: Path, version: str) -> None:
    """Refuse a release while something in it is a placeholder.

    Raises:
        UserError: listing all of them.
    """
    if found := placeholders(root, version):
        listed = "".join(f"\n- {each}" for each in found)
        raise files.UserError(
            f"{len(found)} things must be set before {version} is released:{listed}"
        )


def write(root: Path, version: str) -> list[Path]:
    """Write the files of a release, and take away those of the last one; returns their paths.

    Raises:
        UserError: listing all placeholders, if there are some; if the book is not built.
        OSError: as `files.atomic`.
    """
    require_ready(root, version)
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
    archive = _git(root, "archive", "--format=tar", f"--prefix={top}/", "HEAD", *among)
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


def _git(root: Path, *command: str, may_fail: bool = False) -> bytes:
    """What git says.

    Raises:
        UserError: with what it complains of.
    """
    done = subprocess.run(["git", *command], cwd=root, capture_output=True)
    if done.returncode and not may_fail:
        raise files.UserError(f"git {command[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise files.damaged(path, "is not there") from None


def _yaml(path: Path) -> Mapping:
    import yaml  # Jupyter Book's; chapters do without

    try:
        found = yaml.safe_load(_text(path))
    except yaml.YAMLError as error:
        raise files.damaged(path, f"is not YAML: {error}") from error
    if not isinstance(found, Mapping):
        raise files.damaged(path, "has no settings")
    return found
