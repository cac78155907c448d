"""The cell that makes a chapter run in Colab; `test_clean_room` runs it as Colab does."""

import os
import re
import subprocess
import sys
import sysconfig
import zipfile

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
