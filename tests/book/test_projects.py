"""The first cell of every project runs, and every project says when to stop."""

import contextlib
import io
import re

import pytest

from transformer_circuits import files

PAGE = (files.data_dir().parent / "seminar" / "projects.md").read_text(encoding="utf-8")
PROJECTS = re.split(r"^\(projects-", PAGE, flags=re.MULTILINE)[1:]


def test_there_are_five_projects_and_each_says_how_long_what_next_and_when_to_stop():
    assert len(PROJECTS) == 5
    for project in PROJECTS:
        assert re.search(r"^\*[A-Z][^*]* days?[.,]", project, re.MULTILINE)
        assert project.count("\nNext: ") == project.count("\n**Stop** ") == 1


@pytest.mark.parametrize("project", PROJECTS, ids=lambda text: text.partition(")")[0])
def test_the_first_cell_runs_by_itself_and_prints_what_it_found(project):
    (code,) = re.findall(r"^```python\n(.*?)^```$", project, re.MULTILINE | re.DOTALL)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "project", "exec"), {})
    assert len(said.getvalue().splitlines()) >= 2 and "nan" not in said.getvalue()
