"""The house: folders that say what lives there.

That imports only go down is import-linter's to hold: `make lint`.
"""

import ast
import re
import tomllib
from pathlib import Path

import transformer_circuits

SOURCE = Path(transformer_circuits.__file__).parent
TESTS = Path(__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
FOLDERS = sorted({path.parent for path in MODULES})


def name(path):
    """A module's name below the package, `analysis.heads`."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def test_the_package_lists_its_folders_as_import_linter_has_them():
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    layers = re.findall(r"transformer_circuits\.(\w+)", " ".join(contract["layers"]))
    rows = re.findall(r"^\| (`.*?) \|", transformer_circuits.__doc__, re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(rows)) == layers


def test_only_figures_import_matplotlib_and_altair():
    for imported, modules in (
        ("matplotlib", {"figures.drawing", "figures.plots"}),
        ("altair", {"figures.vega", "figures.charts", "figures.diagrams", "figures.explorers"}),
    ):
        assert {name(p) for p in MODULES if imported in p.read_text()} <= modules


def test_no_test_waits_by_the_clock_and_all_have_the_same_patience():
    """A machine may be busy: what is waited for is a state, as long as the fixture `browser` says."""
    found = [
        f"{path.relative_to(TESTS)}: {ast.unparse(call.func)}"
        for path in sorted(TESTS.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        if ast.unparse(call.func).rpartition(".")[2] in ("sleep", "wait_for_timeout")
        or any(given.arg == "timeout" for given in call.keywords)
    ]
    assert found == ["conftest.py: expect.set_options"]


def test_public_names_are_documented():
    for path in MODULES:
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), path
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                assert node.name == "main" or ast.get_docstring(node), f"{path.name}: {node.name}"
