"""A run that is killed goes on to the same results; Ctrl-C is one line at any moment."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import run_multitask
from heads import train
from heads.train import HeadTrainer
from runtime.commands import INTERRUPTED, leave_on_interrupt, raise_on_interrupt

ROOT = Path(__file__).parents[2]


def test_a_killed_run_resumes_to_the_same_results(tiny_checkpoint, toy_data, tmp_path):
    argv = ["--pretrain", "sup", "--task", "sts", "--data", str(toy_data)]
    argv += "--reader bi --no-baseline --device cpu --precision float32".split()
    argv += ["--backbone", str(tiny_checkpoint)]
    argv += "--simcse-steps 48 --simcse-epochs 200 --simcse-batch-size 32 --eval-steps 4".split()
    argv += ["--head-epochs", "2", "--cost-seconds", "0", "--threads", "1", "--run-dir"]
    whole, cut = tmp_path / "whole" / "r", tmp_path / "cut" / "r"
    process = subprocess.Popen(
        [sys.executable, ROOT / "run_multitask.py", *argv, cut],
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
    threads = torch.get_num_threads()
    try:
        assert run_multitask.main([*argv, str(whole)]) == 0
        assert run_multitask.main([*argv, str(cut), "--resume"]) == 0
    finally:
        torch.set_num_threads(threads)
    expected, found = (json.loads((run / "results.json").read_text()) for run in (whole, cut))
    for first, second in zip(expected, found, strict=True):
        assert first["metrics"] == second["metrics"]
        assert first["key"] == second["key"]
    (weights, *others) = whole.glob("heads/*.safetensors")
    assert not others and weights.read_bytes() == (cut / "heads" / weights.name).read_bytes()
    for predictions in whole.glob("predictions/*/*.csv"):
        assert predictions.read_bytes() == (cut / predictions.relative_to(whole)).read_bytes()
    assert (cut / "comparisons.json").read_bytes() == (whole / "comparisons.json").read_bytes()
    assert not list((tmp_path / "cut").glob("backbones/*.state.pt"))
    (notes,) = (tmp_path / "cut").glob("backbones/*sup-*/training.json")
    history = json.loads(notes.read_text())["history"]
    assert history[: len(before)] == before  # measured speeds too: nothing was done twice


TUNED = ["--tune", "full", "--rates", "5e-4"]


@pytest.mark.parametrize(
    ("flags", "again"), [([*TUNED, "--resume"], [2, 3]), (TUNED, [0, 1, 2, 3])]
)
def test_resume_reaches_a_tuned_head_and_only_when_asked(
    flags, again, tiny_checkpoint, toy_data, tmp_path, monkeypatch
):
    argv = ["--backbone", str(tiny_checkpoint), "--data", str(toy_data), "--task", "sts"]
    argv += ["--run-dir", str(tmp_path / "r"), "--head-epochs", "4", "--reader", "bi"]
    argv += ["--device", "cpu", "--precision", "float32", "--cost-seconds", "0"]
    argv += [flag for flag in flags if flag != "--resume"]
    flags = [flag for flag in flags if flag == "--resume"]
    train_to = HeadTrainer._train_to
    epochs = []

    def counted(trainer, end, tick):
        epochs.append(len(trainer.history["sts"]))
        if len(epochs) == 3:
            raise KeyboardInterrupt
        return train_to(trainer, end, tick)

    monkeypatch.setattr(train, "SAVE_STEPS", 1)
    monkeypatch.setattr(HeadTrainer, "_train_to", counted)
    assert run_multitask.main(argv) == 130
    assert run_multitask.main([*argv, *flags]) == 0
    assert epochs == [0, 1, 2, *again]
    assert not list(tmp_path.rglob("*.pt"))
    # Never from other settings: their folder is another one.
    assert run_multitask.main([*argv, "--resume", "--head-lr", "2e-2"]) == 2


def test_ctrl_c_while_libraries_load_is_one_line(monkeypatch, capsys):
    """Before `raise_on_interrupt` it ends the program at once; after it, it can be caught."""

    def ended(code):
        raise SystemExit(code)

    monkeypatch.setattr("os._exit", ended)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        leave_on_interrupt()
        with pytest.raises(SystemExit, match="130"):
            signal.raise_signal(signal.SIGINT)
        assert capsys.readouterr().err.strip() == INTERRUPTED.strip()
        raise_on_interrupt()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
