"""Hardware for training: bfloat16, a compiler, and attention for that."""

import logging
import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from transformer_circuits.model.transformer import causal_results


def has_bfloat16(device: torch.device) -> bool:
    """True if the device has instructions for bfloat16, so that mixed precision is faster."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    # Told to use no more than AVX2, torch compiles a loss in bfloat16 that reads beyond its memory.
    if torch.backends.cpu.get_cpu_capability() == "AVX2":
        return False
    # Flags of Intel and AMD, then of Arm; older releases of torch cannot be asked.
    flags = getattr(torch.cpu, "get_capabilities", dict)()
    named = any(flags.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))
    return named and torch.backends.mkldnn.is_available()


class WithoutBfloat16(TorchFunctionMode):
    """Mode in which Muon computes in float32, not bfloat16: `with WithoutBfloat16(): optimizer.step()`.

    `torch.optim.Muon` turns its matrices into bfloat16 on every device. A processor without
    instructions for it emulates them: two thirds of a training step.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.bfloat16:
            return args[0].to(torch.float32, copy=True)  # what comes after works in place
        return func(*args, **(kwargs or {}))


def compiles(device: torch.device) -> bool:
    """True if `torch.compile` works, tried on one small function; else stderr says why not.

    A compiler may be there without its own requirements, as on Debian without python3-dev.
    """
    try:
        torch.compile(torch.sin)(torch.ones(16, device=device))
    except Exception as error:  # whatever is missing, training goes on without it
        logging.getLogger(__name__).warning("slower without torch.compile: %s", error)
        return False
    return True


BLOCK = 128
"""Destinations that `causal_blocks` treats at once."""


def causal_blocks(
    q: Float[Tensor, "batch head pos d_head"],
    k: Float[Tensor, "batch head pos d_head"],
    v: Float[Tensor, "batch head pos d_head"],
) -> Float[Tensor, "batch head pos d_head"]:
    """Values of `causal_results` up to rounding, twice as fast where a CPU's compiler makes them.

    Nothing is computed above the diagonal except inside the last block of each. Where nothing is
    compiled, and on other devices, PyTorch's own is faster, and is taken.
    """
    if q.device.type != "cpu" or not torch.compiler.is_compiling():
        return causal_results(q, k, v)
    n_pos, blocks = q.shape[2], []
    for first in range(0, n_pos, BLOCK):
        last = min(first + BLOCK, n_pos)
        scores = q[:, :, first:last] @ k[:, :, :last].mT
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        scores = scores / math.sqrt(q.shape[-1])
        destination, source = torch.arange(first, last)[:, None], torch.arange(last)
        pattern = scores.masked_fill(source > destination, -math.inf).softmax(dim=-1)
        blocks.append(pattern.to(v.dtype) @ v[:, :, :last])
    return torch.cat(blocks, dim=2)
