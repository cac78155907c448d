"""Imports only go down the table in the package's docstring."""

import ast
import re
from pathlib import Path

import transformer_circuits

SOURCE = Path(transformer_circuits.__file__).parent
ROWS = re.findall(r"^\| (\d) .*? \| (.*?) \|$", transformer_circuits.__doc__, re.MULTILINE)
LAYER = {name: int(row) for row, names in ROWS for name in re.findall(r"`(\w+)`", names)}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "transformer_circuits":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "transformer_circuits."
        ):
            yield node.module.split(".")[1]


def test_every_module_has_a_layer_and_no_layer_names_a_ghost():
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
    assert set(LAYER) == modules


def test_the_library_page_has_every_module_in_the_order_of_its_layer():
    page = (SOURCE.parents[1] / "chapters" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"automodule:: transformer_circuits\.(\w+)", page)
    assert listed == [name for name in LAYER if name != "__main__"]


def test_imports_only_go_down():
    for path in SOURCE.glob("*.py"):
        for name in imports(path):
            assert path.stem == "__init__" or LAYER[name] <= LAYER[path.stem], (
                f"{path.stem} → {name}"
            )
            if LAYER[path.stem] == 4:
                assert LAYER[name] in (0, 4), "figures take arrays and labels, never a model"
            assert LAYER[name] != 4 or LAYER[path.stem] >= 4, "analyses draw nothing"


def test_only_figures_import_matplotlib_and_altair():
    for library, modules in (
        ("matplotlib", {"drawing"}),
        ("altair", {"hover", "charts", "diagrams", "book"}),
    ):
        assert {p.stem for p in SOURCE.glob("*.py") if library in p.read_text()} <= modules


def test_modules_and_functions_stay_short():
    for path in SOURCE.glob("*.py"):
        text = path.read_text()
        assert text.count("\n") <= 250, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 60, f"{path.name}: {node.name}"


def test_what_the_reader_can_mend_is_told_as_such():
    """`files.UserError`, which the command line prints alone; anything else is a bug of ours."""
    assert [p.name for p in SOURCE.glob("*.py") if "raise RuntimeError" in p.read_text()] == []


def test_scripts_stay_short():
    for path in SOURCE.glob("assets/*.js"):
        assert path.read_text().count("\n") <= 320, path


def test_public_names_are_documented():
    for path in SOURCE.glob("*.py"):
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), path
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                assert node.name == "main" or ast.get_docstring(node), f"{path.name}: {node.name}"
