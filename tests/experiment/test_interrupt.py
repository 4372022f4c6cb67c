"""Ctrl-C and worse: one line that says how to go on, and the same results afterwards."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from command import ROOT, command, start

from runtime.commands import INTERRUPTED


@pytest.fixture(scope="module")
def undisturbed(tiny_checkpoint, toy_data, tmp_path_factory):
    """Run a command to its end; return its arguments and its results."""
    argv = ["--pretrain", "sup", "--task", "sts", "--encoder", "bi", "cross", "--device", "cpu"]
    argv += ["--backbone", tiny_checkpoint, "--data", toy_data, "--precision", "float32"]
    argv += ["--simcse-steps", "72", "--simcse-epochs", "200", "--eval-steps", "6"]
    argv += ["--head-epochs", "3", "--cost-seconds", "0"]
    whole = tmp_path_factory.mktemp("whole") / "r"
    assert start(*argv, "--run-dir", whole).returncode == 0
    return argv, json.loads((whole / "results.json").read_text())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_resumes_to_the_same_results(how, undisturbed, tmp_path):
    argv, expected = undisturbed
    cut = tmp_path / "cut" / "r"
    process = subprocess.Popen(
        command(*argv, "--run-dir", cut),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # A background shell hands down an ignored SIGINT; a terminal, as users have, does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "cut").glob("backbones/*.state.pt")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    states = list((tmp_path / "cut").glob("backbones/*.state.pt"))
    assert states, "interrupted too late to test"
    before = torch.load(states[0], weights_only=True)["progress"]["history"]
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "--resume" in errors and "Traceback" not in errors
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
