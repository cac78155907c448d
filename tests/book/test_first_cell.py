"""The cell that makes a chapter run in Colab; `test_clean_room` runs it as Colab does."""

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

from transformer_circuits.book import first_cell, notebooks


def test_the_repository_address_comes_from_the_configuration(tmp_path):
    config = tmp_path / "_config.yml"
    config.write_text('repository:\n  url: "https://example.org/some/book"  # ours\n')
    assert '"git clone --depth=1 https://example.org/some/book book; ' in first_cell.text(config)
    config.write_text('repository:\n  url: ""\n')
    assert first_cell.text(config) == first_cell.UNPACKING
    assert not {"http", "git", "clone"} & set(re.findall(r"[a-z]+", first_cell.UNPACKING))
    whole = first_cell.text(config, notebooks.ALL_MODELS[0])
    assert whole == first_cell.UNPACKING.replace("book.zip", "book-all.zip")


def test_who_reads_checkpoints_or_mlps_asks_for_the_archive_that_has_them():
    for name in notebooks.names():
        code = "\n".join(notebooks.code(notebooks.read(notebooks.path(name))))
        if "checkpoint.steps(" in code or "two-layer-mlp" in code or "run_missing" in code:
            assert name in notebooks.ALL_MODELS


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


def test_the_scorecard_runs_chapters_where_the_package_is_not_installed(tmp_path, in_a_notebook):
    """As in Colab, where only the path of its own process leads to the package."""
    package = Path(first_cell.__file__).parents[1]
    ignored = shutil.ignore_patterns("__pycache__")
    checkout = tmp_path / "book"
    shutil.copytree(package, checkout / "src" / package.name, ignore=ignored)
    for name in ("book/data", "book/chapters", "jupyter/kernels/python3"):
        (tmp_path / name).mkdir(parents=True)
    (checkout / "data" / "corpus.toml").touch()
    (checkout / "data" / "claims.toml").write_text(CLAIM)
    catalogue = checkout / "src" / package.name / "claims" / "catalogue.py"
    modules = re.compile(r"MODULES = \(.*?\)", re.DOTALL)
    catalogue.write_text(modules.sub("MODULES = ()", catalogue.read_text()), encoding="utf-8")
    cells = [
        first_cell.CLONING.replace("{url}", "file:///nowhere"),
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
from transformer_circuits.claims import catalogue, scorecard
notebooks.run_missing()
print(scorecard.verdict(catalogue.claims()["one"], scorecard.evidence()["one"]))
"""
    environment = os.environ | {"JUPYTER_PATH": str(tmp_path / "jupyter")}
    environment.pop("PYTHONPATH", None)
    said = subprocess.run([*python, code], capture_output=True, text=True, env=environment)
    lines = said.stdout.splitlines()
    assert lines[0].startswith("executed 1 of 1 chapters ") and lines[-1] == "any weights", (
        said.stderr
    )


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
get_ipython = lambda: shell
"""


def opened(cell, folder):
    """What a cell says and how it ends, in Colab, in a folder that is all there is."""
    command = [sys.executable, "-S", "-c", UNINSTALLED + SHELL + cell]
    environment = os.environ | {"PYTHONPATH": "", "LC_ALL": "C", "IPYTHONDIR": str(folder / "../i")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)


@pytest.fixture
def content(tmp_path):
    (folder := tmp_path / "content").mkdir()
    return folder


def test_colab_shows_why_it_could_not_fetch_the_book(content):
    said = opened(first_cell.CLONING.replace("{url}", "file:///nowhere"), content)
    assert "fatal: '/nowhere' does not appear to be a git" in said.stdout + said.stderr
    assert said.stderr.endswith("No module named 'transformer_circuits'\n")
    assert not (content / "book").exists(), "nothing half-fetched is left"


@pytest.mark.parametrize("cell", [first_cell.CLONING, first_cell.UNPACKING])
def test_a_kernel_without_the_book_shows_the_line_that_says_what_to_do(content, cell):
    (content / "cell.py").write_text(cell)
    bare = [sys.executable, "-S", "cell.py"]  # as -S has it, with none of what is installed
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    said = subprocess.run(bare, capture_output=True, text=True, cwd=content, env=environment)
    assert said.returncode and "else `make lab`\n" in said.stderr and not said.stdout


def test_colab_shows_that_there_is_no_archive(content):
    said = opened(first_cell.UNPACKING, content)
    assert "cannot find or open book*.zip" in said.stdout + said.stderr
    assert said.returncode and not (content / "book").exists()


def test_of_archives_that_were_uploaded_again_a_complete_one_is_unpacked(content):
    for name in ("book.zip", "book (1).zip"):
        with zipfile.ZipFile(content / name, "w") as archive:
            archive.writestr("book/src/here.txt", name)
    os.truncate(content / "book.zip", 60)
    opened(first_cell.UNPACKING, content)
    assert (content / "book/src/here.txt").read_text() == "book (1).zip"
