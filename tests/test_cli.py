"""The command line as a user meets it: help, exit codes, one error line, Ctrl-C, resume."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from report.options import build_parser

ROOT = Path(__file__).parents[1]
SMALL = ["--simcse-steps", "4", "--eval-steps", "2", "--head-epochs", "2", "--device", "cpu"]


def run(*argv, **kwargs) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "run_multitask.py"), *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **kwargs)


def test_help_names_every_flag_without_loading_torch():
    script = (
        "import sys, runpy\n"
        "sys.argv = ['run_multitask.py', '--help']\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "try:\n"
        f"    runpy.run_path({str(ROOT / 'run_multitask.py')!r}, run_name='__main__')\n"
        "finally:\n"
        "    assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for action in build_parser()._actions:
        assert action.option_strings[-1] in done.stdout
        assert action.help


@pytest.mark.parametrize(
    "flags",
    [
        *(["--seeds", "0"], ["--temperature", "0"], ["--temperature", "nan"], ["--task", "mnli"]),
        *(["--simcse-lr", "fast"], ["--simcse-max-length", "2"], ["--seed", "-1"], ["--nonsense"]),
    ],
)
def test_wrong_flags_are_refused_with_exit_2(flags):
    done = run(*flags)
    assert done.returncode == 2
    assert "error: " in done.stderr and "Traceback" not in done.stderr


def refused(tmp_path, *argv) -> str:
    """Run a command that must fail cleanly; return its error line."""
    done = run(*SMALL, *argv, "--run-dir", tmp_path / "runs" / "r")
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert done.returncode == 2, done.stderr
    assert len(lines) == 1 and lines[0].startswith("error: "), done.stderr
    left = [path for path in tmp_path.rglob("*") if path.is_file() and "runs" in path.parts]
    assert not left
    return lines[0]


def test_what_is_missing_is_named_in_one_line(tiny_checkpoint, toy_data, tmp_path):
    backbone, data = ["--backbone", tiny_checkpoint], ["--data", toy_data]
    assert "nowhere" in refused(tmp_path, "--backbone", "./nowhere", *data)
    assert "nowhere" in refused(tmp_path, *backbone, "--data", "./nowhere")
    sup = ["--pretrain", "sup", "--sup-data", "nowhere.csv"]
    assert "nowhere.csv" in refused(tmp_path, *backbone, *data, *sup)
    assert "no CUDA device" in refused(tmp_path, *backbone, *data, "--device", "cuda")


def test_a_bad_label_is_named_with_file_and_line(tiny_checkpoint, toy_data, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for path in toy_data.iterdir():
        (folder / path.name).write_text(path.read_text())
    bad = folder / "sts-dev.csv"
    lines = bad.read_text().splitlines()
    lines[3] = lines[3].rpartition("\t")[0] + "\t7.5"
    bad.write_text("\n".join(lines) + "\n")
    error = refused(tmp_path, "--task", "sts", "--backbone", tiny_checkpoint, "--data", folder)
    assert f"{bad}:4" in error and "7.5" in error


@pytest.mark.parametrize("content", ["", "\n\n", "a\udcff"])
def test_an_unusable_sentence_file_is_named(content, tiny_checkpoint, toy_data, tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    argv = ["--pretrain", "unsup", "--unsup-data", path, "--backbone", tiny_checkpoint]
    done = run(*argv, "--data", toy_data, "--run-dir", tmp_path / "r", *SMALL)
    assert done.returncode == 2
    assert str(path) in done.stderr and "Traceback" not in done.stderr


def test_dry_run_prints_the_plan_and_writes_nothing(tiny_checkpoint, toy_data, tmp_path):
    done = run(
        *("--pretrain", "none", "sup", "--task", "all", "--encoder", "bi", "cross", "--dry-run"),
        *("--backbone", tiny_checkpoint, "--data", toy_data, "--run-dir", tmp_path / "r"),
    )
    assert done.returncode == 0
    assert "sts/cross" in done.stdout and "48 train, 16 dev, 8 test" in done.stdout
    assert not (tmp_path / "r").exists()


def test_a_run_dir_that_cannot_be_written_is_one_line(tiny_checkpoint, toy_data, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run("--backbone", tiny_checkpoint, "--data", toy_data, "--run-dir", tmp_path / "file/r")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "error: " in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_resumes_to_the_same_results(how, tiny_checkpoint, toy_data, tmp_path):
    argv = ["--pretrain", "sup", "--task", "sts", "--encoder", "bi", "cross", "--device", "cpu"]
    argv += ["--backbone", tiny_checkpoint, "--data", toy_data, "--precision", "float32"]
    argv += ["--simcse-steps", "240", "--simcse-epochs", "200", "--eval-steps", "20"]
    argv += ["--head-epochs", "3"]
    whole, cut = tmp_path / "whole" / "r", tmp_path / "cut" / "r"
    assert run(*argv, "--run-dir", whole).returncode == 0
    command = [sys.executable, ROOT / "run_multitask.py", *argv, "--run-dir", cut]
    process = subprocess.Popen(
        list(map(str, command)),
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
    assert list((tmp_path / "cut").glob("backbones/*.state.pt")), "interrupted too late to test"
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "--resume" in errors and "Traceback" not in errors
    assert run(*argv, "--run-dir", cut, "--resume").returncode == 0
    results = [json.loads((folder / "results.json").read_text()) for folder in (whole, cut)]
    for first, second in zip(*results, strict=True):
        assert first["metrics"] == second["metrics"]
        assert first["key"] == second["key"]
    assert not list((tmp_path / "cut").glob("backbones/*.state.pt"))
