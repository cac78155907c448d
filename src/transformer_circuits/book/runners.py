"""Runners that execute a notebook in place: nbmake, as a test, and nbclient, where there is no nbmake.

Also its clearing before, and its sealing after.
"""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from transformer_circuits import files

TIMEOUT = 900
"""Most seconds of a cell, on a machine that does other things, too."""


KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
"""Kernel of this environment, whichever one an editor saved."""


def clear(notebook: dict) -> dict:
    """Empty a notebook's code cells of outputs and counts, in place, and return it.

    What an editor saved is not of this run. Its kernel becomes `KERNEL`.
    """
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    notebook["metadata"]["kernelspec"] = KERNEL
    return notebook


def seal(copy: dict) -> str:
    """Hash of the cells of an executed copy, with all their outputs."""
    return hashlib.sha256(files.as_json(copy["cells"]).encode()).hexdigest()


def _environment() -> dict[str, str]:
    """Environment variables of the kernels: one thread, so that results repeat; no scripts in outputs.

    The package need not be installed, as in Colab: the path leads to it. With glibc, memory that
    one step frees is kept for the next, which saves a tenth of the time.
    """
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "OMP_NUM_THREADS": "1",
        "MALLOC_MMAP_THRESHOLD_": str(2**30),
        "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
        files.IN_BOOK: "1",
        "PYTHONPATH": os.pathsep.join(paths),
    }


def run_with_nbmake(copy: Path) -> None:
    """Execute a notebook in place with nbmake, as a test; a UserError names the cell that fails."""
    options = ["-q", "--nbmake", f"--nbmake-timeout={TIMEOUT}", "--overwrite"]
    _run([sys.executable, "-m", "pytest", *options, str(copy)])


def run_with_nbclient(copy: Path) -> None:
    """Execute a notebook in place with nbclient, where there is no test runner, as in Colab."""
    start = "from nbclient.cli import main; main()"
    _run([sys.executable, "-c", start, "--inplace", f"--timeout={TIMEOUT}", str(copy)])


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command, cwd=files.data_dir().parent, env=_environment(), capture_output=True, text=True
    )
    if done.returncode:
        output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr).strip()
        raise files.UserError(output or f"ended with {done.returncode}, and said nothing")
