"""Tests of the browser wait for states."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent


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
