"""No number has moved: every kept run gives its numbers again.

    python -m pytest tests/golden -n 0                  # compare
    RECORD_GOLDEN=1 python -m pytest tests/golden -n 0  # after a change that should move them

On the processor and release of PyTorch they were recorded with they must be equal to the last
digit; others round differently, and ten steps of training keep that small.
"""

import json
import os
import platform
from pathlib import Path

import pytest
import torch
from kept_runs import all_runs

PATH = Path(__file__).parent / "numbers.json"


def here() -> str:
    """Return what decides the last digits: the processor's name and instructions, and PyTorch."""
    flags = torch.backends.cpu.get_cpu_capability()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    ids = {line.split(":")[0].strip(): line.split(":")[1].strip() for line in lines if ":" in line}
    model = " ".join(ids.get(key, "") for key in ("vendor_id", "cpu family", "model"))
    return f"{platform.machine()} {model} {flags}, torch {torch.__version__}"


def test_no_number_has_moved(tiny_checkpoint, toy_data, tmp_path):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        numbers = all_runs(tiny_checkpoint, toy_data, tmp_path)
    finally:
        torch.set_num_threads(threads)
    if os.environ.get("RECORD_GOLDEN"):
        PATH.write_text(json.dumps({"machine": here(), "numbers": numbers}, indent=1) + "\n")
    kept = json.loads(PATH.read_text())
    assert numbers.keys() == kept["numbers"].keys()
    same_machine = kept["machine"] == here()
    for name, expected in kept["numbers"].items():
        for found, wanted in zip(numbers[name], expected, strict=True):
            exact = same_machine or wanted is None
            assert found == (wanted if exact else pytest.approx(wanted, rel=1e-3)), name
