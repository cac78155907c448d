"""What must be set before a release, since something that stands for nobody is there, or nothing."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from transformer_circuits import files
from transformer_circuits.book import first_cell, notebooks

NAMELESS = "The maintainers"
"""Stands where the authors' names belong."""
NOWHERE = "transformer-circuits-executed/book"
"""The address that the repository does not have."""
READ_BY_ALL = ("*.md", "*.cff", "*.yml", "chapters", "seminar", ".binder")
"""Where no placeholder of the address may stand."""


def found(root: Path, version: str) -> list[str]:
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
        if not _is_orcid(str(author.get("orcid")), before="https://orcid.org/"):
            yield f"CITATION.cff: the orcid of {name} is not of the form https://orcid.org/…"
    if str(citation.get("version")) != version:
        yield f"CITATION.cff: version is {citation.get('version')}, not {version}"
    if not citation.get("date-released"):
        yield "CITATION.cff: date-released is not set"


def _of_codecheck(codecheck: Mapping) -> Iterator[str]:
    paper = codecheck.get("paper") or {}
    for author in paper.get("authors") or [{}]:
        if author.get("name") in (None, NAMELESS):
            yield f'codecheck.yml: an author is "{author.get("name")}", which names nobody'
        if not _is_orcid(str(author.get("ORCID"))):
            yield f"codecheck.yml: the ORCID of {author.get('name')} is not one"
    reference = str(paper.get("reference"))
    if not reference.startswith("https://") or "://example." in reference:
        yield "codecheck.yml: paper.reference is neither a DOI nor another address"


def _is_orcid(said: str, *, before: str = "") -> bool:
    """Sixteen digits in groups of four, the last of which checks the others (ISO 7064, 11-2)."""
    digits = said.removeprefix(before)
    if not said.startswith(before) or not re.fullmatch(r"(\d{4}-){3}\d{3}[\dX]", digits):
        return False
    *others, last = digits.replace("-", "")
    total = 0
    for digit in others:
        total = 2 * (total + int(digit))
    return "0123456789X"[(12 - total) % 11] == last


def _of_version(root: Path, version: str) -> Iterator[str]:
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f'"{version}" is not a version: three numbers, as 1.2.3'
    has = files.read_toml(root / "pyproject.toml")["project"]["version"]
    if has != version:
        yield f"pyproject.toml: version is {has}, not {version}"
    changes = {
        part.split(maxsplit=1)[0]: part.partition("\n")[2].strip()
        for part in _text(root / "CHANGELOG.md").split("\n## ")[1:]
    }
    if not changes.get(version):
        yield f'CHANGELOG.md: no section "## {version}" with something in it'
    if changes.get("Unreleased"):
        yield 'CHANGELOG.md: what stands under "## Unreleased" belongs to a version'
    if f"Version {version} " not in _text(root / "results/article.md"):
        yield (
            f"results/article.md: is not of version {version}; "
            "run `python -m transformer_circuits article`"
        )


def _of_files(root: Path) -> Iterator[str]:
    if re.search(rf"(?m)^Copyright.* {NAMELESS}$", _text(root / "LICENSE")):
        yield f'LICENSE: the copyright is that of "{NAMELESS}", which names nobody'
    if names := _with(root, NAMELESS, "results"):
        yield (
            f'{_some(names)}: by "{NAMELESS}", which names nobody; '
            "run `python -m transformer_circuits article`"
        )
    if names := _with(root, NOWHERE, *READ_BY_ALL):
        yield f"{_some(names)}: {NOWHERE} is no repository"
    if names := _other_first_cells(root):
        yield f"{_some(names)}: the first cell is not that of _config.yml; run `make chapters`"
    if lines := git(root, "status", "--porcelain").decode().splitlines():
        yield f"{_some([line[3:] for line in lines])}: not committed, so not in the sources"


def _with(root: Path, text: str, *among: str) -> list[str]:
    """The committed files among some that have a text in them."""
    return git(root, "grep", "-l", "-F", text, "--", *among, may_fail=True).decode().splitlines()


def _other_first_cells(root: Path) -> list[str]:
    """The chapters whose first code cell is not the one that follows from `_config.yml`."""
    expected, other = first_cell.text(root / "_config.yml"), []
    for path in sorted((root / "chapters").glob("*.ipynb")):
        cells = notebooks.read(path)["cells"]
        code = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        if next(code, expected) != expected:
            other.append(path.name)
    return other


def _some(names: list[str], most: int = 3) -> str:
    """The first names, and how many there are besides."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def require_none(root: Path, version: str) -> None:
    """Refuse a release while something in it is a placeholder.

    Raises:
        UserError: listing all of them.
    """
    if listing := found(root, version):
        listed = "".join(f"\n- {each}" for each in listing)
        raise files.UserError(
            f"{len(listing)} things must be set before {version} is released:{listed}"
        )


def git(root: Path, *command: str, may_fail: bool = False) -> bytes:
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
