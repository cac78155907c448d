import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from transformer_circuits.training import hardware


@pytest.mark.parametrize(
    ("flags", "library", "level", "expected"),
    [
        ({"avx512_f": True, "avx512_bf16": True}, True, "AVX512", True),
        ({"avx512_f": True, "avx512_bf16": True}, True, "AVX2", False),  # told to use no more
        ({"architecture": "arm64", "bf16": True}, True, "DEFAULT", True),
        ({"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, True, "AVX512", False),
        ({"bf16": True}, False, "DEFAULT", False),  # as on Apple silicon
    ],
)
def test_bf16_where_processor_and_library_can(monkeypatch, flags, library, level, expected):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: level)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: library)
    assert bool(hardware.has_bfloat16(torch.device("cpu"))) is expected


def test_without_bfloat16_muon_steps_alike_up_to_its_rounding(generator):
    steps = []
    for context in (contextlib.nullcontext(), hardware.WithoutBfloat16()):
        weight = torch.nn.Parameter(torch.zeros(24, 40))
        weight.grad = torch.randn(24, 40, generator=generator.manual_seed(7))
        optimizer = torch.optim.Muon([weight], lr=1.0, weight_decay=0.0)
        with context:
            optimizer.step()
        steps.append(weight.detach().clone())
    as_it_is, in_float32 = steps
    assert torch.allclose(as_it_is, in_float32, atol=0.02)
    assert torch.equal(as_it_is, as_it_is.bfloat16().float())
    assert not torch.equal(in_float32, in_float32.bfloat16().float())


SCRIPT = """
import sys
sys.path[:0] = {tests!r}
import test_trainer as t
plain, tried = t.trainer(), t.trainer(compile=None)
list(plain.run())
list(tried.run())
assert t.torch.equal(t.weights(plain), t.weights(tried))
"""


def test_a_compiler_that_does_not_work_is_not_needed(tmp_path):
    """Training goes on without it, and a line says so."""
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho 'fatal error: Python.h: No such file'; exit 1\n")
    compiler.chmod(0o755)
    place = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "CXX": str(compiler),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
    }
    script = SCRIPT.format(tests=[str(Path(__file__).parent), str(Path(__file__).parents[1])])
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | place
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("slower without torch.compile: ") == 1
