"""A run that is killed goes on to the same results; Ctrl-C is one line at any moment."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from toy_runs import start

from runtime.commands import INTERRUPTED

ROOT = Path(__file__).parents[2]


def test_a_killed_run_resumes_to_the_same_results(tiny_checkpoint, toy_data, tmp_path):
    argv = ["--pretrain", "sup", "--task", "sts", "--device", "cpu"]
    argv += ["--backbone", tiny_checkpoint, "--data", toy_data, "--precision", "float32"]
    argv += ["--simcse-steps", "72", "--simcse-epochs", "200", "--eval-steps", "6"]
    argv += ["--head-epochs", "3", "--cost-seconds", "0"]
    whole, cut = tmp_path / "whole" / "r", tmp_path / "cut" / "r"
    assert start(*argv, "--run-dir", whole).returncode == 0
    expected = json.loads((whole / "results.json").read_text())
    process = subprocess.Popen(
        [sys.executable, ROOT / "run_multitask.py", *argv, "--run-dir", cut],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 300
    while not list((tmp_path / "cut").glob("backbones/*.state.pt")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait(timeout=60)
    states = list((tmp_path / "cut").glob("backbones/*.state.pt"))
    assert states, "interrupted too late to test"
    before = torch.load(states[0], weights_only=True)["progress"]["history"]
    assert start(*argv, "--run-dir", cut, "--resume").returncode == 0
    found = json.loads((cut / "results.json").read_text())
    for first, second in zip(expected, found, strict=True):
        assert first["metrics"] == second["metrics"]
        assert first["key"] == second["key"]
    assert not list((tmp_path / "cut").glob("backbones/*.state.pt"))
    (notes,) = (tmp_path / "cut").glob("backbones/sup-*/training.json")
    history = json.loads(notes.read_text())["history"]
    assert history[: len(before)] == before  # measured speeds too: nothing was done twice


@pytest.mark.parametrize("ended", [False, True])
def test_ctrl_c_while_libraries_load_is_one_line(ended):
    """Before `raise_on_interrupt` it ends the program at once; after it, it can be caught."""
    script = (
        "import os, signal; from runtime.commands import *\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"leave_on_interrupt()\nif {ended}: raise_on_interrupt()\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n    os._exit(7)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert done.returncode == (7 if ended else 130)
    assert done.stderr.strip() == ("" if ended else INTERRUPTED.strip())
