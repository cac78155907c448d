"""What the machine can do: which precision is fastest on it, whether it can compile; its memory."""

import ctypes
import functools
import logging
import shutil
import sys
from collections.abc import Callable

import torch
from torch.overrides import TorchFunctionMode


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


class WithoutBfloat16(TorchFunctionMode):
    """`with WithoutBfloat16(): optimizer.step()` computes in float32 what Muon would in bfloat16.

    `torch.optim.Muon` turns its matrices into bfloat16 on every device. A processor without
    instructions for it emulates them: two thirds of a training step.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.bfloat16:
            return args[0].to(torch.float32, copy=True)  # what comes after works in place
        return func(*args, **(kwargs or {}))


def keep_freed_memory() -> None:
    """Ask glibc to reuse large blocks of memory instead of giving them back to the system.

    Each training step needs the same blocks again, and a page that comes back from the system has
    to be filled with zeros first: a quarter of the time. Elsewhere than on Linux it does nothing.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "mallopt"):
        m_trim_threshold, m_mmap_threshold = -1, -3  # as malloc.h numbers them
        for n_bytes in (2**30, 2**25):  # the second is all that releases before 2.35 may take
            if libc.mallopt(m_mmap_threshold, n_bytes):
                libc.mallopt(m_trim_threshold, 2**31 - 1)
                break


def compiled(function: Callable) -> Callable:
    """`function` under `torch.compile` if there is a C++ compiler and the first call shows it works.

    Otherwise a line on stderr says so, and `function` runs as it is. A compiler may be there without
    what it needs, as on Debian without python3-dev, which has Python's headers. Errors of `function`
    itself, of shapes that do not fit or memory that does not suffice, are raised as they come.
    """
    log = logging.getLogger(__name__)
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        log.warning("slower without torch.compile: there is no C++ compiler")
        return function
    chosen, tried = torch.compile(function), False

    @functools.wraps(function)
    def call(*args, **options):
        nonlocal chosen, tried
        try:
            result = chosen(*args, **options)
        except RuntimeError as error:
            if tried or not _of_the_compiler(error):
                raise
            lines = [*str(error).splitlines(), type(error).__name__]
            reason = next((line for line in lines if "error:" in line), lines[0])
            log.warning("slower without torch.compile: %s", reason)
            chosen = function
            result = function(*args, **options)
        tried = True
        return result

    return call


def _of_the_compiler(error: RuntimeError) -> bool:
    """Whether an error says that compiling failed, and not what was compiled."""
    from torch._dynamo import exc  # only where compiling was tried: it takes seconds

    # Whatever torch.compile raises is a TorchDynamoException: what a C++ compiler says arrives in an
    # InductorError. A TorchRuntimeError is that of an operation, met while it was traced.
    own = isinstance(error, exc.TorchDynamoException)
    own = own and not isinstance(error, exc.TorchRuntimeError)
    return own and not isinstance(getattr(error, "inner_exception", None), torch.OutOfMemoryError)
