"""What a fresh clone is set up from: line endings, the lock file, the Makefile, the README."""

import ast
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from transformer_circuits.book import dependencies, notebooks

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IN_NOTEBOOKS = {"ipython"}
"""What is there wherever there is a notebook."""
STARTED = {"nbclient"}
"""What chapters start as a program, without importing it."""


def versions():
    """What requirements.txt says for this Python and machine."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pins = map(Requirement, re.findall(r"^[\w.-]+==.*$", text, re.MULTILINE))
    return {
        canonicalize_name(pin.name): pin.specifier
        for pin in pins
        if pin.marker is None or pin.marker.evaluate()
    }


def test_requirements_txt_is_what_the_lock_exports_and_the_lock_is_of_this_pyproject(tmp_path):
    """By the command that its own second line names; `--locked` refuses the lock of another pyproject.toml."""
    shown = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    _, uv, *command = shown.splitlines()[1].split()
    assert uv == "uv" and "--locked" in command
    command[command.index("requirements.txt")] = tmp_path / "exported.txt"
    program = Path(sys.executable).with_name(uv)
    export = [program, *command, "--offline", "--quiet"]
    done = subprocess.run(export, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}\nmake lock writes both files anew"
    exported = (tmp_path / "exported.txt").read_text(encoding="utf-8")
    assert exported.splitlines()[2:] == shown.splitlines()[2:], "make lock writes it anew"


def imported(paths):
    """The packages of others that modules import, anywhere in their code.

    Several packages share the name `sphinxcontrib`; its modules are called like their packages.
    """
    modules = set()
    for node in (node for path in paths for node in ast.walk(ast.parse(path.read_text()))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            name = node.module.split(".")[0]
            modules |= {f"{name}-{each.name}" for each in node.names if name == "sphinxcontrib"}
            modules |= {name} - {"sphinxcontrib"}
    packages = importlib.metadata.packages_distributions()
    others = modules - sys.stdlib_module_names - {"transformer_circuits", "website", "tools"}
    return {canonicalize_name(name) for each in others for name in packages.get(each, [each])}


SOURCE = ROOT / "src" / "transformer_circuits"


def packages(requirements):
    return {canonicalize_name(Requirement(each).name) for each in requirements}


def test_what_chapters_import_is_what_pyproject_asks_for():
    """No more, so that nothing is fetched in vain."""
    read = (notebooks.read(notebooks.path(name)) for name in notebooks.names())
    cells = (cell for notebook in read for cell in notebooks.code(notebook))
    reached = dependencies.modules(cells, dependencies.every_module())
    modules = {path for path in reached if path.is_relative_to(SOURCE)}
    used = imported(modules)
    assert used | STARTED == packages(PROJECT["dependencies"]) | IN_NOTEBOOKS


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A folder, whose name asks for care, with the Makefile and what its rules depend on."""
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON"):
        monkeypatch.delenv(name, raising=False)
    (folder := tmp_path / "päth with späces").mkdir()
    pins = ("requirements.txt", "uv.lock", "package-lock.json", "data/corpus.toml")
    book = ("_config.yml", "_toc.yml")
    for name in ("Makefile", "pyproject.toml", "package.json", *book, *pins):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def make(folder, *command):
    return subprocess.run(["make", *command], cwd=folder, capture_output=True, text=True)


def program(path, says="", code=0):
    """A stand-in at `path` that prints something and exits; -V is never an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "{says}"\ntest "$1" = -V || exit {code}\n')
    path.chmod(0o755)


def test_a_python_that_is_too_old_is_refused_before_anything_is_installed(fresh):
    program(fresh / "old", "Python 3.10.13", code=1)
    refused = make(fresh, "PYTHON=./old", "book")
    assert refused.returncode
    assert "needs Python 3.11, 3.12 or 3.13, but ./old -V says: Python 3.10.13" in refused.stderr
    assert not (fresh / ".venv").exists()


def test_it_is_made_in_a_folder_with_spaces_and_umlauts(fresh):
    (fresh / "data/cache").mkdir()
    (fresh / "node_modules").mkdir()
    for name in ("python", "pip", "uv", "npm"):
        program(fresh / ".venv/bin" / name, "Python 3.12.4")
    made = make(fresh, "book")
    said = ".venv/bin/python -m tools book"
    assert made.returncode == 0 and said in made.stdout.splitlines(), made.stderr
