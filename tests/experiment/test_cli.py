"""The command line as a user meets it: help, exit codes, one error line."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from toy_runs import SMALL, start

import run_multitask
from experiment.settings import Settings
from runtime.options import build_parser

ROOT = Path(__file__).parents[2]


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
    lines = done.stdout.splitlines()
    assert len(lines) <= 62 and max(map(len, lines)) <= 88
    for action in build_parser(Settings)._actions:
        shown = action.help != argparse.SUPPRESS
        assert (f"{action.option_strings[-1]} " in f"{done.stdout} ") == shown


def test_help_all_explains_every_flag(capsys):
    with pytest.raises(SystemExit):
        run_multitask.main(["--help-all"])
    text = capsys.readouterr().out
    for action in build_parser(Settings, show_rare=True)._actions:
        assert action.option_strings[-1] in text and action.help != argparse.SUPPRESS


@pytest.mark.parametrize(
    "flags",
    [
        *(["--seeds", "0"], ["--temperature", "0"], ["--temperature", "nan"], ["--task", "mnli"]),
        *(["--simcse-lr", "fast"], ["--simcse-max-length", "2"], ["--seed", "-1"], ["--nonsense"]),
    ],
)
def test_wrong_flags_are_refused_with_exit_2(flags):
    done = start(*flags)
    assert done.returncode == 2
    assert "error: " in done.stderr and "Traceback" not in done.stderr


def refused(tmp_path, *argv) -> str:
    """Run a command that must fail cleanly; return its error line."""
    done = start(*SMALL, *argv, "--run-dir", tmp_path / "runs" / "r")
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert done.returncode == 2, done.stderr
    assert len(lines) == 1 and lines[0].startswith("error: "), done.stderr
    left = [path for path in tmp_path.rglob("*") if path.is_file() and "runs" in path.parts]
    assert not left
    return lines[0]


def test_what_is_missing_is_named_in_one_line(tiny_checkpoint, toy_data, tmp_path):
    data = ["--data", toy_data]
    assert "nowhere" in refused(tmp_path, "--backbone", "./nowhere", *data)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_gpu_that_is_not_there_is_refused(tiny_checkpoint, toy_data, tmp_path):
    argv = ["--backbone", tiny_checkpoint, "--data", toy_data, "--device", "cuda"]
    assert "no CUDA device" in refused(tmp_path, *argv)


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
    done = start(*argv, "--data", toy_data, "--run-dir", tmp_path / "r", *SMALL)
    assert done.returncode == 2
    assert str(path) in done.stderr and "Traceback" not in done.stderr


def test_a_run_dir_that_cannot_be_written_is_one_line(tiny_checkpoint, toy_data, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = start(
        "--backbone", tiny_checkpoint, "--data", toy_data, "--run-dir", tmp_path / "file/r"
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "error: " in done.stderr
