"""A chapter is executed once, and again only if something it was made of has changed."""

import json
import re

import pytest

from transformer_circuits import files
from transformer_circuits.book import dependencies, notebooks, runners

ROOT = notebooks.root()
SCORECARD = notebooks.SCORECARD


def in_this_process(copy):
    """Stands for nbmake where only what is around it is tested: every cell has run."""
    notebook = json.loads(copy.read_text())
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            cell["execution_count"] = number
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [str(number)]}]
    copy.write_text(json.dumps(notebook))


def run(*chapters):
    notebooks.execute(chapters or notebooks.names(), in_this_process)


def test_a_copy_is_fresh_until_something_it_was_made_of_changes(checkout):
    root = checkout("a", "from house import one")
    checkout("b", "from house import other")
    assert notebooks.stale() == ["a", "b"]
    run()
    assert notebooks.stale() == []
    checkout("a", "from house import one", prose="changed")
    (root / "chapters" / "page.md").write_text("new")
    assert notebooks.stale() == []
    (root / "src/house/two.py").write_text("x = 3\n")
    assert notebooks.stale() == ["a"], "it imports two by way of one, inside a function"
    run("a")
    checkout("b", "from house import other, two")
    assert notebooks.stale() == ["b"]
    run("b")
    for file in (
        "corpus.toml",
        "claims.toml",
        "models/m/seeds.jsonl",
        f"models/m/checkpoints/{files.SUMS}",
    ):
        (root / "data" / file).parent.mkdir(exist_ok=True)
        (root / "data" / file).write_text("new = 1\n")
        assert notebooks.stale() == ["a", "b"], file
        run()
    (root / "requirements.txt").write_text("torch==3")
    assert notebooks.stale() == ["a", "b"]


def test_what_reads_all_others_is_executed_last_and_when_one_changes(checkout, capsys):
    root = checkout("a", "from house import one")
    checkout("z", "1")
    checkout(notebooks.FOUND, "1")
    checkout(SCORECARD, "1", "2 + 2", "'the longest chapter of all'")
    order = []
    notebooks.execute(
        notebooks.names(), lambda copy: (in_this_process(copy), order.append(copy.stem))
    )
    assert {*order[2:]} == {SCORECARD, notebooks.FOUND}
    said = capsys.readouterr()
    assert re.fullmatch(r"executed 4 of 5 chapters in 0 min \d s; .*\n", said.out), "one line"
    assert said.err == "", "no bar where nobody looks"
    checkout(SCORECARD, "2")
    assert notebooks.stale() == [SCORECARD], "the page of findings does not wait for it"
    (root / "src/house/two.py").write_text("x = 3\n")
    assert notebooks.stale() == [SCORECARD, "a", notebooks.FOUND]


def test_every_file_of_the_data_and_every_drawing_makes_chapters_stale():
    """Checkpoints have a list of checksums."""
    of_data = {path for path in (ROOT / "data").iterdir() if path.is_file()}
    of_data |= {path for path in (ROOT / "data/models").glob("*/*") if path.is_file()}
    patterns = (*dependencies.DATA_FILES, *notebooks.CLAIMS)
    counted = {path for pattern in patterns for path in ROOT.glob(pattern)}
    assert of_data <= counted
    by_few = set()
    for module, pattern in dependencies.READ_BY.items():
        assert (ROOT / "src/transformer_circuits" / module).is_file() and any(ROOT.glob(pattern))
        by_few |= {*ROOT.glob(pattern)}
    figures = ROOT / "src/transformer_circuits/figures"
    drawn = {*figures.rglob("*.mplstyle"), *(ROOT / "chapters" / "drawings").iterdir()}
    assert drawn <= by_few, "scripts and styles come in when the book is built, drawings before"


def test_only_chapters_that_read_records_of_trainings_depend_on_them(checkout):
    root = checkout("a", "from house.experiments import trainings")
    checkout("b", "from house import other")
    module = root / "src/house/experiments/trainings.py"
    module.parent.mkdir()
    for file in (module, module.parent / "__init__.py"):
        file.write_text("")
    run()
    (root / "data/trainings").mkdir()
    (root / "data/trainings/records.jsonl").write_text("{}")
    assert notebooks.stale() == ["a"]


@pytest.mark.parametrize("outputs", [[], [{"output_type": "stream", "text": ["0.85"]}]])
def test_a_copy_that_was_changed_later_or_cannot_be_read_is_none(checkout, outputs):
    checkout("a", "1")
    run()
    copy = json.loads(notebooks.executed_path("a").read_text())
    changed = copy["cells"][-1] | {"outputs": outputs}
    notebooks.executed_path("a").write_text(json.dumps(copy, indent=1))
    assert notebooks.stale() == [], "the same in other words"
    for left in ({**copy, "cells": [*copy["cells"][:-1], changed]}, {"metadata": {}}, None):
        notebooks.executed_path("a").write_text(json.dumps(left))
        assert notebooks.stale() == ["a"]


def test_a_chapter_that_fails_keeps_its_last_copy_and_stops_the_scorecard(checkout, capsys):
    checkout("a", "1")
    checkout("z", "1")
    checkout(SCORECARD, "1")
    run()
    before = notebooks.executed_path("a").read_text()

    def failing(copy):
        if copy.stem == "a":
            raise files.UserError("ZeroDivisionError: division by zero")
        in_this_process(copy)

    capsys.readouterr()
    with pytest.raises(files.UserError, match=r"^1 of them fail\na: ZeroDivision.*\nHow far"):
        notebooks.execute(notebooks.names(), failing)
    said = capsys.readouterr().out
    assert said == "a fails\nZeroDivisionError: division by zero\n"
    z = notebooks.executed_path("z")
    assert z.stat().st_mtime_ns > notebooks.executed_path("a").stat().st_mtime_ns
    assert SCORECARD not in said
    with pytest.raises(files.UserError, match=r"a: .* were not executed"):
        notebooks.execute(["a"], lambda copy: None)  # no cell ran
    assert notebooks.executed_path("a").read_text() == before


CELL = "import os\nprint(os.environ['OMP_NUM_THREADS'], os.environ['TRANSFORMER_CIRCUITS_IN_BOOK'])"


@pytest.mark.parametrize("runner", [runners.run_with_nbmake, runners.run_with_nbclient])
def test_both_runners_keep_outputs_and_tell_what_fails(
    checkout, in_a_notebook, monkeypatch, runner
):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    checkout("a", CELL, "1 + 1")
    copy = notebooks.executed_path("a")
    copy.parent.mkdir(parents=True)
    copy.write_text((files.data_dir().parent / "chapters" / "a.ipynb").read_text())
    runner(copy)
    first, second = [cell for cell in notebooks.read(copy)["cells"] if cell["cell_type"] == "code"]
    assert "".join(first["outputs"][0]["text"]) == "1 1\n"
    assert "".join(second["outputs"][0]["data"]["text/plain"]) == "2"
    whole = copy.read_text()
    checked = "from transformer_circuits import book\\nbook.check('odd', 2 % 2 == 1)"
    for wrong, said in (("1 / 0", "ZeroDivisionError"), (checked, "does not hold: odd")):
        copy.write_text(whole.replace("1 + 1", wrong))
        with pytest.raises(files.UserError, match=said):
            runner(copy)


def test_the_scorecard_alone_runs_only_what_is_missing(
    checkout, capsys, in_a_notebook, monkeypatch
):
    checkout("a", "1")
    checkout(SCORECARD, "1")
    monkeypatch.setattr(notebooks, "run_with_nbmake", in_this_process)  # as the tests run here
    notebooks.run_missing()
    assert "executed 1 of 2 chapters" in capsys.readouterr().out
    notebooks.run_missing()
    assert capsys.readouterr().out == "every chapter was executed with this code\n"
    checkout("a", "2")
    monkeypatch.setenv(files.IN_BOOK, "1")
    with pytest.raises(files.UserError, match="a: not executed before"):
        notebooks.run_missing()


def test_what_an_editor_leaves_in_a_chapter_changes_nothing(checkout):
    """Saved outputs, another kernel, new ids, an empty last cell; a notebook begun beside it."""
    checkout("a", "1", "")
    saved = json.loads(notebooks.path("a").read_text())
    saved["metadata"]["kernelspec"] = {"name": "conda-env-py", "display_name": "conda"}
    saved["cells"][1] |= {"outputs": [{"output_type": "error"}], "execution_count": 9}
    notebooks.path("a").write_text(json.dumps(saved))
    seen = []

    def looks(copy):
        seen.append(notebooks.read(copy))
        in_this_process(copy)
        notebook = notebooks.read(copy)
        notebook["cells"][-1]["execution_count"] = None  # as nbmake leaves an empty cell
        copy.write_text(json.dumps(notebook))

    notebooks.execute(["a"], looks)
    assert seen[0]["metadata"]["kernelspec"] == runners.KERNEL
    assert seen[0]["cells"][1]["outputs"] == []
    saved["cells"][1]["id"] = "another"
    notebooks.path("a").write_text(json.dumps(saved))
    assert notebooks.stale() == []


@pytest.mark.parametrize(
    "text, message",
    [
        ("<<<<<<< HEAD", "a.ipynb is not a notebook: JSONDecodeError"),
        ("[]", "a.ipynb is not a notebook"),
        ("%time", "a: line 1 of code cell 2 is not plain Python"),
    ],
)
def test_a_chapter_that_cannot_be_read_is_named(checkout, text, message):
    checkout("a", "1", text)
    if "cell" not in message:
        notebooks.path("a").write_text(text)
    with pytest.raises(files.UserError, match=message):
        notebooks.stale()
