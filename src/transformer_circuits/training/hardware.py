"""What the machine can do: which precision is fastest on it, and whether it can compile."""

import functools
import logging
import shutil
from collections.abc import Callable

import torch


def precision(device: torch.device) -> str:
    """The precision to train in: "bf16" (mixed) where the device has instructions for it, else "no"."""
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # Flags of Intel and AMD, then of Arm; older releases of torch cannot be asked.
        flags = getattr(torch.cpu, "get_capabilities", dict)()
        names = ("avx512_bf16", "amx_bf16", "bf16")
        able = torch.backends.mkldnn.is_available() and any(map(flags.get, names))
    return "bf16" if able else "no"


def compiled(function: Callable) -> Callable:
    """`function` under `torch.compile` if there is a C++ compiler and the first call shows it works.

    A compiler may be there without what it needs, as on Debian without python3-dev, which has
    Python's headers. Then a line on stderr says so, and `function` runs as it is.
    """
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        return function
    chosen, tried = torch.compile(function), False

    @functools.wraps(function)
    def call(*args):
        nonlocal chosen, tried
        try:
            result = chosen(*args)
        except RuntimeError as error:  # as all of torch.compile's are
            if tried:
                raise
            lines = [*str(error).splitlines(), type(error).__name__]
            reason = next((line for line in lines if "error:" in line), lines[0])
            logging.getLogger(__name__).warning("slower without torch.compile: %s", reason)
            chosen = function
            result = function(*args)
        tried = True
        return result

    return call
