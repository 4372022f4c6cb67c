"""Device, precision and random numbers: what is asked for, or what the machine has."""

import ctypes
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from report.run_folder import provenance
from runtime.device import (
    autocast,
    choose_device,
    choose_precision,
    instructions,
)
from runtime.errors import MachineError
from runtime.training import random_state, restore_random_state, set_seed

CPU = torch.device("cpu")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("there", "expected"), [(True, "cuda"), (False, "cpu")])
def test_auto_takes_a_gpu_where_there_is_one(there, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert choose_device() == choose_device("auto") == torch.device(expected)
    assert choose_device("cpu") == CPU


def test_a_gpu_that_is_not_there_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:1"):
        with pytest.raises(MachineError, match=f"device {device}: .*--device cpu"):
            choose_device(device)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"amx_bf16": True, "avx512_bf16": False}, torch.bfloat16),
        ({"avx512_bf16": False, "avx2": True}, torch.float32),
        ({}, torch.float32),
    ],
)
def test_auto_precision_is_what_the_processor_multiplies(flags, expected, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags, raising=False)
    assert choose_precision("auto", CPU) == expected
    assert choose_precision("float32", CPU) == torch.float32
    assert choose_precision("bfloat16", CPU) == torch.bfloat16


def test_a_torch_that_cannot_tell_gets_float32(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert choose_precision("auto", CPU) == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_products_run_in_the_precision_asked_for(dtype):
    with autocast(CPU, dtype):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


PAGES_OF_A_SECOND_PASS = """
import resource, torch
from runtime.device import keep_memory
def pages():
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        arrays = [torch.ones(2**20) for _ in range(25)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
left = pages()
keep_memory()
print(left, pages())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts the pages that Linux maps")
def test_kept_memory_is_not_mapped_again():
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("a C library without such limits")
    command = [sys.executable, "-c", PAGES_OF_A_SECOND_PASS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    left, kept = map(int, done.stdout.split())
    assert kept < left / 3


def drawn():
    return random.random(), np.random.rand(), torch.rand(1).item()


def test_a_seed_sets_every_generator():
    set_seed(3)
    first = drawn()
    assert drawn() != first
    set_seed(3)
    assert drawn() == first


def test_random_numbers_are_drawn_again_from_a_state():
    state = random_state()
    first = torch.rand(5)
    torch.rand(7)
    restore_random_state(state)
    assert torch.equal(torch.rand(5), first)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"avx2": True, "avx512_f": True, "avx512_bf16": True, "amx_bf16": True}, "amx_bf16"),
        ({"avx2": True, "avx512_f": True, "avx512_bf16": True, "amx_bf16": False}, "avx512_bf16"),
        ({"avx2": True}, "avx2"),
        ({}, "other"),
    ],
)
def test_a_processor_is_named_by_its_widest_instructions(flags, expected, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags, raising=False)
    assert instructions() == expected
    assert f" ({expected}), " in provenance()["machine"]
