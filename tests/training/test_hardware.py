import contextlib
import os
import shutil
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from test_trainer import trainer
from torch._dynamo import exc
from torch._inductor.exc import CppCompileError, InductorError, TritonMissing

from transformer_circuits.training import hardware

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"avx512_f": True, "avx512_bf16": True}, "bf16"),
        ({"avx512_f": True, "amx_bf16": True}, "bf16"),
        ({"architecture": "arm64", "bf16": True}, "bf16"),
        ({"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, "no"),
        ({"avx2": True}, "no"),
    ],
)
def test_bf16_where_the_processor_has_instructions_for_it(monkeypatch, flags, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    assert hardware.precision(CPU) == expected


def test_without_the_library_that_uses_the_instructions_there_is_no_bf16(monkeypatch):
    """As on Apple silicon."""
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace())
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"bf16": True})
    assert hardware.precision(CPU) == "no"


def test_a_torch_that_cannot_be_asked_computes_in_float32(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert hardware.precision(CPU) == "no"


def test_a_gpu_that_only_emulates_bf16_computes_in_float32(monkeypatch):
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation
    )
    assert hardware.precision(torch.device("cuda")) == "no"


SCRIPT = """
import sys
sys.path[:0] = {tests!r}
import test_trainer as t
plain, tried = t.trainer(), t.trainer(compile=None)
list(plain.run())
list(tried.run())
assert t.torch.equal(t.weights(plain), t.weights(tried))
"""


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
    assert not torch.equal(as_it_is, in_float32)
    assert torch.allclose(as_it_is, in_float32, atol=0.02)
    assert torch.equal(as_it_is, as_it_is.bfloat16().float())
    assert not torch.equal(in_float32, in_float32.bfloat16().float())


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
    said = [line for line in result.stderr.splitlines() if "torch.compile" in line]
    assert len(said) == 1 and said[0].startswith("slower without torch.compile: ")


def failing(function):
    def call(*args, **options):
        raise RuntimeError("no compiler today")

    return call


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_memory_is_kept_where_glibc_is_and_left_alone_elsewhere(platform):
    """By what the process holds after 64 MiB were freed; in one of its own, as it cannot be undone."""
    code = f"""
import sys
from pathlib import Path
import torch
from transformer_circuits.training import hardware
sys.platform = {platform!r}
hardware.keep_freed_memory()
before = int(Path("/proc/self/statm").read_text().split()[1])
torch.ones(2**24)
print(int(Path("/proc/self/statm").read_text().split()[1]) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    n_pages = 2**26 // os.sysconf("SC_PAGESIZE")
    assert (int(done.stdout) > n_pages / 2) == (platform == "linux")


@pytest.mark.parametrize(
    ("most", "kept"), [(2**30, {-3: 2**30}), (2**25, {-3: 2**25}), (2**20, {})]
)
def test_a_glibc_that_refuses_a_large_threshold_gets_a_smaller_one(monkeypatch, most, kept):
    """To set the other alone would fix the threshold at its least, which is slower than nothing."""
    told = {}

    def mallopt(parameter, value):
        if parameter == -3 and value > most:
            return 0
        told[parameter] = value
        return 1

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(hardware.ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=mallopt))
    hardware.keep_freed_memory()
    assert told == (kept | {-1: 2**31 - 1} if kept else {})


def test_what_is_to_be_compiled_at_all_costs_says_why_it_cannot(monkeypatch):
    monkeypatch.setattr(torch, "compile", failing)
    with pytest.raises(RuntimeError, match="no compiler today"):
        next(trainer(compile=True).run())


def compiled_with(monkeypatch, error):
    """The function 7, of which a compiler would fail with this error."""

    def failing():
        raise error

    monkeypatch.setattr(torch, "compile", lambda function: failing)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    return hardware.compiled(lambda: 7)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            InductorError(CppCompileError(["c++"], "In file x:\nfatal error: Python.h"), None),
            "Python.h",
        ),
        (exc.BackendCompilerFailed(None, RuntimeError("no kernel"), None), "backend="),
        (TritonMissing(None), "Cannot find a working triton"),
        (exc.InternalTorchDynamoError("KeyError"), "KeyError"),
    ],
)
def test_what_compiling_raises_is_told_and_done_without(monkeypatch, caplog, error, reason):
    function = compiled_with(monkeypatch, error)
    assert function() == function() == 7
    (record,) = caplog.records
    assert record.message.startswith("slower without torch.compile: ") and reason in record.message


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        InductorError(torch.OutOfMemoryError("CUDA out of memory"), None),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        exc.TorchRuntimeError("shapes do not fit", traceback.StackSummary()),
    ],
)
def test_what_does_not_come_of_compiling_is_raised(monkeypatch, caplog, error):
    function = compiled_with(monkeypatch, error)
    for _ in range(2):
        with pytest.raises(type(error)) as raised:
            function()
        assert raised.value is error
    assert caplog.text == ""


def test_where_there_is_no_compiler_a_line_says_so(monkeypatch, caplog):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert hardware.compiled(max) is max
    assert caplog.messages == ["slower without torch.compile: there is no C++ compiler"]


def test_an_error_of_the_function_itself_is_not_taken_for_the_compilers(monkeypatch, caplog):
    monkeypatch.setattr(torch, "compile", lambda function: function)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    product = hardware.compiled(torch.matmul)
    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        product(torch.ones(2), torch.ones(3))
    assert caplog.text == ""
    assert product(torch.ones(2), torch.ones(2)) == 2
    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        product(torch.ones(2), torch.ones(3))
