import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import pytest
import torch

from transformer_circuits import book, files


def test_a_claim_that_holds_is_shown_and_one_that_does_not_stops(capsys, monkeypatch):
    monkeypatch.delitem(book.sys.modules, "IPython", raising=False)
    book.check("two is even", 2 % 2 == 0)
    assert capsys.readouterr().out == "✓ two is even\n"
    with pytest.raises(AssertionError, match="does not hold: three is even"):
        book.check("three is even", torch.tensor(3) % 2 == 0)


def test_a_claim_needs_one_truth_value():
    with pytest.raises(ValueError, match=r"one truth value but got \(2,\)"):
        book.check("both", torch.tensor([True, False]))


def test_close_does_not_broadcast():
    assert book.close(torch.ones(2), torch.ones(2) + 1e-12)
    assert not book.close(torch.ones(2), torch.ones(2) + 1e-6)
    with pytest.raises(ValueError, match=r"shapes differ: \(2,\) and \(2, 2\)"):
        book.close(torch.ones(2), torch.ones(2, 2))


def test_the_repository_address_comes_from_the_configuration(tmp_path):
    config = tmp_path / "_config.yml"
    config.write_text('repository:\n  url: "https://example.org/some/book"  # ours\n')
    assert '"https://example.org/some/book"' in book.first_cell(config)
    config.write_text("title: none\n")
    with pytest.raises(ValueError, match="no repository url"):
        book.first_cell(config)


def test_only_chapters_without_evidence_are_run(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(book.claims, "missing", lambda: [])
    book.run_missing()
    assert capsys.readouterr().out == "every chapter was run with this code\n"


def test_a_missing_chapter_is_run_and_a_failing_one_is_named(monkeypatch, capsys, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "chapters").mkdir()
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell("open('written', 'w').write('x')")]
    nbformat.write(notebook, tmp_path / "chapters" / "some.ipynb")
    monkeypatch.setattr(book.files, "data_dir", lambda: tmp_path / "data")
    monkeypatch.setattr(book.claims, "missing", lambda: ["some"])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    book.run_missing()
    assert (tmp_path / "chapters" / "written").read_text() == "x"
    said = capsys.readouterr()
    assert said.out == "1 chapters were run now: some\n"
    assert "some:   0%" in said.err and "| 1/1 [" in said.err
    notebook.cells[0].source = "1 / 0"
    nbformat.write(notebook, tmp_path / "chapters" / "some.ipynb")
    with pytest.raises(files.UserError, match="some fails: "):
        book.run_missing()


UNINSTALLED = f"""
import sys
from types import ModuleType
sys.path.append({sysconfig.get_path("purelib")!r})  # as -S has it: no editable installation
sys.modules["google.colab"] = ModuleType("google.colab")
"""
CLAIM = """[[claim]]
id = "one"
source = "paper"
kind = "trained"
section = "s"
statement = "s"
reported = "r"
rule = "r"
chapter = "some"
"""


def test_the_scorecard_runs_chapters_where_the_package_is_not_installed(tmp_path):
    """As in Colab, where only the path of its own process leads to the package."""
    package = Path(book.__file__).parents[1]
    ignored = shutil.ignore_patterns("__pycache__", "*.js")
    shutil.copytree(package, tmp_path / "src" / package.name, ignore=ignored)
    for name in ("data", "chapters", "jupyter/kernels/python3"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "data" / "corpus.toml").touch()
    (tmp_path / "data" / "claims.toml").write_text(CLAIM)
    cells = [
        book.FIRST_CELL.format(url="file:///nowhere"),
        'book.check("it holds", True, claim="one")',
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    nbformat.write(notebook, tmp_path / "chapters" / "some.ipynb")
    python = [sys.executable, "-S", "-c"]
    launch = f"{UNINSTALLED}\nfrom ipykernel import kernelapp\nkernelapp.launch_new_instance()"
    spec = {"argv": [*python, launch, "-f", "{connection_file}"], "display_name": "Colab's"}
    (tmp_path / "jupyter/kernels/python3/kernel.json").write_text(json.dumps(spec))
    code = f"""{UNINSTALLED}
sys.path.insert(0, {str(tmp_path / "src")!r})
from transformer_circuits import book
from transformer_circuits.book import claims
book.run_missing()
print(claims.verdict(claims.read()["one"]))
"""
    environment = os.environ | {"JUPYTER_PATH": str(tmp_path / "jupyter")}
    environment.pop("PYTHONPATH", None)
    said = subprocess.run([*python, code], capture_output=True, text=True, env=environment)
    assert said.stdout == "1 chapters were run now: some\nreproduced\n", said.stderr


@pytest.mark.parametrize("in_the_way", [False, True], ids=["no network", "another book"])
def test_colab_says_why_it_could_not_fetch_the_book_and_what_to_do(tmp_path, in_the_way):
    if in_the_way:
        (tmp_path / "book").mkdir()
        (tmp_path / "book" / "mine.txt").touch()
    code = UNINSTALLED + book.FIRST_CELL.format(url="file:///nowhere")
    command = [sys.executable, "-S", "-c", code]
    environment = os.environ | {"PYTHONPATH": "", "LC_ALL": "C"}
    said = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    reason = (
        "already exists and is not an empty"
        if in_the_way
        else "'/nowhere' does not appear to be a git"
    )
    assert "OSError: fatal: " in said.stderr and reason in said.stderr
    assert said.stderr.endswith("Rename any other folder book, or try later.\n")
