"""Too little memory ends every command line in one line, of whatever library it comes."""

import errno
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import run_multitask
from evaluation import command
from evaluation.__main__ import main as evaluation_main
from minbert import checkpoint
from runtime.commands import exit_code, shortage_told
from runtime.errors import MachineError
from runtime.progress import progress

MUCH = 2**55  # bytes: more than processors address


def raising(error: Exception):
    def work(*arguments):
        raise error

    return work


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda: bytearray(MUCH), "not enough memory; take"),
        (lambda: np.ones(MUCH, np.uint8), "memory (32.0 PiB more were asked for); take"),
        (lambda: torch.ones(MUCH, dtype=torch.uint8), f"memory ({MUCH} bytes more were asked for)"),
        (
            raising(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU")),
            "memory (20.00 MiB more were asked for); take",
        ),
        (raising(RuntimeError("std::bad_alloc")), "not enough memory; take"),
        (raising(OSError(errno.ENOMEM, "Cannot allocate memory")), "not enough memory; take"),
        (
            raising(ImportError("libgfortran.so: failed to map segment from shared object")),
            "not enough memory; take",
        ),
    ],
)
def test_every_library_s_shortage_is_one_line(work, told, capsys):
    assert exit_code(work) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: not enough memory") and told in message
    assert "batch-size" in message and message.count("\n") == 1


def test_the_innermost_step_is_named():
    with (
        pytest.raises(MachineError, match="not enough memory in the step 'encode'; take"),
        shortage_told(),
        progress("index", 1, "text"),
        progress("encode", 1, "text"),
    ):
        raise MemoryError


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("sizes must match"),
        OSError(errno.ENOSPC, "No space left on device"),
        ImportError("No module named 'onnx'"),
    ],
)
def test_other_errors_stay_as_they_are(error):
    with pytest.raises(type(error)) as caught, shortage_told():
        raise error
    assert caught.value is error


@pytest.mark.parametrize(
    ("module", "work", "main"),
    [
        (run_multitask, "run", lambda _: run_multitask.main([])),
        (command, "evaluate", lambda _: evaluation_main(["--backbone", "mini"])),
    ],
)
def test_command_lines_with_code_of_their_own_tell_it_too(module, work, main, monkeypatch, capsys):
    monkeypatch.setattr(module, work, raising(MemoryError()))
    assert main(None) == 2
    assert capsys.readouterr().err.startswith("error: not enough memory; take")


def test_a_checkpoint_is_not_blamed(monkeypatch, tmp_path):
    shortage = RuntimeError("DefaultCPUAllocator: can't allocate memory")
    monkeypatch.setattr(checkpoint, "load_file", raising(shortage))
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator"):
        checkpoint.read_file(tmp_path / "model.safetensors")


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_a_command_under_a_real_limit(tmp_path):
    rows = "".join(f"premise {n}\thypothesis {n}\tentailment\n" for n in range(100_000))
    (tmp_path / "nli.tsv").write_text(f"premise\thypothesis\tlabel\n{rows}")
    program = (
        "import resource, sys; from data.triplets import main;"
        "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (now + 2**24, -1));"  # 36 MB are needed
        "sys.exit(main(sys.argv[1:]))"
    )
    made = tmp_path / "nli.csv"
    done = subprocess.run(
        [sys.executable, "-c", program, "nli", tmp_path / "nli.tsv", "--out", made],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: not enough memory") and done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["nli.tsv"]
