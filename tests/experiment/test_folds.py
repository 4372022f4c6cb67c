"""One table in folds: every row is scored once, by a head that saw none of its texts."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
import toy_runs
from conftest import toy_sentences

import heads.temperature
import heads.train
import run_multitask
from data.overlap import text_hash
from data.pairs import read_pairs
from data.selection import of_all_rows
from evaluation.clusters import clusters_of
from evaluation.intervals import IN_FOLDS, intervals
from evaluation.metrics import best_threshold, labels_of, task_metrics
from experiment.settings import Settings
from heads.__main__ import main as heads_main
from heads.temperature import calibrated
from report.costs import measure_run
from report.floors import overlap_calls
from report.judging import judge_cells, read_judged
from report.page.write import write_page
from report.run_folder import RunFolder
from runtime.errors import UserError

LABELS = {
    "paraphrase": ("no", "yes"),
    "similarity": ("1", "3.5", "7"),
    "classes": ("bad", "good", "so so"),
}


def write_table(path, task, count=130):
    """Write rows of a task; every third one shares a text with an earlier row."""
    draw = random.Random(3)
    names = ("text",) if task == "classes" else ("text1", "text2")
    texts = [[f"{i} {s}" for i, s in enumerate(toy_sentences(count, 7 + n))] for n in range(2)]
    texts[0] = [draw.choice(texts[0]) if i % 3 == 0 else text for i, text in enumerate(texts[0])]
    labels = [LABELS[task][i % len(LABELS[task])] for i in range(count)]
    rows = zip(*texts[: len(names)], labels, strict=True)
    path.write_text("\n".join(map("\t".join, ((*names, "label"), *rows))) + "\n")
    return path


def settings_of(checkpoint, table, folder, **more):
    more = {"select": "train", "pairs": str(table)} | more
    return toy_runs.small(checkpoint, "bundled", folder, **more)


def texts_of(examples):
    return {text_hash(text) for example in examples for text in example.texts}


@pytest.fixture(scope="module", params=LABELS)
def run_in_folds(request, tiny_checkpoint, tmp_path_factory):
    """Return the task, the table, the run folder, what was printed, and what heads were fitted."""
    folder = tmp_path_factory.mktemp(request.param)
    table, lines, fits = write_table(folder / "my.tsv", request.param), [], []
    fit_heads = heads.train.fit_heads

    def noted(encoder, head_tasks, *args, **named):
        fits.extend(head_tasks)
        return fit_heads(encoder, head_tasks, *args, **named)

    settings = settings_of(tiny_checkpoint, table, folder / "run", reader=("bi", "cross"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads.train, "fit_heads", noted)
        toy_runs.compare(settings, lines.append)
    return request.param, table, folder / "run", "\n".join(lines), fits


def test_every_row_is_predicted_once_without_its_texts(run_in_folds):
    _task, _table, run, _, fits = run_in_folds
    every = [str(line) for line in range(2, 132)]
    readers = {head_task.reader for head_task in fits}
    for reader in readers:
        whole, *folds = [head_task.splits for head_task in fits if head_task.reader == reader]
        assert [row.id for row in whole.train] == every and not whole.dev and not whole.test
        assert len(folds) == 5
        assert sorted(row.id for fold in folds for row in fold.test) == sorted(every)
        for fold in folds:
            assert not texts_of(fold.train) & texts_of(fold.test)
            assert len(fold.train) + len(fold.test) == 130
    for cell in toy_runs.cells_of(run):
        assert (cell.split, cell.n) == ("all", 130) and 100 <= cell.labels <= 108
        assert cell.overlap["sentences"] == 0
        (written,) = (run / "predictions" / cell.name).glob("*-output.csv")
        ids = [line.split(" , ")[0] for line in written.read_text().splitlines()[1:]]
        assert ids == every


def test_plan_and_verdict_say_so(run_in_folds):
    task, _table, run, printed, _ = run_in_folds
    items = "texts" if task == "classes" else "pairs"
    assert f"my.tsv: 130 {items}, label 'label'" in printed
    assert "every row is scored once (5 folds by connected texts)" in printed
    noun = "examples" if task == "classes" else "pairs"
    said = " ".join(printed.split())
    assert f"Based on all 130 {noun}; each was scored by a head that saw none of its texts." in said
    assert "all rows" in write_page(run).read_text()


def test_numbers_are_those_of_one_run_per_fold(run_in_folds, tiny_checkpoint, tmp_path):
    task, table, run, _, _ = run_in_folds
    splits = read_pairs([str(table)], task=task, folds=5).splits
    header, *lines = table.read_text().splitlines()
    folder = RunFolder(run, read_only=True)
    cell = next(cell for cell in folder.cells() if cell.reader == "bi")
    soft = folder.soft(cell, splits.all)["soft"]
    predictions = folder.predictions(cell, splits.all, splits.task)
    of_folds, soft_of_folds = [], []
    for number, fold in enumerate(splits.folds):
        paths = [tmp_path / f"{number}-{name}.tsv" for name in ("train", "dev")]
        for path, rows in zip(paths, (fold.train, fold.test), strict=True):
            chosen = [lines[int(row.id) - 2] for row in rows]
            path.write_text("\n".join([header, *chosen]) + "\n")
        settings = settings_of(tiny_checkpoint, table, tmp_path / f"run-{number}")
        toy_runs.compare(replace(settings, pairs=tuple(map(str, paths)), folds=1))
        alone = RunFolder(tmp_path / f"run-{number}", read_only=True)
        (one,) = alone.cells()
        test = read_pairs([*map(str, paths)], task=task).splits
        of_folds.append(alone.predictions(one, test.dev, test.task))
        soft_of_folds.append(alone.soft(one, test.dev)["soft"])
    np.testing.assert_allclose(soft, of_all_rows(splits, soft_of_folds), atol=1e-4)
    np.testing.assert_allclose(predictions, of_all_rows(splits, of_folds), atol=1e-4)
    labels, name = labels_of(splits.all), splits.task.main_metric
    assert cell.metrics[name] == task_metrics(task, predictions, labels)[name]
    interval = intervals(task, predictions, labels, clusters_of(splits.all))[name]
    score = cell.metrics[name]
    for end in ("low", "high"):  # as far from the score again by this factor, on the scale
        expected = score + IN_FOLDS * (getattr(interval, end) - score)
        assert cell.interval[name][end] == pytest.approx(np.clip(expected, -1, 1))


def test_word_overlap_and_thresholds_are_of_each_fold(run_in_folds, tmp_path):
    task, table, run, _, _ = run_in_folds
    folder = RunFolder(run, read_only=True)
    cells = folder.cells()
    splits = {task: read_pairs([str(table)], task=task, folds=5).splits}
    (again,) = judge_cells(cells, splits, folder)
    assert read_judged(folder, cells) == [again]
    scores = again.scores(again.main_metric)
    if task == "paraphrase":
        folds = splits[task].folds
        calls = of_all_rows(splits[task], [overlap_calls(task, f.test, f.train) for f in folds])
        labels = labels_of(splits[task].all)
        assert scores["word overlap"].mean == task_metrics(task, calls, labels)["accuracy"]
        assert all(0 <= cell.threshold["f1"]["threshold"] <= 1.0000001 for cell in cells)
        assert all(cell.threshold["n"] > 20 for cell in cells)


def test_the_threshold_of_a_row_is_that_of_its_fold(tiny_checkpoint, tmp_path, monkeypatch):
    table, chosen = write_table(tmp_path / "my.tsv", "paraphrase"), []

    def noted(fitted, choice):
        fitted, choice = calibrated(fitted, choice)
        chosen.append(choice)
        return fitted, choice

    monkeypatch.setattr(heads.temperature, "calibrated", noted)
    toy_runs.compare(settings_of(tiny_checkpoint, table, tmp_path / "run"))
    folder = RunFolder(tmp_path / "run", read_only=True)
    (cell,) = folder.cells()
    whole = read_pairs([str(table)], folds=5).splits
    places = {row.id: place for place, row in enumerate(whole.all)}
    soft, calls = folder.soft(cell, whole.all)["soft"], np.zeros(130)
    for fold, choice in zip(whole.folds, chosen[1:], strict=True):
        threshold = best_threshold(choice.soft, labels_of(choice.held_out), "f1")
        assert not texts_of(choice.held_out) & texts_of(fold.test)
        rows = [places[row.id] for row in fold.test]
        calls[rows] = soft[rows] >= threshold
    expected = task_metrics("paraphrase", calls, labels_of(whole.all))["f1"]
    assert cell.threshold["f1"]["value"] == pytest.approx(expected)
    own = best_threshold(chosen[0].soft, labels_of(chosen[0].held_out), "f1")
    assert cell.threshold["f1"]["threshold"] == pytest.approx(own)


def test_the_saved_head_predicts_and_is_exported(run_in_folds, tmp_path, capsys):
    task, table, run, _, _ = run_in_folds
    cell = next(cell for cell in toy_runs.cells_of(run) if cell.reader == "bi")
    words = [str(run), str(table), "--cell", cell.name, "--device", "cpu"]
    assert heads_main(["predict", *words]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 131
    out = tmp_path / "out"
    assert heads_main(["export", str(run), "--cell", cell.name, "--out", str(out)]) == 0
    card = (out / "README.md").read_text()
    assert "Each row was scored by a head that was trained without its texts" in card
    assert {c["task"] for c in measure_run(run, 0.01, "cpu")["cells"]} == {task}


def test_the_runs_table_gives_a_threshold_by_the_scores_of_the_folds(
    run_in_folds, tmp_path, capsys, monkeypatch
):
    task, table, run, _, _ = run_in_folds
    if task != "paraphrase":
        pytest.skip("a threshold is for the labels yes and no")
    monkeypatch.setattr("heads.saved.SavedHead.soft", None)  # the saved head is not asked
    words = ["threshold", str(run), "--device", "cpu"]
    assert heads_main([*words, str(table)]) == 0
    said = capsys.readouterr()
    assert "left out" not in said.err and "measured on" in said.out
    monkeypatch.undo()
    header, first, *_ = table.read_text().splitlines()
    text, _, label = first.split("\t")
    new = [f"{i} {s}\tnew {i}\t{'yes' if i % 2 else 'no'}" for i, s in enumerate(["new"] * 40)]
    other = tmp_path / "other.tsv"
    other.write_text("\n".join([header, f"{text}\tnew\t{label}", *new]) + "\n")
    assert heads_main([*words, str(other)]) == 0
    assert "1 of 41 pairs are left out" in capsys.readouterr().err
    for soft in (run / "trainings").rglob("*-soft.npz"):
        soft.rename(soft.with_suffix(".gone"))
    try:
        assert heads_main([*words, str(table)]) == 2
        assert "no scores of the table's rows" in capsys.readouterr().err
    finally:
        for soft in (run / "trainings").rglob("*.gone"):
            soft.rename(soft.with_suffix(".npz"))


def test_an_interrupted_run_continues_to_the_same_numbers(tiny_checkpoint, tmp_path, monkeypatch):
    table = write_table(tmp_path / "my.tsv", "similarity")
    settings = settings_of(tiny_checkpoint, table, tmp_path / "a" / "run")
    toy_runs.compare(settings)
    expected = [toy_runs.numbers(cell) for cell in toy_runs.cells_of(settings.run_dir)]
    fit_heads, calls = heads.train.fit_heads, []

    def stopped(*args, **named):
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return fit_heads(*args, **named)

    monkeypatch.setattr(heads.train, "fit_heads", stopped)
    settings = replace(settings, run_dir=tmp_path / "b" / "run")
    with pytest.raises(KeyboardInterrupt):
        toy_runs.compare(settings)
    toy_runs.compare(replace(settings, resume=True))
    assert [toy_runs.numbers(cell) for cell in toy_runs.cells_of(settings.run_dir)] == expected


# --- settings


@pytest.mark.parametrize(
    ("given", "folds", "reason"),
    [
        ({"pairs": "a.tsv"}, 5, ""),
        ({"pairs": "a.tsv", "folds": 1}, 1, ""),
        ({"pairs": "a.tsv", "folds": 3, "reader": ("bi", "late", "cross")}, 3, ""),
        ({"pairs": "a.tsv", "pretrain": ("none", "sup")}, 5, ""),
        ({"pairs": "a.tsv", "pretrain": "unsup", "unsup_data": "b.txt"}, 5, ""),
        ({"pairs": "a.tsv", "pretrain": ("none", "unsup")}, 1, "unsup would read the texts"),
        ({"pairs": "a.tsv", "tune": ("frozen", "full")}, 1, "a fine-tuned encoder"),
        ({"pairs": "a.tsv", "train_rows": ("50", "all")}, 1, "--train-rows needs"),
        ({"pairs": "a.tsv", "select": "dev"}, 1, "--select dev needs"),
    ],
)
def test_one_table_has_folds_unless_there_is_a_reason(given, folds, reason):
    settings = Settings(**given)
    assert settings.folds == folds and settings.why_no_folds.startswith(reason)
    assert bool(settings.why_no_folds) == bool(reason)
    if reason:
        with pytest.raises(UserError) as refusal:
            Settings(**given, folds=5)
        assert str(refusal.value).startswith(f"--folds 5: {reason}")
        assert str(refusal.value).endswith(", or --folds 1")


@pytest.mark.parametrize("given", [{}, {"pairs": ("a", "b")}, {"pairs": ("a", "b", "c")}])
def test_folds_are_of_one_table(given):
    assert Settings(**given).folds == 1
    with pytest.raises(UserError, match=r"^--folds 5: splits one table; give one file"):
        Settings(**given, folds=5)


def test_the_plan_says_why_there_are_no_folds(tiny_checkpoint, tmp_path, capsys):
    table = write_table(tmp_path / "my.tsv", "paraphrase")
    words = ["--pairs", str(table), "--backbone", str(tiny_checkpoint), "--dry-run"]
    words += ["--run-dir", str(tmp_path / "run"), "--device", "cpu"]
    assert run_multitask.main([*words, "--pretrain", "unsup"]) == 0
    said = capsys.readouterr().out
    assert "folds     none: unsup would read the texts that are scored" in said
    assert "split 104/13/13 by connected texts" in said
    assert run_multitask.main([*words, "--folds", "1"]) == 0
    assert "folds  " not in capsys.readouterr().out


def test_a_checkpoint_is_not_selected_on_rows_that_are_scored(tiny_checkpoint, tmp_path):
    table, lines = write_table(tmp_path / "my.tsv", "similarity"), []
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("\n".join(f"{i} {s}" for i, s in enumerate(toy_sentences(200, 4))) + "\n")
    settings = settings_of(
        tiny_checkpoint, table, tmp_path / "run", pretrain="unsup", unsup_data=str(sentences)
    )
    toy_runs.compare(settings, lines.append)
    assert "checkpoint kept: the last" in "\n".join(lines)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["options"]["folds"] == 5
