"""Verdicts are sentences with their numbers; what is asked together is adjusted together."""

import json
from dataclasses import replace

import numpy as np
import pytest
from made_cells import cell, para_cell

from data.examples import SentencePair
from data.tasks import TASKS, Splits
from evaluation.intervals import Interval
from evaluation.metrics import task_metrics
from evaluation.paired_tests import Williams, holm
from evaluation.significance import Comparison
from report.run_folder import RunFolder
from report.table import results_table
from report.verdict import (
    COMPARISONS,
    csv_rows,
    from_json,
    judge,
    judge_cells,
    read_judged,
    sentence,
    to_json,
    verdicts,
)

DRAW = np.random.default_rng(0)
FOUND = Comparison(
    "bi", "cross", "pearson", 800, (1,), 0.06, Interval(0.04, 0.08, "BCa"),
    "paired permutation", 0.0004, 0.002, Williams(3.5, 797, 0.0005),
)  # fmt: skip


def test_who_is_ahead_is_said_with_the_interval():
    assert sentence(FOUND) == (
        "bi is ahead of cross by 0.060 [0.040, 0.080] (paired permutation, p < 0.001, Holm = 0.002)"
    )
    behind = replace(FOUND, difference=-0.06, interval=Interval(-0.08, -0.04, "BCa"))
    assert sentence(behind).startswith("cross is ahead of bi by 0.060 [0.040, 0.080] (")


@pytest.mark.parametrize("p_holm", [0.05, 0.8])
def test_what_is_not_significant_after_holm_is_not_told_apart(p_holm):
    found = replace(FOUND, difference=-0.01, interval=Interval(-0.03, 0.01, "BCa"), p_holm=p_holm)
    assert sentence(found) == (
        "the data cannot tell bi and cross apart: -0.010 [-0.030, 0.010] "
        f"(paired permutation, p < 0.001, Holm = {p_holm:.3f})"
    )
    assert "apart: -0.010 (" in sentence(replace(found, interval=None))


def test_what_has_no_value_is_not_compared():
    none = replace(FOUND, difference=None, interval=None, p=None, p_holm=None)
    assert sentence(none) == "bi and cross cannot be compared: pearson is undefined"
    assert sentence(replace(none, difference=0.5, n=2)).endswith("compared: 2 rows")


def system(n=40, shift=0.3):
    gold = DRAW.integers(0, 6, n).astype(float)
    return gold, {
        name: {1: gold + DRAW.normal(0, 1 + k * shift, n)} for k, name in enumerate("abc")
    }


def test_a_split_is_adjusted_over_tasks_by_main_metric_and_others_apart():
    sts, scores = system()
    para = (sts > 2).astype(float)
    calls = {"a": {1: para}, "b": {1: (scores["a"][1] > 2).astype(float)}}
    labels = {("sts", "dev"): sts, ("para", "dev"): para, ("para", "test"): para}
    judged = judge(
        {("sts", "dev"): scores, ("para", "dev"): calls, ("para", "test"): calls}, labels
    )
    entries = to_json(judged)["comparisons"]
    main = {"sts": "pearson", "para": "accuracy"}
    for split, is_main in (("dev", True), ("dev", False), ("test", True), ("test", False)):
        family = [
            entry
            for entry in entries
            if entry["split"] == split and (entry["metric"] == main[entry["task"]]) == is_main
        ]
        assert len(family) == (4 if split == "dev" else 1)
        assert [entry["p_holm"] for entry in family] == holm([entry["p"] for entry in family])


def test_results_are_plain_json_and_flat_csv():
    gold, scores = system()
    scores["constant"] = {1: np.zeros(40)}
    judged = judge({("sts", "dev"): scores}, {("sts", "dev"): gold})
    content = to_json(judged)
    assert json.loads(json.dumps(content, allow_nan=False))["level"] == 0.95
    assert [one["system"] for one in content["estimates"][:4]] == ["a", "b", "c", "constant"]
    rows = csv_rows(judged)
    assert len(rows) == len(content["comparisons"]) == 2 * 6
    assert all(not isinstance(value, dict | list | tuple) for row in rows for value in row.values())
    row, entry = rows[0], content["comparisons"][0]
    assert (row["low"], row["williams_p"]) == (entry["interval"]["low"], entry["williams"]["p"])
    assert row["seeds"] == "1"


def test_what_is_read_equals_what_was_computed():
    gold, scores = system()
    scores["constant"] = {1: np.zeros(40)}
    scores["d"] = {1: scores["a"][1], 2: scores["b"][1]}
    calls = {name: {1: (found[1] > 2).astype(float)} for name, found in scores.items()}
    judged = judge(
        {("sts", "dev"): scores, ("para", "test"): calls, ("sts", "test"): {"a": scores["a"]}},
        {("sts", "dev"): gold, ("para", "test"): (gold > 2).astype(float), ("sts", "test"): gold},
    )
    found = {type(one.williams) for each in judged for one in each.comparisons}
    assert found == {Williams, type(None)}  # all kinds of entries are there
    assert from_json(json.loads(json.dumps(to_json(judged)))) == judged


@pytest.fixture
def run(tmp_path):
    """Two seeds of both encoders on six pairs, in a run folder."""
    pairs = [SentencePair(f"p{i}", "x", "y", float(i % 6)) for i in range(30)]
    cells = [
        cell(encoder=kind, seed=seed, split="test", pretrain="sup", n=30)
        for kind in ("bi", "cross")
        for seed in (1, 2)
    ]
    folder = RunFolder(tmp_path)
    for one in cells:
        noise = DRAW.normal(0, 0.3 if one.encoder == "cross" else 3, 30)
        found = np.array([pair.label for pair in pairs]) + noise
        folder.write_predictions(one.name, "sts", "test", [pair.id for pair in pairs], found)
    return cells, {"sts": Splits([], [], pairs)}, folder


def test_a_runs_cells_are_judged_by_their_files(run):
    cells, splits, folder = run
    (judged,) = judge_cells(cells, splits, folder)
    assert {one.seeds for one in judged.estimates} == {(1, 2)}
    pearson = [one for one in judged.comparisons if one.metric == TASKS["sts"].main_metric]
    assert [(one.a, one.b) for one in pearson] == [
        ("sup-bi-frozen-concat", "sup-cross-frozen-concat")
    ]
    (line,) = verdicts(cells, [judged])
    assert line.startswith("sts test, sup, frozen, pearson: ")
    assert line.removeprefix("sts test, sup, frozen, pearson: ") == sentence(
        replace(pearson[0], a="bi", b="cross")
    )
    assert verdicts(cells[:2], judge_cells(cells[:2], splits, folder)) == []


def scored(run):
    """Return the cells with the scores of their predictions, and what is written of them."""
    cells, splits, folder = run
    labels = np.array([pair.label for pair in splits["sts"].test])
    metrics = [
        task_metrics("sts", folder.predictions(one, splits["sts"].test), labels) for one in cells
    ]
    cells = [replace(one, metrics=found) for one, found in zip(cells, metrics, strict=True)]
    judged = judge_cells(cells, splits, folder)
    folder.write_json(COMPARISONS, to_json(judged))
    return cells, judged


def test_a_run_reads_what_it_wrote(run):
    cells, judged = scored(run)
    assert read_judged(run[2], cells) == judged


@pytest.mark.parametrize(
    "content",
    [None, "", "[]", "{}", '{"level": 0.9, "estimates": [], "comparisons": []}',
     '{"level": 0.95, "estimates": [{"task": "sts"}], "comparisons": []}'],
)  # fmt: skip
def test_what_cannot_be_read_is_left_to_be_computed(content, run):
    cells, _ = scored(run)
    path = run[2].path / COMPARISONS
    path.unlink() if content is None else path.write_text(content)
    assert read_judged(run[2], cells) is None


def test_what_is_of_other_cells_is_left_to_be_computed(run):
    cells, _ = scored(run)
    assert read_judged(run[2], cells[:3]) is None
    moved = replace(cells[0], metrics=cells[0].metrics | {"pearson": 0.5})
    assert read_judged(run[2], [moved, *cells[1:]]) is None
    added = [*cells, *(replace(one, pretrain="none") for one in cells)]
    assert read_judged(run[2], added) is None


def test_the_table_shows_the_interval_of_a_mean_over_seeds(run):
    cells, splits, folder = run
    judged = judge_cells(cells, splits, folder)
    rows = results_table(cells, judged).splitlines()[2:]
    for row, one in zip(rows, judged[0].estimates, strict=False):
        assert f"[{one.interval.low:.3f}, {one.interval.high:.3f}]" in row
    assert "[" not in results_table(cells)


def test_the_table_shows_the_interval_of_a_single_cell():
    interval = {"accuracy": {"low": 0.25, "high": 0.75, "method": "BCa"}, "f1": None}
    assert "[0.250, 0.750]" in results_table([para_cell(interval=interval)])
    assert "[" not in results_table([para_cell(interval={"accuracy": None})])


def test_distilling_does_not_change_the_answer_to_the_main_question():
    """Its comparisons are corrected among themselves: a copy of bi costs the others nothing."""
    draw = np.random.default_rng(3)
    labels = draw.uniform(0, 5, 60)
    bi, cross = (labels + draw.normal(0, noise, 60) for noise in (1.0, 1.6))
    two = {"none-bi-full-interaction": {42: bi}, "none-cross-full-interaction": {42: cross}}
    three = two | {"none-distilled-full-interaction": {42: bi}}
    place = ("sts", "test")
    alone, beside = (judge({place: systems}, {place: labels}) for systems in (two, three))
    (told,) = [one for one in alone[0].comparisons if one.metric == "pearson"]
    (same,) = [
        one
        for one in beside[0].comparisons
        if one.metric == "pearson" and {one.a, one.b} == {told.a, told.b}
    ]
    assert same.p_holm == told.p_holm
