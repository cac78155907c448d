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

from transformer_circuits.book import notebooks

ROOT = Path(__file__).parents[1]
PIP_CHOOSES = re.compile("(torch|triton|nvidia-.*|cuda-.*)$")
"""Any build of the pinned torch will do; those for Nvidia bring packages of their own."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IN_NOTEBOOKS = {"ipython"}
"""What is there wherever there is a notebook."""
STARTED = {"nbclient"}
"""What chapters start as a program, without importing it."""


def pins(name):
    """(requirement, its hashes) of a requirements file."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^[\w.-]+==.*$", text, re.MULTILINE):
        requirement, *hashes = line.split("--hash=")
        yield Requirement(requirement), [each.strip() for each in hashes]


def versions(name):
    """What a requirements file says for this Python and machine."""
    return {
        canonicalize_name(pin.name): pin.specifier
        for pin, _ in pins(name)
        if pin.marker is None or pin.marker.evaluate()
    }


def needed():
    """The packages that requirements.txt names, and what they need in turn, as installed here."""
    found, todo = set(), [(name, "") for name in versions("requirements.txt")]
    while todo:
        name, extra = todo.pop()
        if (name, extra) in found or (PIP_CHOOSES.match(name) and name != "torch"):
            continue
        found.add((name, extra))
        for requirement in map(Requirement, importlib.metadata.requires(name) or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                name_of_it = canonicalize_name(requirement.name)
                todo += [(name_of_it, each) for each in ("", *requirement.extras)]
    return {name for name, _ in found}


def test_the_lock_pins_everything_by_hash_and_is_what_is_installed():
    """Everything but torch, of which any build will do."""
    for pin, hashes in pins("requirements.lock"):
        assert hashes and all(re.fullmatch("sha256:[0-9a-f]{64}", each) for each in hashes), pin
        assert not PIP_CHOOSES.match(pin.name), pin
    locked = versions("requirements.lock")
    for name, version in versions("requirements.txt").items():
        assert name == "torch" or locked[name] == version, name
    for name in needed() - {"torch"}:
        assert f"=={importlib.metadata.version(name)}" == str(locked[name]), name
    assert importlib.metadata.version("torch") in versions("requirements.txt")["torch"]
    for name in ("Makefile", ".binder/postBuild"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "--no-deps --require-hashes -r requirements.lock" in text, name


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
    others = modules - sys.stdlib_module_names - {"transformer_circuits", "tools"}
    return {canonicalize_name(name) for each in others for name in packages.get(each, [each])}


SOURCE = ROOT / "src" / "transformer_circuits"
EXTRAS = PROJECT["optional-dependencies"]


def packages(requirements):
    return {canonicalize_name(Requirement(each).name) for each in requirements}


def test_what_chapters_import_is_what_pyproject_asks_for():
    """No more, so that nothing is fetched in vain."""
    read = (notebooks.read(notebooks.path(name)) for name in notebooks.names())
    cells = (cell for notebook in read for cell in notebooks.code(notebook))
    reached = notebooks.modules(cells, notebooks.every_module())
    modules = {path for path in reached if path.is_relative_to(SOURCE)}
    used = imported(modules)
    assert used | STARTED == packages(PROJECT["dependencies"]) | IN_NOTEBOOKS


def test_what_is_imported_besides_is_an_extra():
    paths = [*SOURCE.rglob("*.py"), *(ROOT / "tools").glob("*.py")]
    used = imported(paths) - packages(PROJECT["dependencies"]) - IN_NOTEBOOKS
    extras = packages(EXTRAS["peers"]) | packages(EXTRAS["vocabulary"])
    assert used - extras == packages(EXTRAS["website"])


def test_what_pyproject_asks_for_is_pinned_at_a_version_it_allows():
    pinned = versions("requirements.txt")
    for requirement in map(Requirement, (*PROJECT["dependencies"], *EXTRAS["website"])):
        (pin,) = pinned[canonicalize_name(requirement.name)]
        assert pin.version in requirement.specifier, requirement


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A folder, whose name asks for care, with the Makefile and what its rules depend on."""
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHON"):
        monkeypatch.delenv(name, raising=False)
    (folder := tmp_path / "päth with späces").mkdir()
    pins = ("requirements.txt", "requirements.lock", "package-lock.json", "data/corpus.toml")
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


def test_an_environment_of_another_python_than_asked_for_is_named(fresh):
    program(fresh / "new", "Python 3.13.1")
    program(fresh / ".venv/bin/python", "Python 3.12.4")
    program(fresh / ".venv/bin/pip")
    refused = make(fresh, "PYTHON=./new", ".venv/.done")
    assert refused.returncode
    assert "./new is Python 3.13.1, and .venv was made with Python 3.12.4" in refused.stderr
    assert not (fresh / ".venv/.done").exists()
    assert make(fresh, ".venv/.done").returncode == 0, "the environment's own Python is the default"


@pytest.mark.parametrize(
    ("target", "said"),
    [("book", ".venv/bin/python -m transformer_circuits book"), ("autograder", "packed")],
)
def test_it_is_made_in_a_folder_with_spaces_and_umlauts(fresh, target, said):
    (fresh / "data/cache").mkdir()
    (fresh / "node_modules").mkdir()
    (fresh / "_build/autograder/01-a").mkdir(parents=True)
    for name in ("python", "pip", "npm"):
        program(fresh / ".venv/bin" / name, "Python 3.12.4")
    program(fresh / ".venv/bin/otter", "packed")
    made = make(fresh, target)
    assert made.returncode == 0 and said in made.stdout.splitlines(), made.stderr


def test_the_book_and_both_editions_are_built_before_they_are_tested(fresh):
    said = make(fresh, "-n", "test").stdout
    tested = said.index("pytest -q -m browser")
    for built in ("book", "book student", "book solutions"):
        assert said.index(f"-m transformer_circuits {built}\n") < tested, built


def test_the_readme_names_the_pinned_torch_and_every_python():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    asked = re.findall(r"torch(==\S+)", readme)
    assert asked and set(asked) == {str(versions("requirements.txt")["torch"])}
    pythons = [each.split()[-1] for each in PROJECT["classifiers"] if "Python ::" in each]
    assert pythons and all(version in readme for version in pythons)


def test_help_lists_every_target_that_says_what_it_does(fresh):
    text = (fresh / "Makefile").read_text(encoding="utf-8")
    targets = dict(re.findall(r"^([a-z-]+):[^#\n]*## (.+)$", text, re.MULTILINE))
    lines = make(fresh, "help").stdout.splitlines()
    assert dict(line.split(maxsplit=1) for line in lines) == targets and len(targets) > 10
