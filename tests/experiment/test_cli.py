"""The command line as a user meets it: help, and for whatever is wrong one line and exit code 2."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

import run_multitask
from experiment.settings import Settings
from minbert.encoder import SentenceEncoder
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
    assert len(lines) <= 98 and max(map(len, lines)) <= 92
    for action in build_parser(Settings)._actions:
        shown = action.help != argparse.SUPPRESS
        assert (f"{action.option_strings[-1]} " in f"{done.stdout} ") == shown


def test_help_all_explains_every_flag(capsys):
    with pytest.raises(SystemExit):
        run_multitask.main(["--help-all"])
    text = capsys.readouterr().out
    for action in build_parser(Settings, show_rare=True)._actions:
        (flag,) = set(action.option_strings) - {"-h"}
        earlier = flag == "--encoder"  # of --reader: read, but not shown
        assert (f"{flag} " in text, action.help != argparse.SUPPRESS) == (not earlier,) * 2


def with_cut_weights(checkpoint: Path, folder: Path) -> list:
    shutil.copytree(checkpoint, folder)
    os.truncate(folder / "model.safetensors", 5000)
    return ["--backbone", folder]


def of_one_segment(checkpoint: Path, folder: Path) -> list:
    shutil.copytree(checkpoint, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "type_vocab_size": 1}))
    tensors = load_file(folder / "model.safetensors")
    (name,) = [name for name in tensors if "token_type" in name]
    save_file({**tensors, name: tensors[name][:1].clone()}, folder / "model.safetensors")
    return ["--backbone", folder, "--reader", "cross"]


def without_pooler(checkpoint: Path, folder: Path) -> list:
    encoder = SentenceEncoder.from_pretrained(str(checkpoint), device="cpu", precision="float32")
    encoder.model.pooler = None
    encoder.save(folder)
    return ["--backbone", folder, "--pretrain", "sup", "none", "--pooling", "cls"]


def written(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def some_of(data: Path, folder: Path, kept: str) -> Path:
    folder.mkdir()
    for path in data.glob(kept):
        shutil.copy(path, folder)
    return folder


def with_a_bad(column: int, value: str, data: Path, folder: Path) -> list:
    """Change one value in the fourth line of the dev file of STS."""
    bad = some_of(data, folder, "*") / "sts-dev.csv"
    lines = [line.split("\t") for line in bad.read_text().splitlines()]
    lines[3][column] = value
    bad.write_text("".join("\t".join(line) + "\n" for line in lines))
    return ["--data", folder]


# Name -> what makes flags of a checkpoint, a data folder and an empty folder; words of the line.
WRONG = {
    "no backbone": (lambda c, d, f: ["--backbone", "./nowhere"], ("nowhere",)),
    "no data": (lambda c, d, f: ["--data", "./nowhere"], ("nowhere",)),
    "no triplets": (
        lambda c, d, f: ["--pretrain", "sup", "--sup-data", "nowhere.csv"],
        ("nowhere.csv",),
    ),
    "no pairs": (lambda c, d, f: ["--pretrain", "sbert"], ("give --sbert-data FILE",)),
    "no sentences": (
        lambda c, d, f: ["--pretrain", "ct", "--unsup-data", "none.txt"],
        ("--pretrain ct: no file none.txt; give --unsup-data FILE",),
    ),
    "cut weights": (lambda c, d, f: with_cut_weights(c, f / "bert"), ("bert",)),
    "no pooler": (lambda c, d, f: without_pooler(c, f / "bert"), ("needs a pooler",)),
    "no head": (
        lambda c, d, f: ["--tune", "none", "--reader", "cross"],
        ("--tune none: ", "tiny has no classification head; give a published cross-"),
    ),
    "too few rows": (lambda c, d, f: ["--train-rows", "49"], ("sts has 48 training examples",)),
    "too few to choose by": (
        lambda c, d, f: ["--rates", "1e-4", "1e-3", "--tune", "full"],
        ("to choose by; give one rate",),
    ),
    "half a triplet": (
        lambda c, d, f: [
            *("--pretrain", "none", "sup", "--sup-data"),
            written(f / "training", "a,b,c\nthe cat,,the dog\n"),
        ],
        ("training",),
    ),
    "too long": (
        lambda c, d, f: ["--pretrain", "sup", "--simcse-max-length", "100000"],
        ("100000",),
    ),
    "one task": (
        lambda c, d, f: ["--data", some_of(d, f / "sts", "sts-*"), "--task", "all"],
        ("ids-sst-train.csv",),
    ),
    "a bad label": (lambda c, d, f: with_a_bad(-1, "7.5", d, f / "sts"), ("sts-dev.csv:4", "7.5")),
    "a forged prediction": (
        lambda c, d, f: with_a_bad(1, "a , 1.0", d, f / "sts"),
        ("sts-dev.csv:4", "would separate predictions"),
    ),
    "a file in the way": (
        lambda c, d, f: ["--run-dir", written(f / "file", "in the way") / "r"],
        ("file",),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_one_line_and_leaves_no_run(
    start, wrong, tiny_checkpoint, toy_data, tmp_path, capsys
):
    flags, words = WRONG[wrong]
    argv = ["--task", "sts", *map(str, flags(tiny_checkpoint, toy_data, tmp_path))]
    assert start(tmp_path / "runs" / "r", *argv) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line[:6] != "note: "]
    assert len(lines) == 1 and lines[0].startswith("error: ")
    assert all(word in lines[0] for word in words)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "runs" in path.parts]


def test_a_backbone_of_one_segment_reads_pairs(tiny_checkpoint, start, tmp_path):
    """As RoBERTa with BERT's tokenizer has it: the separator alone is between the texts."""
    flags = [str(flag) for flag in of_one_segment(tiny_checkpoint, tmp_path / "bert")]
    assert start(tmp_path / "run", *flags, "--task", "sts") == 0
