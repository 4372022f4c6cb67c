"""A distilled bi-encoder learns what the run's own cross-encoder says of new pairs."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from toy_runs import cells_of, run

from baselines.isbert import load_tuned
from data.overlap import Seen
from data.tasks import read_task
from experiment.options import parse_options
from heads.saved import load_head
from heads.training import HeadTrainer
from report.cell import Cell
from report.run_costs import measure_run
from run_multitask import main

FLAGS = ["--task", "sts", "--encoder", "bi", "cross", "--distill", "--distill-pairs"]


def silver(folder: Path, cell: Cell) -> tuple[list[tuple[str, str]], list[float]]:
    """Return the pairs and labels in a cell's silver file."""
    with (folder / "silver" / f"{cell.name}.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    label = {"para": "is_duplicate", "sts": "similarity"}[cell.task]
    return [(row["sentence1"], row["sentence2"]) for row in rows], [float(r[label]) for r in rows]


def of_kind(folder: Path, kind: str) -> list[Cell]:
    """Return the cells of an encoder in a run folder."""
    return [cell for cell in cells_of(folder) if cell.encoder == kind]


@pytest.fixture(scope="module")
def finished(tiny_checkpoint, toy_data, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("distilled") / "runs" / "r"
    argv = ["--pretrain", "none", "sup", "--task", "all", *FLAGS[2:], "60"]
    assert run(tiny_checkpoint, toy_data, folder, *argv, "--tune", "frozen", "full") == 0
    return folder


def test_every_pair_task_and_setting_has_a_distilled_cell(finished):
    found = {(cell.task, cell.pretrain, cell.tune) for cell in of_kind(finished, "distilled")}
    settings = [(p, t) for p in ("none", "sup") for t in ("frozen", "full")]
    assert found == {(task, *setting) for task in ("para", "sts") for setting in settings}
    gaps = json.loads((finished / "comparisons.json").read_text())["gaps"]
    assert len(gaps) == 8 and (finished / "report.html").read_text().count("<p>Distilling: ") == 8


def test_labels_are_what_the_teacher_gives_and_pairs_are_new(finished, toy_data):
    for cell in of_kind(finished, "distilled"):
        pairs, labels = silver(finished, cell)
        assert len(pairs) == 60
        teacher = finished / "heads" / f"{cell.name.replace('distilled', 'cross')}.safetensors"
        expected = load_head(teacher, load_tuned, "cpu", "float32").soft(pairs)
        np.testing.assert_array_equal(labels, expected)
        splits, seen = read_task(toy_data, cell.task), Seen()
        seen.add_examples([*splits.train, *splits.dev, *splits.test])
        assert not any(seen.has_pair(*pair) for pair in pairs)
        scored = {text for pair in (*splits.dev, *splits.test) for text in pair.texts}
        trained = {text for pair in splits.train for text in pair.texts}
        assert {text for pair in pairs for text in pair} <= trained - scored


def test_all_settings_have_the_same_pairs_and_their_own_labels(finished):
    for task in ("para", "sts"):
        found = [silver(finished, c) for c in of_kind(finished, "distilled") if c.task == task]
        assert len(found) == 4 and all(pairs == found[0][0] for pairs, _ in found)
        assert len({tuple(labels) for _, labels in found}) == 4


def test_a_distilled_head_opens_as_a_bi_encoder(finished):
    for name in (
        "none-sts-distilled-frozen-interaction-42",
        "sup-para-distilled-full-interaction-42",
    ):
        head = load_head(finished / "heads" / f"{name}.safetensors", load_tuned, "cpu")
        assert head.kind == "distilled" and head.embed([("the cat",)]).shape == (1, 32)
    costs = measure_run(finished, 0.05, "cpu", lambda line: None)
    kinds = {(cell.task, cell.cost.encoder) for cell in costs.cells}
    # Of a bi-encoder and a distilled one, which cost the same, one is measured.
    assert kinds == {("sst", "bi")} | {(t, k) for t in ("para", "sts") for k in ("bi", "cross")}
    assert costs.break_even.keys() == {"para", "sts"} and costs.story


@pytest.mark.parametrize("tune", ["frozen", "full"])
def test_without_pairs_it_is_the_bi_encoder(tune, tiny_checkpoint, toy_data, tmp_path):
    argv = ["--task", "para", *FLAGS[2:], "0", "--tune", tune]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    (bi,), (distilled,) = (of_kind(tmp_path / "r", kind) for kind in ("bi", "distilled"))
    assert bi.metrics == distilled.metrics and bi.key != distilled.key
    files = [
        next((tmp_path / "r" / "predictions" / cell.name).glob("*-dev-soft.npz"))
        for cell in (bi, distilled)
    ]
    own, other = (np.load(path)["soft"] for path in files)
    np.testing.assert_array_equal(own, other)


def test_it_is_another_with_pairs_and_the_same_when_repeated(tiny_checkpoint, toy_data, tmp_path):
    runs = {name: tmp_path / name / "r" for name in ("a", "b")}
    for folder in runs.values():
        assert run(tiny_checkpoint, toy_data, folder, *FLAGS, "60") == 0
    (bi,), (one,) = (of_kind(runs["a"], kind) for kind in ("bi", "distilled"))
    (again,) = of_kind(runs["b"], "distilled")
    assert one.metrics == again.metrics != bi.metrics and one.key == again.key
    assert silver(runs["a"], one) == silver(runs["b"], again)


def test_stopped_and_resumed_it_ends_with_the_same_numbers(
    tiny_checkpoint, toy_data, tmp_path, monkeypatch
):
    argv = [*FLAGS, "60", "--tune", "full"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "whole" / "r", *argv) == 0
    train_epoch, epochs = HeadTrainer._train_epoch, []

    def stopped(trainer, tick):
        epochs.append(trainer.epoch)
        if len(epochs) == 6:  # two epochs each of bi and cross; the second of distilled
            raise KeyboardInterrupt
        return train_epoch(trainer, tick)

    monkeypatch.setattr(HeadTrainer, "_train_epoch", stopped)
    folder = tmp_path / "stopped" / "r"
    assert run(tiny_checkpoint, toy_data, folder, *argv) == 130
    assert run(tiny_checkpoint, toy_data, folder, *argv, "--resume") == 0
    assert epochs == [0, 1, 0, 1, 0, 1, 1]
    for kind in ("bi", "cross", "distilled"):
        (resumed,), (whole,) = (of_kind(f, kind) for f in (folder, tmp_path / "whole" / "r"))
        assert (resumed.metrics, resumed.key) == (whole.metrics, whole.key)
    assert run(tiny_checkpoint, toy_data, folder, *argv) == 0
    assert len(epochs) == 7  # all cells were there


def test_other_pairs_train_the_distilled_cell_alone_again(
    tiny_checkpoint, toy_data, tmp_path, capsys
):
    path = tmp_path / "pairs.tsv"
    path.write_text("a new cat\ta new dog\nthe old boat sees\ta quiet storm\n")
    keys = []
    more = ["--distill-data", str(path)]
    for flags in (["60"], ["50"], ["60", *more], ["60", *more], ["60", *more, "--head-lr", "1e-2"]):
        if len(keys) == 3:
            path.write_text("a wet lamp\ta red dog\n")
        capsys.readouterr()
        assert run(tiny_checkpoint, toy_data, tmp_path / "r", *FLAGS, *flags) == 0
        done = capsys.readouterr().out.count("done earlier")
        assert done == (2 if keys and "--head-lr" not in flags else 0)
        keys.append(of_kind(tmp_path / "r", "distilled")[0].key)
    assert len(set(keys)) == 5
    (cell,) = of_kind(tmp_path / "r", "distilled")
    assert silver(tmp_path / "r", cell)[0] == [("a wet lamp", "a red dog")]


def test_seeds_draw_their_own_pairs(tiny_checkpoint, toy_data, tmp_path):
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *FLAGS, "20", "--seeds", "2") == 0
    one, other = (silver(tmp_path / "r", c)[0] for c in of_kind(tmp_path / "r", "distilled"))
    assert len(one) == len(other) == 20 and set(one) != set(other)


@pytest.mark.parametrize("content", [None, "just one text\n", "a\t\n"])
def test_a_file_that_cannot_be_used_is_one_line_and_leaves_nothing(
    content, tiny_checkpoint, toy_data, tmp_path, capsys
):
    path = tmp_path / "pairs.tsv"
    if content is not None:
        path.write_text(content)
    argv = [*FLAGS, "9", "--distill-data", str(path)]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and str(path) in error and not (tmp_path / "r").exists()


def test_the_plan_says_what_is_distilled(tiny_checkpoint, toy_data, tmp_path, capsys):
    argv = ["--backbone", str(tiny_checkpoint), "--data", str(toy_data), *FLAGS, "9", "--dry-run"]
    assert main(parse_options([*argv, "--run-dir", str(tmp_path / "r")])) == 0
    plan = capsys.readouterr().out
    assert "sts/bi sts/cross sts/distilled; frozen" in plan
    assert "distill   sts: 9 unlabelled pairs at most, of " in plan
    with pytest.raises(SystemExit, match="2"):
        parse_options(["--task", "sts", "--distill"])
    assert "add --encoder bi cross" in capsys.readouterr().err
