"""The house: folders that say what lives there, short modules, and one page that lists them all.

That imports only go down is import-linter's to hold: `make lint`.
"""

import ast
import re
from pathlib import Path

import pytest

import transformer_circuits

SOURCE = Path(transformer_circuits.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
FOLDERS = sorted({path.parent for path in MODULES})


def name(path):
    """A module's name below the package, `analysis.heads`."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_says_what_lives_there_and_is_soon_overlooked(folder):
    init = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(init)
    assert sum(path.is_file() for path in folder.iterdir()) <= 17


def test_the_library_page_has_every_module():
    page = (SOURCE.parents[1] / "chapters" / "reference" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"automodule:: transformer_circuits\.(\S+)", page)
    documented = {name(path) for path in MODULES} - {"__init__", "__main__"}
    folders = {name(folder / "__init__.py") for folder in FOLDERS} - {"book"}
    assert sorted(listed) == sorted(documented - folders)


def test_only_figures_import_matplotlib_and_altair():
    for library, modules in (
        ("matplotlib", {"figures.drawing"}),
        ("altair", {"figures.vega", "figures.charts", "figures.diagrams"}),
    ):
        assert {name(p) for p in MODULES if library in p.read_text()} <= modules


def test_modules_and_functions_stay_short():
    for path in MODULES:
        text = path.read_text()
        assert text.count("\n") <= 250, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 60, f"{path.name}: {node.name}"


def test_what_the_reader_can_mend_is_told_as_such():
    """`files.UserError`, which the command line prints alone; anything else is a bug of ours."""
    assert [p.name for p in MODULES if "raise RuntimeError" in p.read_text()] == []


def test_scripts_stay_short():
    for path in SOURCE.rglob("*.js"):
        assert path.read_text().count("\n") <= 320, path


def test_public_names_are_documented():
    for path in MODULES:
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), path
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                assert node.name == "main" or ast.get_docstring(node), f"{path.name}: {node.name}"
