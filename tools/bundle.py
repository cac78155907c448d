"""`make release`: what is handed out, once nothing in it is a placeholder any more.

Into `_build/release/`: the built book as one zip, which opens from a file; the sources; the weights;
`book.zip` and `book-all.zip`, with what chapters need in Colab; and a list of their SHA-256. The same commit and the
same built book give the same bytes.
"""

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

from tools import about
from transformer_circuits import files
from transformer_circuits.book import first_cell, notebooks
from transformer_circuits.website import editions

FOLDER = "_build/release"
CHAPTER_NEEDS = (
    "src", "data", "chapters", "pyproject.toml", "requirements.txt", "_config.yml", "LICENSE",
)  # fmt: skip
"""What is in `book-all.zip`, below its one folder `book/`: as the repository has it, so without a cache."""
MOST_DO_WITHOUT = (
    "data/models/two-layer/checkpoints", "data/models/two-layer-mlp*", "data/models/zero-layer-seed-*",
)  # fmt: skip
"""What `book.zip` lacks, as only `notebooks.ALL_MODELS` read it: half of the weights."""
FOR_STUDENTS = (f"{editions.STUDENTS_ARCHIVE}.zip", f"{editions.STUDENTS_ARCHIVE}-all.zip")
"""What the edition without solutions has in place of the two."""
NOT_HANDED_OUT = ("data/cache/*", "*__pycache__/*", "*.egg-info/*", ".*", "*/.*")
"""What lies in a checkout and is no part of it: executed chapters, with their solutions, among it."""
WEIGHTS = ("data/models", "data/tokenizer.json", "LICENSE")
NAMELESS = "The maintainers"
"""Stands where the authors' names belong."""
NOWHERE = "transformer-circuits-executed/book"
"""The address that the repository does not have."""
SAY_WHO = ("_config.yml", "CITATION.cff", "codecheck.yml", "LICENSE", "results")
SAY_WHERE = ("*.md", "*.cff", "*.yml", "chapters", "seminar", ".binder")
_ORCID = r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]"


def write(root: Path, version: str) -> list[Path]:
    """Write the files of a release, and take away those of the last one; returns their paths."""
    require_none_unset(root, version)
    site = root / "_build" / "html"
    if not (site / "index.html").is_file():
        raise files.UserError(f"{site} has no index.html: run `make book` first")
    folder, name = root / FOLDER, f"transformer-circuits-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _zip(
        {p.relative_to(site).as_posix(): p for p in site.rglob("*")},
        folder / f"{name}-site.zip",
        name,
    )
    _archive(root, folder / f"{name}-sources.zip", name)
    _archive(root, folder / f"{name}-weights.zip", f"{name}-weights", *WEIGHTS)
    write_book_zips(root, folder)
    files.write_sums(folder)
    return sorted(folder.iterdir())


def write_book_zips(root: Path, folder: Path | None = None) -> list[Path]:
    """Write `book.zip` and `book-all.zip`: what chapters need in Colab, of the last commit.

    `folder`: where they go; by default `_build`. Returns their paths.
    """
    folder = folder or root / "_build"
    folder.mkdir(exist_ok=True)
    targets = [folder / name for name in ("book.zip", "book-all.zip")]
    without = [f":(exclude){place}" for place in MOST_DO_WITHOUT]
    _archive(root, targets[0], "book", *CHAPTER_NEEDS, *without)
    _archive(root, targets[1], "book", *CHAPTER_NEEDS)
    return targets


def write_student_zips(root: Path) -> list[Path]:
    """Write the two archives of the edition without solutions beside it; returns their paths.

    They have the notebooks of `make student`, and all else as it lies in the checkout, which may be
    without git: the sources of a release.
    """
    edition = root / "_build" / "student"
    if not (edition / "source" / "chapters").is_dir():
        raise files.UserError(f"{edition} has no notebooks: run `make student`")
    members = {}
    for need in CHAPTER_NEEDS:
        place = edition / "source" if need == "chapters" else root
        for path in [place / need, *(place / need).rglob("*")]:
            name = path.relative_to(place).as_posix()
            if not any(fnmatch(name, pattern) for pattern in NOT_HANDED_OUT):
                members[name] = path
    most = {
        name: path for name, path in members.items()
        if not any(fnmatch(name, f"{pattern}*") for pattern in MOST_DO_WITHOUT)
    }  # fmt: skip
    targets = [edition / name for name in FOR_STUDENTS]
    for target, those in zip(targets, (most, members), strict=True):
        with files.atomic(target) as temporary:
            _zip(those, temporary, "book")
    return targets


def require_none_unset(root: Path, version: str) -> None:
    """Refuse a release while something in it stands for nobody, or nothing."""
    if found := [*unset(root, version)]:
        listed = "".join(f"\n- {each}" for each in found)
        raise files.UserError(
            f"{len(found)} things must be set before {version} is released:{listed}"
        )


def unset(root: Path, version: str) -> Iterator[str]:
    """Everything that must be set before this version is released, each in words."""
    citation, codecheck = about.citation(root), about.settings(root / "codecheck.yml")
    paper, authors = codecheck["paper"], citation["authors"]
    project = files.read_toml(root / "pyproject.toml")["project"]
    sections = (root / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")
    changes = {name: said.strip() for name, _, said in (s.partition("\n") for s in sections)}
    article = (root / "results/article.md").read_text(encoding="utf-8")
    other = [
        path.name
        for path in sorted((root / "chapters").glob("*.ipynb"))
        if notebooks.code(notebooks.read(path))[:1]
        != [first_cell.text(root / "_config.yml", path.stem)]
    ]
    as_released = "run `python -m tools article`"
    wanted = {
        f'"{version}" is not a version: three numbers, as 1.2.3':
            re.fullmatch(r"\d+\.\d+\.\d+", version),
        "_config.yml: repository.url is not set": about.address(root),
        "CITATION.cff: an author has no orcid of the form https://orcid.org/…":
            all(re.fullmatch(f"https://orcid.org/{_ORCID}", a.get("orcid", "")) for a in authors),
        f"CITATION.cff: version is {citation['version']}, not {version}":
            str(citation["version"]) == version,
        "CITATION.cff: date-released is not set": citation.get("date-released"),
        "codecheck.yml: an author has no ORCID":
            all(re.fullmatch(_ORCID, a.get("ORCID", "")) for a in paper["authors"]),
        "codecheck.yml: paper.reference is neither a DOI nor another address":
            paper["reference"].startswith("https://"),
        f"pyproject.toml: version is {project['version']}, not {version}":
            project["version"] == version,
        f'CHANGELOG.md: no section "## {version}" with something in it': changes.get(version),
        'CHANGELOG.md: what stands under "## Unreleased" belongs to a version':
            not changes.get("Unreleased"),
        f"results/article.md: is not of version {version}; {as_released}":
            f"Version {version} " in article,
        f"{', '.join(other)}: the first cell is not that of _config.yml; run `make chapters`":
            not other,
    }  # fmt: skip
    yield from (said for said, holds in wanted.items() if not holds)
    for name in _with(root, NAMELESS, SAY_WHO):
        yield f'{name}: "{NAMELESS}" names nobody'
    for name in _with(root, NOWHERE, SAY_WHERE):
        yield f"{name}: {NOWHERE} is no repository"
    for line in _git(root, "status", "--porcelain").splitlines():
        yield f"{line[3:]}: not committed, so not in the sources"


def _with(root: Path, text: str, among: tuple[str, ...]) -> list[str]:
    """The committed files among some that have a text in them."""
    return _git(root, "grep", "-l", "-F", text, "--", *among, may_fail=True).splitlines()


def _archive(root: Path, target: Path, top: str, *among: str) -> None:
    """The files of the last commit below a folder `top`, or only some files and folders of it."""
    _git(root, "archive", f"--prefix={top}/", f"--output={target}", "HEAD", *among)


def _git(root: Path, *command: str, may_fail: bool = False) -> str:
    """What git says; times in archives are in UTC."""
    utc = os.environ | {"TZ": "UTC"}
    done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, env=utc)
    if done.returncode and not may_fail:
        raise files.UserError(f"git {command[0]}: {done.stderr.strip()}")
    return done.stdout


def _zip(members: Mapping[str, Path], target: Path, top: str) -> None:
    """Files by their names as a zip whose bytes depend on names and contents alone: one date for all."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(members.items()):
            if path.is_file():
                entry = zipfile.ZipInfo(f"{top}/{name}")
                entry.external_attr = 0o100644 << 16
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
