"""The command line as a user meets it: help, exit codes, one error line, Ctrl-C, resume."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest
import torch
from report.interrupt import INTERRUPTED
from report.options import build_parser, given_settings, parse_options
from safetensors.torch import load_file, save_file

from heads.config import TASKS, HeadConfig, head_config
from run_multitask import main, simcse_settings
from simcse.config import SimCSEConfig, simcse_config

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


def test_help_tells_the_presets():
    """Every value of a preset that a flag would override stands in that flag's help."""
    told = {action.dest: action.help for action in build_parser()._actions}
    simcse = ("max_steps", "num_epochs", "batch_size", "learning_rate", "eval_steps")
    head = ("num_epochs", "batch_size", "learning_rate", "backbone_learning_rate")
    for preset in ("quick", "report", "paper"):
        settings = [("simcse", simcse, simcse_config(preset, kind)) for kind in ("unsup", "sup")]
        settings += [("head", head, head_config(preset, "full", task)) for task in TASKS]
        settings += [("head", head[:3], head_config(preset, "frozen", task)) for task in TASKS]
        for stage, names, config in settings:
            for name in names:
                value = getattr(config, name)
                shown = f"{value:.0e}".replace("e-0", "e-") if name.endswith("rate") else value
                words = re.split(r"[\s(),;:]+", told[f"{stage}_{name}"])
                assert value is None or str(shown) in words, (preset, stage, name, value)


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
    data = ["--data", toy_data]
    assert "nowhere" in refused(tmp_path, "--backbone", "./nowhere", *data)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_gpu_that_is_not_there_is_refused(tiny_checkpoint, toy_data, tmp_path):
    argv = ["--backbone", tiny_checkpoint, "--data", toy_data, "--device", "cuda"]
    assert "no CUDA device" in refused(tmp_path, *argv)


def test_missing_data_is_named_in_one_line(tiny_checkpoint, toy_data, tmp_path, capsys):
    sup = ["--data", toy_data, "--pretrain", "sup", "--sup-data", "nowhere.csv"]
    for argv in (["--data", "./nowhere"], sup):
        argv = ["--backbone", tiny_checkpoint, *argv]
        code, lines, left = in_process(tmp_path, capsys, *argv)
        assert code == 2 and len(lines) == 1 and not left
        assert lines[0].startswith("error: ") and "nowhere" in lines[0]


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


@pytest.fixture(scope="module")
def undisturbed(tiny_checkpoint, toy_data, tmp_path_factory):
    """Run a command to its end; return its arguments and its results."""
    argv = ["--pretrain", "sup", "--task", "sts", "--encoder", "bi", "cross", "--device", "cpu"]
    argv += ["--backbone", tiny_checkpoint, "--data", toy_data, "--precision", "float32"]
    argv += ["--simcse-steps", "72", "--simcse-epochs", "200", "--eval-steps", "6"]
    argv += ["--head-epochs", "3"]
    whole = tmp_path_factory.mktemp("whole") / "r"
    assert run(*argv, "--run-dir", whole).returncode == 0
    return argv, json.loads((whole / "results.json").read_text())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_resumes_to_the_same_results(how, undisturbed, tmp_path):
    argv, expected = undisturbed
    cut = tmp_path / "cut" / "r"
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
    states = list((tmp_path / "cut").glob("backbones/*.state.pt"))
    assert states, "interrupted too late to test"
    before = torch.load(states[0], weights_only=True)["progress"]["history"]
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "--resume" in errors and "Traceback" not in errors
    assert run(*argv, "--run-dir", cut, "--resume").returncode == 0
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
        "import os, signal; from report.interrupt import *\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"leave_on_interrupt()\nif {ended}: raise_on_interrupt()\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n    os._exit(7)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == (7 if ended else 130)
    assert done.stderr.strip() == ("" if ended else INTERRUPTED.strip())


def in_process(tmp_path, capsys, *argv) -> tuple[int, list[str], list[Path]]:
    """Run a command here, for speed: its exit code, its errors, the files that it left."""
    options = [*SMALL, *argv, "--run-dir", tmp_path / "runs" / "r"]
    code = main(parse_options(list(map(str, options))))
    lines = [line for line in capsys.readouterr().err.splitlines() if line[:6] != "note: "]
    return code, lines, [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]


def broken(checkpoint, folder, damage) -> Path:
    """Copy a checkpoint and break it."""
    shutil.copytree(checkpoint, folder)
    if damage == "truncated weights":
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:5000])
    elif damage == "no config":
        (folder / "config.json").unlink()
    elif damage == "no tokenizer":
        for name in ("tokenizer.json", "vocab.txt"):
            (folder / name).unlink(missing_ok=True)
    else:
        name, _, content = damage.partition("=")
        (folder / "modules.json").write_text("[]")
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize("damage", ["truncated weights", "no config", "no tokenizer"])
def test_a_broken_checkpoint_is_one_line(damage, tiny_checkpoint, toy_data, tmp_path, capsys):
    folder = broken(tiny_checkpoint, tmp_path / "bert", damage)
    argv = ["--backbone", folder, "--data", toy_data, "--task", "sts"]
    code, lines, _ = in_process(tmp_path, capsys, *argv)
    assert code == 2
    assert len(lines) == 1 and lines[0].startswith("error: ") and str(folder) in lines[0]


@pytest.mark.parametrize(
    "damage",
    [
        *("modules.json=7", 'modules.json=[{"a": 1}]', "sentence_bert_config.json=[]"),
        'sentence_bert_config.json={"max_seq_length": "x"}',
    ],
)
def test_broken_pooling_files_are_one_line(damage, tiny_checkpoint, toy_data, tmp_path, capsys):
    folder = broken(tiny_checkpoint, tmp_path / "bert", damage)
    argv = ["--backbone", folder, "--data", toy_data, "--task", "sts"]
    code, lines, _ = in_process(tmp_path, capsys, *argv)
    assert code == 2 and len(lines) == 1


@pytest.mark.parametrize("wrong", ["checkpoint", "triplet", "sentences", "length"])
def test_wrong_inputs_leave_no_run_folder(wrong, tiny_checkpoint, toy_data, tmp_path, capsys):
    file = tmp_path / "training"
    file.write_text("" if wrong == "sentences" else "a,b,c\nthe cat,,the dog\n")
    argv = {
        "checkpoint": [],
        "triplet": ["--pretrain", "none", "sup", "--sup-data", file],
        "sentences": ["--pretrain", "unsup", "--unsup-data", file],
        "length": ["--pretrain", "sup", "--simcse-max-length", "100000"],
    }[wrong]
    backbone = tiny_checkpoint
    if wrong == "checkpoint":
        backbone = broken(tiny_checkpoint, tmp_path / "bert", "truncated weights")
    argv += ["--backbone", backbone, "--data", toy_data, "--task", "sts"]
    code, lines, left = in_process(tmp_path, capsys, *argv)
    assert code == 2 and len(lines) == 1
    assert not left


def test_a_folder_with_one_task_is_refused_for_all(tiny_checkpoint, toy_data, tmp_path, capsys):
    folder = tmp_path / "only sts"
    folder.mkdir()
    for path in toy_data.glob("sts-*"):
        shutil.copy(path, folder)
    argv = ["--backbone", tiny_checkpoint, "--data", folder, "--task", "all"]
    code, lines, left = in_process(tmp_path, capsys, *argv)
    assert code == 2 and len(lines) == 1 and not left
    assert "ids-sst-train.csv" in lines[0] and str(folder) in lines[0]


@pytest.mark.parametrize(
    "flags", [["--seed", str(2**32 - 1), "--seeds", "2"], ["--threads", str(2**31)]]
)
def test_numbers_too_large_are_refused(flags, tiny_checkpoint, toy_data, tmp_path, capsys):
    argv = ["--backbone", tiny_checkpoint, "--data", toy_data, "--task", "sts", *flags]
    try:
        code, _, left = in_process(tmp_path, capsys, *argv)
    except SystemExit as stop:
        code, left = stop.code, []
    assert code == 2 and not left


def test_an_ascii_terminal_shows_the_table(tiny_checkpoint, toy_data, tmp_path):
    argv = ["--backbone", tiny_checkpoint, "--data", toy_data, "--task", "sts", "--seeds", "2"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = run(*SMALL, *argv, "--run-dir", tmp_path / "r", env=env)
    assert done.returncode == 0 and "Traceback" not in done.stderr


def test_single_values_are_fields_of_their_stages_settings():
    for stage, config in (("simcse", SimCSEConfig), ("head", HeadConfig)):
        names = [name for name in vars(parse_options([])) if name.startswith(f"{stage}_")]
        assert {name.removeprefix(f"{stage}_") for name in names} < {f.name for f in fields(config)}
        assert len(names) >= 4 and given_settings(parse_options([]), stage) == {}
    args = parse_options("--symmetric --compile --simcse-lr 1e-4 --head-epochs 3".split())
    given = {"symmetric": True, "compile": True, "learning_rate": 1e-4}
    assert given_settings(args, "simcse") == given
    assert given_settings(args, "head") == {"num_epochs": 3}


def test_epochs_that_are_asked_for_are_not_cut_by_the_presets_steps():
    def settings(flags):
        return simcse_settings(parse_options(flags.split()), "sup", 42)

    assert (settings("").num_epochs, settings("").max_steps) == (1, 160)
    assert settings("--simcse-epochs 3").max_steps is None
    assert settings("--simcse-epochs 3 --simcse-steps 480").max_steps == 480
    assert settings("--simcse-steps 480").max_steps == 480


def test_a_backbone_of_one_segment_is_refused_pairs_before_tuning(
    tiny_checkpoint, toy_data, tmp_path, capsys
):
    single = tmp_path / "single"
    shutil.copytree(tiny_checkpoint, single)
    config = json.loads((single / "config.json").read_text())
    (single / "config.json").write_text(json.dumps({**config, "type_vocab_size": 1}))
    tensors = load_file(single / "model.safetensors")
    (name,) = [name for name in tensors if "token_type" in name]
    save_file({**tensors, name: tensors[name][:1].clone()}, single / "model.safetensors")
    argv = ["--backbone", single, "--data", toy_data, "--pretrain", "sup", "--task", "sts"]
    code, error, left = in_process(tmp_path, capsys, *argv, "--encoder", "cross")
    assert code == 2 and "one segment only" in error[-1] and left == []
