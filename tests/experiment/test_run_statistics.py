"""A run holds pairs out for thresholds, and says how sure and how calibrated its cells are."""

import json

import numpy as np
import pytest
import toy_runs
from conftest import toy_sentences

from data.selection import hold_out
from data.tasks import read_task
from evaluation.metrics import task_metrics
from heads import train as training

PAIRS = {"task": ("para", "sts"), "encoder": ("bi", "cross")}


@pytest.fixture(scope="module")
def data(toy_data, tmp_path_factory):
    """The toy data with enough paraphrase pairs to hold a hundred out."""
    folder = tmp_path_factory.mktemp("larger")
    for path in toy_data.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "quora-train.csv").unlink()
    lines = ["\tid\tsentence1\tsentence2\tis_duplicate"]
    pairs = zip(toy_sentences(1000, 5), toy_sentences(1000, 6), strict=True)
    lines += [f"{i}\tq{i}\t{a}\t{a if i % 2 else b}\t{i % 2}.0" for i, (a, b) in enumerate(pairs)]
    (folder / "quora-train.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def cells(data, tiny_checkpoint, tmp_path_factory):
    """The cells of a run by task and encoder, the run's folder, and how many rows heads had."""
    trained, original = [], training.HeadTrainer

    def watching(encoder, head_tasks, inputs, **more):
        trained.append((len(inputs[0]["train"]), len(head_tasks[0].splits.train)))
        return original(encoder, head_tasks, inputs, **more)

    folder = tmp_path_factory.mktemp("thresholds") / "runs" / "r"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "HeadTrainer", watching)
        found = toy_runs.compare(toy_runs.small(tiny_checkpoint, data, folder, **PAIRS))
    return {(cell.task, cell.encoder): cell for cell in found}, folder, trained


def test_heads_are_not_trained_on_held_out_pairs(cells, data):
    kept, held_out = hold_out(read_task(data, "para").train)
    assert len(held_out) == 100
    assert sorted(cells[2]) == [(48, 48)] * 2 + [(len(kept), len(kept))] * 2


def test_paraphrase_cells_have_a_threshold_of_held_out_pairs(cells):
    found, *_ = cells
    for encoder in ("bi", "cross"):
        block = found["para", encoder].threshold
        assert block["n"] == 100
        for metric in ("accuracy", "f1"):
            assert 0 <= block[metric]["threshold"] <= 1.0000001
            assert 0 <= block[metric]["value"] <= 1
    assert found["sts", "bi"].threshold == found["sts", "bi"].calibration == {}


def test_calibration_counts_every_row_of_a_classifier(cells):
    found, *_ = cells
    cell = found["para", "bi"]
    assert sum(one["n"] for one in cell.calibration["bins"]) == cell.n
    assert 0 <= cell.calibration["ece"] <= 1
    # The accuracy by bins is the accuracy of the cell: the same predictions.
    right = sum(one["n"] * one["accuracy"] for one in cell.calibration["bins"])
    assert right / cell.n == pytest.approx(cell.metrics["accuracy"])


def test_cross_encoders_are_read_in_both_orders_on_dev(cells):
    found, *_ = cells
    for task in ("para", "sts"):
        block = found[task, "cross"].both_orders
        assert block["gap"] > 0 and found[task, "bi"].both_orders == {}
        assert block["metrics"].keys() == found[task, "cross"].metrics.keys()
    assert found["sts", "cross"].both_orders["changed"] is None


def test_every_cell_has_intervals_and_every_two_a_test(cells, data):
    found, folder, _ = cells
    for (task, _), cell in found.items():
        for metric, interval in cell.interval.items():
            value = cell.metrics[metric]
            assert interval is None or interval["low"] <= value <= interval["high"], (task, metric)
    content = json.loads((folder / "comparisons.json").read_text())
    pairs = {(one["task"], one["metric"]) for one in content["comparisons"]}
    assert pairs == {
        *(("para", "accuracy"), ("para", "f1"), ("sts", "pearson"), ("sts", "spearman"))
    }
    labels = np.array([example.label for example in read_task(data, "sts").dev])
    for one in content["estimates"]:
        if one["metric"] == "pearson":
            (encoder,) = {"bi", "cross"} & set(one["system"].split("-"))
            assert one["mean"] == pytest.approx(found["sts", encoder].metrics["pearson"])
            assert one["n"] == len(labels)
    assert task_metrics("sts", labels, labels)["pearson"] == pytest.approx(1.0)
