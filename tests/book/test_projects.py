"""The first cell of every project runs."""

import contextlib
import io
import re

import pytest

from transformer_circuits import files

PAGE = (files.data_dir().parent / "seminar" / "projects.md").read_text(encoding="utf-8")
PROJECTS = re.split(r"^\(projects-", PAGE, flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("project", PROJECTS, ids=lambda text: text.partition(")")[0])
def test_the_first_cell_runs_by_itself_and_prints_what_it_found(project):
    (code,) = re.findall(r"^```python\n(.*?)^```$", project, re.MULTILINE | re.DOTALL)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "project", "exec"), {})
    assert len(said.getvalue().splitlines()) >= 2 and "nan" not in said.getvalue()
