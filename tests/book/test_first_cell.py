"""The cell that makes a chapter run in Colab."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import nbformat
import pytest

from transformer_circuits.book import first_cell


def test_the_repository_address_comes_from_the_configuration(tmp_path):
    config = tmp_path / "_config.yml"
    config.write_text('repository:\n  url: "https://example.org/some/book"  # ours\n')
    assert 'git = "git clone --depth=1 https://example.org/some/book"' in first_cell.text(config)
    config.write_text('repository:\n  url: ""\n')
    assert first_cell.text(config) == first_cell.UNPACKING
    config.write_text("title: none\n")
    with pytest.raises(ValueError, match="no repository url"):
        first_cell.text(config)


def test_without_an_address_nothing_is_fetched_from_anywhere():
    assert not {"http", "git", "clone"} & set(re.findall(r"[a-z]+", first_cell.UNPACKING))


UNINSTALLED = f"""
import sys
from types import ModuleType
sys.path.append({sysconfig.get_path("purelib")!r})  # as -S has it: no editable installation
sys.modules["google.colab"] = ModuleType("google.colab")
"""
CLAIM = """[[claim]]
id = "one"
source = "paper"
kind = "identity"
section = "s"
statement = "s"
reported = "r"
rule = "r"
chapter = "05-some"
"""


def test_the_scorecard_runs_chapters_where_the_package_is_not_installed(tmp_path):
    """As in Colab, where only the path of its own process leads to the package."""
    package = Path(first_cell.__file__).parents[1]
    ignored = shutil.ignore_patterns("__pycache__")
    checkout = tmp_path / "book"
    shutil.copytree(package, checkout / "src" / package.name, ignore=ignored)
    for name in ("book/data", "book/chapters", "jupyter/kernels/python3"):
        (tmp_path / name).mkdir(parents=True)
    (checkout / "data" / "corpus.toml").touch()
    (checkout / "data" / "claims.toml").write_text(CLAIM)
    cells = [
        first_cell.CLONING.format(url="file:///nowhere"),
        'book.check("it holds", True, claim="one")',
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    nbformat.write(notebook, checkout / "chapters" / "05-some.ipynb")
    python = [sys.executable, "-S", "-c"]
    launch = f"{UNINSTALLED}\nfrom ipykernel import kernelapp\nkernelapp.launch_new_instance()"
    spec = {"argv": [*python, launch, "-f", "{connection_file}"], "display_name": "Colab's"}
    (tmp_path / "jupyter/kernels/python3/kernel.json").write_text(json.dumps(spec))
    code = f"""{UNINSTALLED}
sys.path.insert(0, {str(checkout / "src")!r})
from transformer_circuits.book import notebooks
from transformer_circuits.claims import registry, scorecard
notebooks.run_missing()
print(scorecard.verdict(registry.read()["one"], scorecard.evidence()["one"]))
"""
    environment = os.environ | {"JUPYTER_PATH": str(tmp_path / "jupyter")}
    environment.pop("PYTHONPATH", None)
    said = subprocess.run([*python, code], capture_output=True, text=True, env=environment)
    lines = said.stdout.splitlines()
    assert lines[0].startswith("1 of 1: 05-some, ") and lines[-1] == "any weights", said.stderr


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
get_ipython = lambda: shell
"""


@pytest.mark.parametrize("in_the_way", [False, True], ids=["no network", "another book"])
def test_colab_shows_why_it_could_not_fetch_the_book(tmp_path, in_the_way):
    if in_the_way:
        (tmp_path / "book").mkdir()
        (tmp_path / "book" / "mine.txt").touch()
    code = UNINSTALLED + SHELL + first_cell.CLONING.format(url="file:///nowhere")
    command = [sys.executable, "-S", "-c", code]
    environment = os.environ | {"PYTHONPATH": "", "LC_ALL": "C", "IPYTHONDIR": str(tmp_path / "i")}
    said = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    reason = (
        "already exists and is not an empty"
        if in_the_way
        else "'/nowhere' does not appear to be a git"
    )
    assert "fatal: " in said.stdout + said.stderr and reason in said.stdout + said.stderr
    assert said.stderr.endswith("No module named 'transformer_circuits'\n")
    assert (tmp_path / "book").exists() == in_the_way, "nothing half-fetched is left"


def opened_in_colab(folder):
    """The first cell where no repository has an address, in a folder that is all there is."""
    command = [sys.executable, "-S", "-c", UNINSTALLED + SHELL + first_cell.UNPACKING]
    environment = os.environ | {"PYTHONPATH": "", "IPYTHONDIR": str(folder.parent / "i")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)


@pytest.mark.parametrize("kept", [None, 0, 60], ids=["no zip", "empty", "cut"])
def test_without_an_address_colab_says_in_one_line_what_to_upload(tmp_path, kept):
    (folder := tmp_path / "content").mkdir()
    if kept is not None:
        with zipfile.ZipFile(folder / "book.zip", "w") as archive:
            archive.writestr("book/src/here.txt", "text")
        os.truncate(folder / "book.zip", kept)
    said = opened_in_colab(folder)
    wanted = "Upload book.zip, wait until all of it is there, and run this again.\n"
    assert said.returncode and said.stderr == wanted
    assert not (folder / "book").exists()


def test_a_zip_that_was_uploaded_again_is_taken_for_the_one_that_was_cut(tmp_path):
    (folder := tmp_path / "content").mkdir()
    for time, name in enumerate(("book.zip", "book (1).zip", "book (2).zip")):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("book/src/here.txt", name)
        os.utime(folder / name, (time, time))
    os.truncate(folder / "book (2).zip", 60)
    opened_in_colab(folder)
    assert (folder / "book/src/here.txt").read_text() == "book (1).zip"
