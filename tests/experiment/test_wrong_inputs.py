"""Wrong files and folders: exit code 2, one line that names them, and nothing left behind."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from toy_runs import SMALL

from data.examples import DataError
from data.tasks import read_sts
from run_multitask import main


def in_process(tmp_path, capsys, *argv) -> tuple[int, list[str], list[Path]]:
    """Run a command here, for speed: its exit code, its errors, the files that it left."""
    options = [*SMALL, *argv, "--run-dir", tmp_path / "runs" / "r"]
    code = main(list(map(str, options)))
    lines = [line for line in capsys.readouterr().err.splitlines() if line[:6] != "note: "]
    return code, lines, [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]


def test_missing_data_is_named_in_one_line(tiny_checkpoint, toy_data, tmp_path, capsys):
    sup = ["--data", toy_data, "--pretrain", "sup", "--sup-data", "nowhere.csv"]
    for argv in (["--data", "./nowhere"], sup):
        argv = ["--backbone", tiny_checkpoint, *argv]
        code, lines, left = in_process(tmp_path, capsys, *argv)
        assert code == 2 and len(lines) == 1 and not left
        assert lines[0].startswith("error: ") and "nowhere" in lines[0]


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
    ["modules.json=7", 'sentence_bert_config.json={"max_seq_length": "x"}'],
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


@pytest.mark.parametrize("id", ["a\nb", "a , 1.0", "a\tb", "a\x85b"])
def test_an_id_that_would_forge_a_prediction_is_refused(id, tmp_path):
    path = tmp_path / "sts.csv"
    header = "id\tsentence1\tsentence2\tsimilarity"
    path.write_text(f'{header}\n0\ta\tb\t1\n"{id}"\ta\tb\t1\n', "utf-8")
    with pytest.raises(DataError, match=r"sts\.csv:3: id .* would separate predictions"):
        read_sts(path)
