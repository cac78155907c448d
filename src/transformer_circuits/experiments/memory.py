"""How much memory something takes."""

import multiprocessing
import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")
"""Where Linux says what a process holds and has held."""


def most() -> float:
    """The most memory that this process has held so far. [MB]

    On Linux not by `getrusage`, whose count a new process takes over from the one that started it.
    """
    if STATUS.is_file():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", STATUS.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(run: Callable[..., Any], *arguments: object) -> Any:
    """What a function of a module returns in a process of its own, whose memory nothing else fills."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(run, arguments)
