"""A release: refused while something is a placeholder; else the same bytes from the same commit."""

import hashlib
import json
import os
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

from tools import __main__ as cli
from tools import bundle
from transformer_circuits import files
from transformer_circuits.book import first_cell, notebooks
from transformer_circuits.website import editions

ROOT = Path(__file__).parents[2]


def chapter(code):
    """A notebook whose first code cell this is."""
    cells = [{"cell_type": kind, "source": [code]} for kind in ("markdown", "code")]
    return json.dumps({"cells": cells, "metadata": {}})


READY = {
    "_config.yml": "author: A. Reader\nrepository: {url: 'https://example.org/a/b'}\n",
    "CITATION.cff": "version: 1.2.3\ndate-released: 2026-01-02\nauthors:\n"
    "  - {family-names: Reader, given-names: A., orcid: 'https://orcid.org/0000-0002-1825-0097'}\n",
    "codecheck.yml": "---\npaper:\n  title: T\n  reference: https://doi.org/10.1/2\n"
    "  authors: [{name: A. Reader, ORCID: 0000-0002-1825-0097}]\n",
    "pyproject.toml": '[project]\nversion = "1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n## 1.2.3\n\n- It is there.\n",
    "results/article.md": "*A. Reader. Version 1.2.3 of a book*\n",
    "LICENSE": "MIT\n\nCopyright (c) 2026 A. Reader\n",
    "README.md": "git clone https://example.org/a/b\n",
    ".gitignore": "/_build/\n/data/cache/\n",
    "requirements.txt": "",
    "src/package/module.py": "x = 1\n",
    "chapters/01-a.ipynb": chapter(first_cell.CLONING.format(url="https://example.org/a/b")),
    "data/corpus.toml": "",
    "data/tokenizer.json": "{}",
    "data/models/m/weights.safetensors": "weights",
    "data/models/two-layer/checkpoints/000001.safetensors": "weights then",
    ".ci/run": "#!/bin/sh\n",
}
"""A repository that can be released."""
NAMES = ["SHA256SUMS", "book-all.zip", "book.zip", *(f"transformer-circuits-1.2.3-{part}.zip" for part in ("site", "sources", "weights"))]  # fmt: skip


def git(root, *command):
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *author, *command], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Writes a repository with one commit and a built book; files may differ from those of `READY`."""

    def written(**changed):
        for name, text in {**READY, **changed}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        (tmp_path / ".ci/run").chmod(0o755)
        for name, text in {"index.html": "<p>first", "_static/a.css": "p {}"}.items():
            path = tmp_path / "_build/html" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "data/cache").mkdir(exist_ok=True)
        (tmp_path / "data/cache/text").write_text("text")
        git(tmp_path, "init", "-q")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", "all")
        monkeypatch.setattr(files, "data_dir", lambda: tmp_path / "data")
        return tmp_path

    return written


def members(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return sorted(name for name in archive.namelist() if not name.endswith("/"))


def test_a_release_has_the_book_its_sources_the_weights_and_what_colab_needs(
    repository, capsys, monkeypatch
):
    """And the same commit gives the same bytes at another time in another zone."""
    root = repository()
    cli.main(["release", "1.2.3"])
    folder = root / bundle.FOLDER
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    assert f"{folder / 'book.zip'}: 0.0 MB" in capsys.readouterr().out
    top = "transformer-circuits-1.2.3"
    assert members(folder / f"{top}-site.zip") == [f"{top}/_static/a.css", f"{top}/index.html"]
    assert members(folder / f"{top}-sources.zip") == sorted(f"{top}/{name}" for name in READY)
    assert members(folder / "book.zip") == [
        "book/LICENSE", "book/_config.yml", "book/chapters/01-a.ipynb", "book/data/corpus.toml",
        "book/data/models/m/weights.safetensors", "book/data/tokenizer.json", "book/pyproject.toml",
        "book/requirements.txt", "book/src/package/module.py",
    ]  # fmt: skip
    kept = "data/models/two-layer/checkpoints/000001.safetensors"
    everything = {*members(folder / "book.zip"), f"book/{kept}"}
    assert {*members(folder / "book-all.zip")} == everything
    assert members(folder / f"{top}-weights.zip") == [
        f"{top}-weights/{name}"
        for name in ("LICENSE", "data/models/m/weights.safetensors", kept, "data/tokenizer.json")
    ]
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    with zipfile.ZipFile(folder / f"{top}-sources.zip") as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert modes[f"{top}/.ci/run"] & 0o111 and not modes[f"{top}/README.md"] & 0o111
    first = (folder / "SHA256SUMS").read_bytes()
    os.utime(root / "_build/html/index.html", (0, time.time() + 10**7))
    (folder / "left-over.zip").write_text("")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    bundle.write(root, "1.2.3")
    assert (folder / "SHA256SUMS").read_bytes() == first
    assert sorted(path.name for path in folder.iterdir()) == NAMES


ALL = f"chapters/{notebooks.ALL_MODELS[0]}.ipynb"


def cell(name, source, *tags):
    return {"cell_type": "code", "execution_count": None, "id": name, "metadata": {"tags": [*tags]},
            "outputs": [], "source": [source]}  # fmt: skip


TAUGHT = json.dumps({
    "cells": [cell("a", first_cell.UNPACKING), cell("b", "2 + 2", editions.SOLUTION)],
    "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
})  # fmt: skip
"""A chapter with an exercise that is solved."""


def test_what_participants_upload_to_colab_has_no_solution_and_is_what_their_notebooks_ask_for(
    repository, capsys
):
    """Of a clone or of unpacked sources, whether or not the repository has an address."""
    root = repository(**{
        "chapters/01-a.ipynb": TAUGHT, ALL: TAUGHT, "_toc.yml": "parts: []\n",
        "_config.yml": READY["_config.yml"] + "launch_buttons: {}\nhtml: {}\n",
        "seminar/instructor.md": "", "src/package/__pycache__/module.pyc": "",
        "chapters/.ipynb_checkpoints/01-a-checkpoint.ipynb": TAUGHT,
    })  # fmt: skip
    with pytest.raises(SystemExit, match="run `make student`"):
        cli.main(["colab-zip", "--student"])
    handed_out = editions.write("student") / "chapters"
    (root / ".git").rename(root / "elsewhere")
    cli.main(["colab-zip", "--student"])
    most, everything = (root / "_build/student" / name for name in bundle.FOR_STUDENTS)
    assert f"{most}: 0.0 MB" in capsys.readouterr().out
    assert members(most) == sorted(f"book/{name}" for name in (
        "LICENSE", "_config.yml", "chapters/01-a.ipynb", ALL, "data/corpus.toml",
        "data/models/m/weights.safetensors", "data/tokenizer.json", "pyproject.toml",
        "requirements.txt", "src/package/module.py",
    ))  # fmt: skip
    kept = "book/data/models/two-layer/checkpoints/000001.safetensors"
    assert members(everything) == sorted([*members(most), kept])
    for path in (most, everything):
        with zipfile.ZipFile(path) as archive:
            for name in ("chapters/01-a.ipynb", ALL):
                text = archive.read(f"book/{name}").decode()
                notebook = json.loads(text)
                assert [*filter(editions.solves, notebook["cells"])] == []
                assert text == (handed_out / Path(name).name).read_text()
                asked = (most if name != ALL else everything).name
                assert f"Upload {asked}, wait" in notebooks.code(notebook)[0]


def test_all_placeholders_are_listed_at_once_and_nothing_is_written(repository):
    root = repository(**{
        "_config.yml": "author: The maintainers\nrepository: {url: ''}\n",
        "CITATION.cff": "version: 0.1.0\nauthors: [{name: The maintainers}]\n",
        "codecheck.yml": "---\npaper: {authors: [{name: The maintainers}], reference: soon}\n",
        "CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n- It is new.\n",
        "results/article.md": "*The maintainers. Version 1.2.3 of a book*\n",
        "chapters/01-a.ipynb": chapter("import sys"),
        "LICENSE": "MIT\n\nCopyright (c) 2026 The maintainers\n",
        "README.md": f"git clone https://github.com/{bundle.NOWHERE}\n",
    })  # fmt: skip
    (root / "data/corpus.toml").write_text("changed")
    with pytest.raises(SystemExit) as raised:
        cli.main(["release", "1.2"])
    first, *listed = raised.value.code.splitlines()
    assert first == "release: 19 things must be set before 1.2 is released:"
    nobody = "CITATION.cff", "LICENSE", "_config.yml", "codecheck.yml", "results/article.md"
    assert listed == [
        '- "1.2" is not a version: three numbers, as 1.2.3',
        "- _config.yml: repository.url is not set",
        "- CITATION.cff: an author has no orcid of the form https://orcid.org/…",
        "- CITATION.cff: version is 0.1.0, not 1.2",
        "- CITATION.cff: date-released is not set",
        "- codecheck.yml: an author has no ORCID",
        "- codecheck.yml: paper.reference is neither a DOI nor another address",
        "- pyproject.toml: version is 1.2.3, not 1.2",
        '- CHANGELOG.md: no section "## 1.2" with something in it',
        '- CHANGELOG.md: what stands under "## Unreleased" belongs to a version',
        "- results/article.md: is not of version 1.2; run `python -m tools article`",
        "- 01-a.ipynb: the first cell is not that of _config.yml; run `make chapters`",
        *(f'- {name}: "The maintainers" names nobody' for name in nobody),
        f"- README.md: {bundle.NOWHERE} is no repository",
        "- data/corpus.toml: not committed, so not in the sources",
    ]
    assert not (root / bundle.FOLDER).exists()


def test_a_repository_without_a_placeholder_is_ready_but_not_released_before_it_is_built(
    repository,
):
    root = repository()
    cli.main(["release", "1.2.3", "--check"])
    assert not (root / bundle.FOLDER).exists()
    (root / "_build/html/index.html").unlink()
    with pytest.raises(files.UserError, match=r"has no index\.html: run `make book` first"):
        bundle.write(root, "1.2.3")
    assert {line.partition(":")[0] for line in bundle.unset(ROOT, "99.9.9")} >= {
        "pyproject.toml", "CITATION.cff", "CHANGELOG.md"
    }, "every file that is asked is there in this repository"  # fmt: skip
