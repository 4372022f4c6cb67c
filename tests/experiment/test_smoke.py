"""The report's table on toy data: every cell, and everything that a run leaves behind."""

import csv
import json
import re

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score
from toy_runs import ALL, cells_of, hashes_of, numbers, results, run

from data.tasks import TASKS, read_task
from evaluation.metrics import task_metrics
from evaluation.sts import sts_metrics
from heads.config import HeadConfig
from heads.train import build_head
from minbert.encoder import SentenceEncoder
from runtime.files import file_digest


def predicted(grid, cell, split) -> tuple[str, list[list[str]]]:
    """Return the header and the (id, value) fields of a prediction file, as text."""
    path = grid / "predictions" / cell.name / f"{cell.task}-{split}-output.csv"
    header, *lines = path.read_text().splitlines()
    return header, [line.split(" , ") for line in lines]


@pytest.fixture(scope="module")
def grid(tiny_checkpoint, toy_data, tmp_path_factory):
    """Run the report's table once, on toy data."""
    before = hashes_of(tiny_checkpoint)
    folder = tmp_path_factory.mktemp("grid") / "runs" / "table"
    assert run(tiny_checkpoint, toy_data, folder, *ALL) == 0
    assert hashes_of(tiny_checkpoint) == before
    return folder


def test_every_cell_of_the_grid_is_there_once(grid):
    found = sorted((c.pretrain, c.task, c.encoder, c.split) for c in cells_of(grid))
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
    for cell in cells_of(grid):
        splits = read_task(toy_data, cell.task)
        for split, examples in (("dev", splits.dev), ("test", splits.test)):
            header, fields = predicted(grid, cell, split)
            assert header == f"id \t {headers[cell.task]} "
            assert [field[0] for field in fields] == [example.id for example in examples]
            if split == "dev":
                labels = np.array([example.label for example in examples], float)
                predictions = np.array([float(field[1]) for field in fields])
                metrics = dict(cell.metrics)
                metrics.pop("cosine_spearman", None)  # of the encoder, not of the predictions
                again = task_metrics(cell.task, predictions, labels)
                assert again == pytest.approx(metrics, nan_ok=False)


def test_metrics_are_those_of_scikit_learn_and_scipy_on_the_prediction_files(grid, toy_data):
    for cell in cells_of(grid):
        found = np.array([float(value) for _, value in predicted(grid, cell, "dev")[1]])
        gold = np.array([row.label for row in read_task(toy_data, cell.task).dev], float)
        if cell.task == "sts":
            expected = {"pearson": pearsonr(found, gold)[0], "spearman": spearmanr(found, gold)[0]}
        else:
            average = "binary" if cell.task == "para" else "macro"
            f1 = f1_score(gold, found, average=average, zero_division=0)
            expected = {"accuracy": accuracy_score(gold, found), "f1": f1}
        for name in ("accuracy", "f1", "pearson", "spearman"):
            assert cell.metrics[name] == pytest.approx(expected.get(name), abs=1e-12), name


def test_predictions_are_spelled_as_the_course_spells_them(grid):
    patterns = {"sst": r"[0-4] ?", "para": r"[01]\.0 ?", "sts": r"[0-5]\.\d+(e-\d+)? ?"}
    for cell in cells_of(grid):
        for split, count in (("dev", 16), ("test", 8)):
            _, fields = predicted(grid, cell, split)
            assert len({row_id for row_id, _ in fields}) == len(fields) == count
            for _, value in fields:
                assert re.fullmatch(patterns[cell.task], value), (cell.task, value)


def test_the_bare_cosine_is_that_of_the_backbone(grid, toy_data):
    dev = read_task(toy_data, "sts").dev
    cells = [c for c in cells_of(grid) if (c.task, c.encoder) == ("sts", "bi")]
    for name, cell in zip(("none", "unsup-42", "sup-42"), cells, strict=True):
        folder = str(grid / "backbones" / name)
        encoder = SentenceEncoder.from_pretrained(folder, device="cpu", precision="float32")
        expected = sts_metrics(encoder.encode, dev)["spearman"]
        assert cell.metrics["cosine_spearman"] == pytest.approx(expected)


def test_config_holds_what_is_needed_to_repeat_the_run(grid, toy_data):
    config = json.loads((grid / "config.json").read_text())
    assert config["options"]["pretrain"] == ["none", "unsup", "sup"]
    assert config["options"]["simcse"] == {"max_steps": 4, "eval_steps": 2}
    assert config["simcse"]["sup"]["max_steps"] == 4
    assert config["heads"]["sts frozen"]["num_epochs"] == 2
    assert config["sha256"]["unsup"] == file_digest(toy_data / "wiki1m_for_simcse.txt")
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


def test_saved_heads_fit_into_a_freshly_built_head(grid):
    for cell in cells_of(grid):
        path = grid / "heads" / f"{cell.name}.safetensors"
        with safe_open(path, "pt") as file:
            about = file.metadata()
        assert (about["task"], about["encoder"]) == (cell.task, cell.encoder)
        config = HeadConfig(**json.loads(about["config"]))
        head = build_head(TASKS[cell.task], cell.encoder, 32, config)
        head.load_state_dict(load_file(path))


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


def test_a_lost_cell_and_a_deleted_head_are_made_again_the_same(grid, tiny_checkpoint, toy_data):
    before = cells_of(grid)
    head = grid / "heads" / "sup-sts-bi-frozen-interaction-42.safetensors"
    tensors = load_file(head)
    head.unlink()
    (grid / "results.json").write_text(json.dumps(results(grid)[1:]))
    assert run(tiny_checkpoint, toy_data, grid, *ALL) == 0
    again = load_file(head)
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())
    assert [numbers(cell) for cell in cells_of(grid)] == [numbers(cell) for cell in before]


def test_another_folder_gets_the_same_numbers(grid, tiny_checkpoint, toy_data, tmp_path):
    argv = ["--pretrain", "sup", "--task", "sts", "--encoder", "bi", "cross"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    expected = [c for c in cells_of(grid) if (c.pretrain, c.task) == ("sup", "sts")]
    for mine, theirs in zip(cells_of(tmp_path / "r"), expected, strict=True):
        assert mine.metrics == theirs.metrics
