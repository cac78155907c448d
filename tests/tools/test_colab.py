"""Archives for Colab: everything that chapters need, and for participants no solution."""

import json
import zipfile

import pytest

from tools import __main__ as cli
from tools import colab
from transformer_circuits import files
from transformer_circuits.book import first_cell, notebooks
from website import editions

ALL = f"chapters/{notebooks.ALL_MODELS[0]}.ipynb"
"""A chapter that needs all models."""
KEPT = "book/data/models/two-layer/checkpoints/000001.safetensors"


def cell(name, source, *tags):
    return {"cell_type": "code", "execution_count": None, "id": name, "metadata": {"tags": [*tags]},
            "outputs": [], "source": [source]}  # fmt: skip


TAUGHT = json.dumps({
    "cells": [cell("a", first_cell.UNPACKING), cell("b", "2 + 2", editions.SOLUTION)],
    "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
})  # fmt: skip
"""A chapter with an exercise that is solved."""
HANDED_OUT = (
    "LICENSE", "_config.yml", "chapters/01-a.ipynb", ALL, "data/corpus.toml",
    "data/models/m/weights.safetensors", "data/tokenizer.json", "pyproject.toml", "requirements.txt",
    "src/package/module.py",
)  # fmt: skip
KEPT_BACK = (
    "_toc.yml", "seminar/instructor.md", "src/package/__pycache__/module.pyc", "data/cache/text",
    "src/p.egg-info/PKG-INFO", "chapters/.ipynb_checkpoints/01-a-checkpoint.ipynb",
)  # fmt: skip


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A checkout without git, as sources are unpacked."""
    told = {"_config.yml": "repository: {url: 'https://example.org/a/b'}\nlaunch_buttons: {}\nhtml: {}\n",
            "_toc.yml": "parts: []\n"}  # fmt: skip
    for name in (*HANDED_OUT, *KEPT_BACK, KEPT.removeprefix("book/")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = TAUGHT if name.endswith(".ipynb") else told.get(name, "")
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(files, "data_dir", lambda: tmp_path / "data")
    return tmp_path


def members(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return sorted(archive.namelist())


def test_chapters_get_what_they_need_and_nothing_that_only_lies_there(root, capsys):
    cli.main(["colab-zip"])
    most, everything = (root / "_build" / name for name in ("book.zip", "book-all.zip"))
    assert f"{most}: 0.0 MB" in capsys.readouterr().out
    assert members(most) == sorted(f"book/{name}" for name in HANDED_OUT)
    assert members(everything) == sorted([*members(most), KEPT])


def test_participants_get_what_their_notebooks_ask_for(root):
    """And no solution, which `test_built_editions` sees."""
    with pytest.raises(SystemExit, match="run `make student`"):
        cli.main(["colab-zip", "--student"])
    editions.write()
    cli.main(["colab-zip", "--student"])
    most, everything = (root / "_build/student" / name for name in colab.FOR_STUDENTS)
    assert members(everything) == sorted([*members(most), KEPT])
    for path, name in ((most, "chapters/01-a.ipynb"), (everything, ALL)):
        with zipfile.ZipFile(path) as archive:
            notebook = json.loads(archive.read(f"book/{name}"))
            assert f"upload {path.name} to" in notebooks.code(notebook)[0]
