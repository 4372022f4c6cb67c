"""The whole path on toy data: every stage, every cell, and everything a run leaves behind."""

import csv
import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import load_file

import run_multitask
from data.cs224n import read_task
from evaluation.metrics import task_metrics
from minbert.encoder import SentenceEncoder
from report.options import parse_options
from report.provenance import file_hash

KEYS = set("pretrain task encoder tune features backbone data seed split n metrics seconds".split())
SMALL = ["--simcse-steps", "4", "--eval-steps", "2", "--head-epochs", "2", "--device", "cpu"]
ALL = ["--pretrain", "none", "unsup", "sup", "--task", "all", "--encoder", "bi", "cross"]


def run(checkpoint, data, folder, *argv) -> int:
    files = ["--backbone", str(checkpoint), "--data", str(data), "--run-dir", str(folder)]
    return run_multitask.main(parse_options([*files, *SMALL, "--precision", "float32", *argv]))


def results(folder):
    return json.loads((folder / "results.json").read_text())


def numbers(cell):
    """Return all of a cell that a repetition must give again."""
    return {key: value for key, value in cell.items() if "second" not in key}


@pytest.fixture(scope="module")
def grid(tiny_checkpoint, toy_data, tmp_path_factory):
    """Run the report's table once, on toy data."""
    before = file_hash(tiny_checkpoint / "model.safetensors")
    folder = tmp_path_factory.mktemp("grid") / "runs" / "table"
    assert run(tiny_checkpoint, toy_data, folder, *ALL) == 0
    assert file_hash(tiny_checkpoint / "model.safetensors") == before
    return folder


def test_every_cell_of_the_grid_is_there_once(grid):
    cells = results(grid)
    assert all(KEYS <= cell.keys() for cell in cells)
    found = sorted((c["pretrain"], c["task"], c["encoder"], c["split"]) for c in cells)
    kinds = [("sst", "bi"), ("para", "bi"), ("para", "cross"), ("sts", "bi"), ("sts", "cross")]
    expected = [(p, t, k, "dev") for p in ("none", "unsup", "sup") for t, k in kinds]
    assert found == sorted(expected)


def test_csv_and_json_agree(grid):
    with (grid / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row, cell in zip(rows, results(grid), strict=True):
        assert row["task"] == cell["task"] and int(row["n"]) == cell["n"]
        for name in ("accuracy", "f1", "pearson", "spearman"):
            assert row[name] == (
                "" if cell["metrics"][name] is None else str(cell["metrics"][name])
            )


def test_metrics_follow_from_the_prediction_files(grid, toy_data):
    headers = {
        "sst": "Predicted_Sentiment",
        "para": "Predicted_Is_Paraphrase",
        "sts": "Predicted_Similiary",
    }
    for cell in results(grid):
        name = "-".join(
            str(cell[key]) for key in ("pretrain", "task", "encoder", "tune", "features")
        )
        folder = grid / "predictions" / f"{name}-42"
        splits = read_task(toy_data, cell["task"])
        for split, examples in (("dev", splits.dev), ("test", splits.test)):
            path = folder / f"{cell['task']}-{split}-output.csv"
            header, *lines = path.read_text().splitlines()
            assert header == f"id \t {headers[cell['task']]} "
            fields = [line.split(" , ") for line in lines]
            assert [field[0] for field in fields] == [example.id for example in examples]
            if split == "dev":
                labels = np.array([example.label for example in examples], float)
                predictions = np.array([float(field[1]) for field in fields])
                again = task_metrics(cell["task"], predictions, labels)
                assert again == pytest.approx(cell["metrics"], nan_ok=False)


def test_config_holds_what_is_needed_to_repeat_the_run(grid, toy_data):
    config = json.loads((grid / "config.json").read_text())
    assert config["options"]["pretrain"] == ["none", "unsup", "sup"]
    assert config["simcse"]["sup"]["max_steps"] == 4
    assert config["heads"]["sts"]["num_epochs"] == 2
    assert config["sha256"]["unsup"] == file_hash(toy_data / "wiki1m_for_simcse.txt")
    assert config["packages"]["torch"] and config["python"] and config["precision"]


def test_curves_and_heads_and_backbones_are_there(grid):
    lines = [json.loads(line) for line in (grid / "metrics.jsonl").read_text().splitlines()]
    curves = {line["curve"] for line in lines}
    assert {"unsup-42", "sup-42", "sup-sts-cross-frozen-interaction-42"} <= curves
    with safe_open(grid / "heads" / "sup-sts-bi-frozen-interaction-42.safetensors", "pt") as file:
        assert file.metadata()["task"] == "sts"
        assert json.loads(file.metadata()["config"])["num_epochs"] == 2
    for name in ("unsup-42", "sup-42"):
        encoder = SentenceEncoder.from_pretrained(str(grid / "backbones" / name))
        assert encoder.encode(["the cat"]).shape == (1, 32)


def test_the_same_command_again_reuses_everything(
    grid, tiny_checkpoint, toy_data, monkeypatch, capsys
):
    before = results(grid)

    def fail(*_):
        raise AssertionError("an encoder was used again")

    monkeypatch.setattr(SentenceEncoder, "embed", fail)
    assert run(tiny_checkpoint, toy_data, grid, *ALL) == 0
    assert results(grid) == before
    assert capsys.readouterr().out.count("done earlier") == len(before)


def test_a_lost_cell_is_computed_to_the_same_numbers(grid, tiny_checkpoint, toy_data):
    before = results(grid)
    (grid / "results.json").write_text(json.dumps(before[1:]))
    assert run(tiny_checkpoint, toy_data, grid, *ALL) == 0
    assert [numbers(cell) for cell in results(grid)] == [numbers(cell) for cell in before]


def test_another_folder_gets_the_same_numbers(grid, tiny_checkpoint, toy_data, tmp_path):
    argv = ["--pretrain", "sup", "--task", "sts", "--encoder", "bi", "cross"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    expected = [c for c in results(grid) if (c["pretrain"], c["task"]) == ("sup", "sts")]
    for mine, theirs in zip(results(tmp_path / "r"), expected, strict=True):
        assert mine["metrics"] == theirs["metrics"]


def test_a_smaller_command_in_the_same_folder_loses_no_cell(tiny_checkpoint, toy_data, tmp_path):
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--task", "sst", "sts") == 0
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--task", "para") == 0
    assert {cell["task"] for cell in results(tmp_path / "r")} == {"sst", "sts", "para"}


def test_full_tuning_saves_the_changed_encoder(tiny_checkpoint, toy_data, tmp_path):
    argv = ["--task", "sts", "--encoder", "cross", "--tune", "full", "--backbone-lr", "1e-3"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    (model,) = (tmp_path / "r" / "models").iterdir()
    tuned, start = (load_file(p / "model.safetensors") for p in (model, tiny_checkpoint))
    name = "encoder.layer.0.attention.self.query.weight"
    assert not np.array_equal(tuned[name], start[name])
    assert SentenceEncoder.from_pretrained(str(model)).encode(["the cat"]).shape == (1, 32)
    assert not list((tmp_path / "r").rglob("*.pt"))


def test_seeds_give_cells_and_a_spread(tiny_checkpoint, toy_data, tmp_path, capsys):
    argv = ["--task", "sts", "--pretrain", "sup", "--seeds", "2", "--seed", "5"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    assert [cell["seed"] for cell in results(tmp_path / "r")] == [5, 6]
    assert len(list((tmp_path / "backbones").iterdir())) == 2
    assert "±" in capsys.readouterr().out


def test_a_labelled_test_file_is_scored_as_its_own_split(tiny_checkpoint, toy_data, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "dev"):
        (data / f"sts-{split}.csv").write_text((toy_data / f"sts-{split}.csv").read_text())
    (data / "sts-test.csv").write_text((toy_data / "sts-dev.csv").read_text())
    assert run(tiny_checkpoint, data, tmp_path / "r", "--task", "sts") == 0
    dev, test = results(tmp_path / "r")
    assert (dev["split"], test["split"]) == ("dev", "test")
    assert dev["metrics"] == test["metrics"]


@pytest.mark.parametrize(
    "flags",
    [
        ["--symmetric"],
        ["--mlm-weight", "0.1"],
        ["--hard-negative-weight", "2", "--temperature", "0.1"],
        ["--features", "concat"],
        *(["--pooling", p] for p in ("cls", "cls_before_pooler", "avg", "avg_top2")),
        ["--pooling", "avg_first_last", "--simcse-batch-size", "1000"],
        ["--simcse-batch-size", "1"],
    ],
)
def test_variants_run_to_the_end(flags, tiny_checkpoint, toy_data, tmp_path):
    argv = ["--pretrain", "unsup", "sup", "--task", "sts", "--encoder", "bi", "cross", *flags]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    if "--pooling" in flags:  # the tuned encoder says how it is to be pooled
        tuned = SentenceEncoder.from_pretrained(str(tmp_path / "r" / "backbones" / "sup-42"))
        assert tuned.stated_pooling == flags[1]
    for cell in results(tmp_path / "r"):
        assert cell["metrics"]["pearson"] is None or -1 <= cell["metrics"]["pearson"] <= 1


def test_pairs_without_hard_negatives_are_trained_on(tiny_checkpoint, toy_data, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("sent0,sent1\n" + "the cat sees a dog,a cat sees a dog\n" * 9)
    argv = ["--pretrain", "sup", "--sup-data", str(path), "--task", "sts"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0


def test_a_damaged_results_file_is_refused_not_overwritten(
    tiny_checkpoint, toy_data, tmp_path, capsys
):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "results.json").write_text('[{"half": ')
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--task", "sts") == 2
    assert "results.json" in capsys.readouterr().err
    assert (tmp_path / "r" / "results.json").read_text() == '[{"half": '
