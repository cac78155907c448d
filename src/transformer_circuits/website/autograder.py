"""The chapters as assignments for Otter-Grader: `make autograder`.

For each chapter a folder: its notebook as in the student edition, in which every exercise asks the
grader, and `tests/` with one file per exercise. The exercises keep their own checks, so grader and
notebook always agree. `otter generate` packs the tests; `make autograder` runs it.

The checks run among what the participant wrote, who could replace them: the points are for practice.
"""

import re
import shutil
from pathlib import Path

import nbformat

from transformer_circuits import files
from transformer_circuits.book import notebooks
from transformer_circuits.website import editions

_LABEL = re.compile(r"\{exercise\}[^\n]*\n:label: (\S+)")
_CHECK = re.compile(r"^(\w+)\.check\((\w+)\)$", re.MULTILINE)
_START = 'import otter\n\ngrader = otter.Notebook(tests_dir="tests")'
_TEST = '''"""{label}: one point if the exercise's own check accepts the answer."""

from otter.test_files import test_case

OK_FORMAT = False
name = "{name}"
points = 1


@test_case()
def test_answer({exercise}, {answer}):
    assert {exercise} is not None, "the cell with the exercise did not run"
    assert {exercise}.accepts({answer}), "not the right answer yet"
'''


def assignment(notebook: dict) -> tuple[dict, dict[str, str]]:
    """A chapter as an assignment: its notebook without solutions, and a test file for each exercise.

    Test files are named by the exercises' labels. Answers share one name, so each exercise asks the
    grader before the next one binds it again.
    """
    cells, tests, label = [], {}, ""
    for cell in editions.without_solutions(notebook)["cells"]:
        cells.append(cell)
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            label = next(reversed(_LABEL.findall(source)), label)
        elif label and (check := _CHECK.search(source)):
            name = label.replace("-", "_")
            tests[name] = _TEST.format(exercise=check[1], answer=check[2], label=label, name=name)
            cells.append(_cell(f'grader.check("{name}")', f"grade-{label}"))
            label = ""
    first = next(k for k, cell in enumerate(cells) if cell["cell_type"] == "code")
    cells.insert(first + 1, _cell(_START, "grade-start"))
    return notebook | {"cells": cells}, tests


def _cell(source: str, name: str) -> dict:
    return nbformat.v4.new_code_cell(source, id=name)


def write() -> list[Path]:
    """Write the assignment of every chapter into `_build/autograder`; the folders."""
    build = notebooks.root() / "_build" / "autograder"
    shutil.rmtree(build, ignore_errors=True)
    folders = [build / chapter for chapter in notebooks.numbered()]
    for folder in folders:
        notebook, tests = assignment(notebooks.read(notebooks.path(folder.name)))
        (folder / "tests").mkdir(parents=True)
        with files.atomic(folder / f"{folder.name}.ipynb") as temporary:
            nbformat.write(nbformat.from_dict(notebook), temporary)
        for name, text in tests.items():
            (folder / "tests" / f"{name}.py").write_text(text, encoding="utf-8")
    return folders
