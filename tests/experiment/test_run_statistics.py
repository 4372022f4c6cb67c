"""A run holds pairs out for thresholds, and says how sure and how calibrated its cells are."""

import json

import numpy as np
import pytest
import toy_runs
from conftest import toy_sentences

from data.selection import parts_of
from data.tasks import read_task
from evaluation.metrics import AVERAGE_PRECISION, best_threshold, labels_of
from heads import train as training
from minbert.encoder import SentenceEncoder
from report.floors import is_floor

PAIRS = {"task": ("para", "sts"), "reader": ("bi", "cross")}


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
    trained, original = [], training.HeadTrainer.__init__

    def watching(trainer, encoder, head_tasks, inputs, *rest, **more):
        trained.append((len(inputs[0]["train"]), len(head_tasks[0].splits.train)))
        original(trainer, encoder, head_tasks, inputs, *rest, **more)

    folder = tmp_path_factory.mktemp("thresholds") / "runs" / "r"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training.HeadTrainer, "__init__", watching)
        scored = toy_runs.compare(
            toy_runs.small(tiny_checkpoint, data, folder, select="train", **PAIRS)
        )
    return {(cell.task, cell.reader): cell for cell in scored}, folder, trained


def test_trials_are_not_trained_on_the_pairs_that_choose(cells, data):
    splits = read_task(data, "para")
    ((fit, _),) = parts_of(splits.train, [*splits.dev, *splits.test], 42, True)
    # A trial, then the head itself, of both readers.
    wanted = [(len(fit), len(fit)), (1000, 1000)] * 2
    assert [rows for rows in cells[2] if rows[0] > 100] == wanted


def test_paraphrase_cells_have_a_threshold_of_held_out_pairs_and_a_calibration(cells):
    scored, *_ = cells
    for reader in ("bi", "cross"):
        cell = scored["para", reader]
        assert cell.threshold["n"] == cell.choice["chosen_by"] > 20
        for metric in ("accuracy", "f1"):
            assert 0 <= cell.threshold[metric]["threshold"] <= 1.0000001
            assert 0 <= cell.threshold[metric]["value"] <= 1
        # The accuracy by bins is the accuracy of the cell: the same predictions.
        right = sum(part["n"] * part["accuracy"] for part in cell.calibration["bins"])
        assert right / cell.n == pytest.approx(cell.metrics["accuracy"])
    assert scored["sts", "bi"].threshold == scored["sts", "bi"].calibration == {}


def test_cross_encoders_are_read_in_both_orders_on_dev(cells):
    scored, *_ = cells
    for task in ("para", "sts"):
        block = scored[task, "cross"].both_orders
        assert block["gap"] > 0 and scored[task, "bi"].both_orders == {}
        assert block["metrics"].keys() == scored[task, "cross"].metrics.keys() - {AVERAGE_PRECISION}
    assert scored["sts", "cross"].both_orders["changed"] is None


def test_every_cell_has_intervals_and_every_two_a_test(cells):
    scored, folder, _ = cells
    for (task, _), cell in scored.items():
        for metric, interval in cell.interval.items():
            value = cell.metrics[metric]
            assert interval is None or interval["low"] <= value <= interval["high"], (task, metric)
    content = json.loads((folder / "comparisons.json").read_text())
    pairs = {(versus["task"], versus["metric"]) for versus in content["comparisons"]}
    assert pairs == {("para", "accuracy"), ("para", "f1"), ("sts", "pearson"), ("sts", "spearman")}
    for estimate in content["estimates"]:
        if estimate["metric"] == "pearson" and not is_floor(estimate["system"]):
            (reader,) = {"bi", "cross"} & set(estimate["system"].split("-"))
            cell = scored["sts", reader]
            assert estimate["mean"] == pytest.approx(cell.metrics["pearson"])
            assert estimate["n"] == cell.n


def test_the_row_of_the_cosine_is_its_threshold_on_train_applied_to_the_scored_rows(cells, data):
    scored, folder, _ = cells
    encoder = SentenceEncoder.from_pretrained(folder / "backbones" / "none", device="cpu")
    splits = read_task(data, "para")

    def cosines(pairs) -> np.ndarray:
        first, second = zip(*(pair.texts for pair in pairs), strict=True)
        return encoder.similarity_pairwise(encoder.encode(first), encoder.encode(second)).numpy()

    threshold = best_threshold(cosines(splits.train), labels_of(splits.train), "accuracy")
    cell = scored["para", "bi"]
    assert cell.threshold["cosine"] == pytest.approx(threshold, abs=1e-4)
    wanted = ((cosines(splits.dev) >= threshold) == labels_of(splits.dev)).mean()
    content = json.loads((folder / "comparisons.json").read_text())
    (row,) = (
        e
        for e in content["estimates"]
        if e["system"] == "cosine threshold"
        and (e["split"], e["metric"]) == (cell.split, "accuracy")
    )
    assert row["mean"] == pytest.approx(wanted, abs=0.02)
    assert 0 < cell.metrics[AVERAGE_PRECISION] <= 1
