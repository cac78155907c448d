"""Assignments for Otter-Grader: right answers get their points, wrong ones do not."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from transformer_circuits.book import notebooks
from transformer_circuits.website import autograder

CHAPTER = "03-attention-heads"
LABELS = re.compile(r"\{exercise\}[^\n]*\n:label: (\S+)")


def chapter(name=CHAPTER):
    return notebooks.read(notebooks.path(name))


@pytest.mark.parametrize("name", notebooks.numbered())
def test_every_exercise_asks_the_grader_where_its_answer_stands(name):
    made, tests = autograder.assignment(chapter(name))
    text = "\n".join("".join(cell["source"]) for cell in made["cells"])
    labels = [label.replace("-", "_") for label in LABELS.findall(text)]
    assert list(tests) == labels
    assert re.findall(r'^grader\.check\("(\w+)"\)', text, re.MULTILINE) == labels
    nbformat.validate(nbformat.from_dict(made))
    for text in tests.values():
        compile(text, "test", "exec")


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The assignment of the chapter, written."""
    real = notebooks.path(CHAPTER)
    monkeypatch.setattr(notebooks, "path", lambda name: real)
    monkeypatch.setattr(notebooks, "numbered", lambda: [CHAPTER])
    monkeypatch.setattr(notebooks, "root", lambda: tmp_path)
    (written,) = autograder.write()
    return written


def answered(notebook, whole):
    """The assignment with the book's solutions as answers: `x.solve(a)` becomes `answer = a`."""
    solved = {}
    for one in whole["cells"]:
        source = "".join(one["source"])
        if one["cell_type"] == "code" and source.startswith("# @title Solution"):
            tree = ast.parse(source)
            call = tree.body.pop().value
            solved[call.func.value.id] = ast.unparse(tree), ast.unparse(call.args[0])
    for one in notebook["cells"]:
        if found := re.search(r"^(\w+)\.check\((\w+)\)$", one["source"], re.MULTILINE):
            before, answer = solved[found[1]]
            one["source"] += f"\n{before}\n{found[2]} = {answer}"
    return notebook


@pytest.mark.grader
@pytest.mark.filterwarnings("ignore")  # what Otter's own packages warn of
def test_otter_tells_right_from_wrong(folder):
    import otter.api  # only where the extra is installed

    path = folder / f"{folder.name}.ipynb"
    _, tests = autograder.assignment(chapter())
    command = [Path(sys.executable).parent / "otter", "generate", "--tests-dir", "tests"]
    command += ["--no-requirements", "--output-path", "autograder.zip"]
    subprocess.run(command, cwd=folder, check=True)
    right, one_wrong = (answered(nbformat.read(path, 4), chapter()) for _ in range(2))
    first = next(cell for cell in one_wrong["cells"] if ".check(answer)" in cell["source"])
    first["source"] += "\nanswer = None"
    unanswered, found = nbformat.read(path, 4), {}
    for name, made in {"none": unanswered, "wrong": one_wrong, "right": right}.items():
        submission = folder / f"{name}.ipynb"
        nbformat.write(made, submission)
        found[name] = otter.api.grade_submission(str(submission), str(folder / "autograder.zip"))
    assert found["none"].total == 0 and found["wrong"].total == len(tests) - 1
    assert found["right"].total == found["right"].possible == len(tests)
