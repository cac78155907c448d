"""The engine of the two pages with models, in Node: by hand, and by differences."""

import subprocess
from pathlib import Path

from website import assets


def test_the_engine_computes_what_can_be_worked_out():
    tests = Path(__file__).with_name("engine.test.mjs")
    done = subprocess.run([assets.NODE, "--test", tests], capture_output=True, text=True)
    assert not done.returncode and "pass 6" in done.stdout, done.stdout + done.stderr
