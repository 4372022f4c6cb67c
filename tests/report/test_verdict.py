"""Verdicts are sentences with their numbers; what is asked together is adjusted together.

And in a few sentences: who is ahead, by how much, and when nobody can tell.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from made_cells import cell, para_cell, paragraph

from data.examples import SentencePair
from data.tasks import TASKS, Splits
from evaluation import intervals
from evaluation.clusters import alone
from evaluation.metrics import task_metrics
from evaluation.significance import holm
from report.run_folder import COMPARISONS, RunFolder
from report.table import results_table
from report.verdict import (
    from_json,
    judge,
    judge_cells,
    read_judged,
    to_json,
    verdict_of,
)

DRAW = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 100)


def system(n=40, shift=0.3):
    gold = DRAW.integers(0, 6, n).astype(float)
    return gold, {
        name: {1: gold + DRAW.normal(0, 1 + k * shift, n)} for k, name in enumerate("abc")
    }


def each_alone(labels):
    """Return the clusters of splits whose rows share no text."""
    return {place: alone(len(own)) for place, own in labels.items()}


def test_a_split_is_adjusted_over_tasks_by_main_metric_and_others_apart():
    sts, scores = system()
    para = (sts > 2).astype(float)
    calls = {"a": {1: para}, "b": {1: (scores["a"][1] > 2).astype(float)}}
    labels = {("sts", "dev"): sts, ("para", "dev"): para, ("para", "test"): para}
    judged = judge(
        {("sts", "dev"): scores, ("para", "dev"): calls, ("para", "test"): calls},
        labels,
        each_alone(labels),
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


def test_what_is_written_is_plain_and_read_equals_what_was_computed():
    gold, scores = system()
    scores["constant"] = {1: np.zeros(40)}
    scores["d"] = {1: scores["a"][1], 2: scores["b"][1]}
    calls = {name: {1: (found[1] > 2).astype(float)} for name, found in scores.items()}
    labels = dict.fromkeys((("sts", "dev"), ("sts", "test")), gold)
    labels["para", "test"] = (gold > 2).astype(float)
    judged = judge(
        {("sts", "dev"): scores, ("para", "test"): calls, ("sts", "test"): {"a": scores["a"]}},
        labels,
        each_alone(labels),
    )
    content = to_json(judged)
    assert from_json(json.loads(json.dumps(content, allow_nan=False))) == judged
    assert content["level"] == 0.95


@pytest.fixture
def run(tmp_path):
    """Two seeds of both encoders on six pairs, in a run folder."""
    pairs = [SentencePair(f"p{i}", f"x{i}", f"y{i}", float(i % 6)) for i in range(30)]
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


def test_a_run_reads_what_it_wrote_of_exactly_its_cells(run):
    cells, splits, folder = run
    pairs = splits["sts"].test
    labels = np.array([pair.label for pair in pairs])
    metrics = [task_metrics("sts", folder.predictions(one, pairs), labels) for one in cells]
    cells = [replace(one, metrics=own) for one, own in zip(cells, metrics, strict=True)]
    judged = judge_cells(cells, splits, folder)
    folder.write_json(COMPARISONS, to_json(judged))
    assert read_judged(folder, cells) == judged
    moved = replace(cells[0], metrics=cells[0].metrics | {"pearson": 0.5})
    added = replace(cells[0], pretrain="none")
    for others in (cells[:3], [moved, *cells[1:]], [*cells, added]):
        assert read_judged(folder, others) is None
    entry = '{"level": 0.95, "estimates": [{"task": "sts"}], "comparisons": []}'
    for content in ("", "[]", '{"level": 0.9, "estimates": [], "comparisons": []}', entry):
        (folder.path / COMPARISONS).write_text(content)
        assert read_judged(folder, cells) is None
    (folder.path / COMPARISONS).unlink()
    assert read_judged(folder, cells) is None


def test_the_table_shows_the_interval_of_a_mean_over_seeds(run):
    cells, splits, folder = run
    judged = judge_cells(cells, splits, folder)
    rows = results_table(cells, judged).splitlines()[2:]
    for row, one in zip(rows, judged[0].estimates, strict=False):
        assert f"[{one.interval.low:.3f}, {one.interval.high:.3f}]" in row
    assert "[" not in results_table(cells)


N = 120


def judged_cells(noises, splits=("dev", "test"), seeds=(1,), task="sts"):
    """Return cells and what the data can tell of them; scores are labels and noise.

    Args:
        noises: (pretrain, encoder), or with the tuning, too -> the noise's standard deviation, on
            dev and on test.
    """
    draw = np.random.default_rng(2)
    make = cell if task == "sts" else para_cell
    cells, systems, labels = [], {}, {}
    for k, split in enumerate(splits):
        gold = draw.integers(0, 6 if task == "sts" else 2, N).astype(float)
        labels[task, split] = gold
        for (pretrain, encoder, *tune), noise in noises.items():
            for seed in seeds:
                one = make(
                    task=task, pretrain=pretrain, encoder=encoder, split=split, seed=seed, n=N,
                    tune=tune[0] if tune else "frozen",
                )  # fmt: skip
                cells.append(one)
                found = gold + draw.normal(0, noise[k], N)
                if task == "para":
                    found = (found > 0.5).astype(float)
                systems.setdefault((task, split), {}).setdefault(one.system, {})[seed] = found
    return cells, judge(systems, labels, each_alone(labels), cells=cells)


GOOD, BAD = (0.5, 0.5), (3.0, 3.0)


@pytest.mark.parametrize(("bi", "cross", "ahead"), [(GOOD, BAD, "bi"), (BAD, GOOD, "cross")])
def test_the_paragraph_names_who_is_ahead_with_a_difference_above_nought(bi, cross, ahead):
    cells, judged = judged_cells({("none", "bi"): bi, ("none", "cross"): cross})
    headline, details = verdict_of(cells, judged)
    behind = {"bi": "cross", "cross": "bi"}[ahead]
    assert headline == f"The {ahead}-encoder on sts."
    assert f"the best {ahead}-encoder is ahead of the best {behind}-encoder by" in details
    (versus,) = [
        one for found in judged if found.split == "test" for one in found.comparisons
        if one.metric == "pearson"
    ]  # fmt: skip
    low, high = sorted(abs(bound) for bound in (versus.interval.low, versus.interval.high))
    assert (
        f"by {abs(versus.difference):.3f} [{low:.3f}, {high:.3f}] in pearson, both without SimCSE."
        in details
    )


def test_what_the_data_cannot_tell_is_said_so():
    cells, judged = judged_cells({("none", "bi"): GOOD, ("none", "cross"): GOOD})
    headline, details = verdict_of(cells, judged)
    assert headline == "The data cannot tell the two encoders apart."
    assert "the data cannot tell the best bi-encoder" in details and "ahead of" not in details


@pytest.mark.parametrize("ahead", ["bi", "late", "cross"])
def test_of_three_encoders_the_one_ahead_of_all_others_is_named(ahead):
    kinds = ("bi", "cross", "late")  # the order of cells does not matter
    noises = {("none", kind): GOOD if kind == ahead else BAD for kind in kinds}
    cells, judged = judged_cells(noises)
    headline, details = verdict_of(cells, judged)
    name = {"bi": "bi-", "late": "late-interaction ", "cross": "cross-"}[ahead] + "encoder"
    assert headline == f"The {name} on sts."
    assert details.count(f"the best {name} is ahead of the best") == 2
    assert ", all without SimCSE." in details and "after Holm's correction" in details
    final = next(each for each in judged if each.split == "test").main_comparisons()
    assert [one.p_holm for one in final] == holm([one.p for one in final]) and len(final) == 3


def test_two_level_encoders_leave_a_third_undecided():
    cells, judged = judged_cells(
        {("none", k): GOOD for k in ("bi", "late")} | {("none", "cross"): BAD}
    )
    headline, details = verdict_of(cells, judged)
    assert headline == "The data show no encoder ahead of all others."
    assert details.count("is ahead of the best cross-encoder") == 2 and "cannot tell" in details


def test_the_best_are_chosen_on_dev_and_compared_on_test():
    noises = {
        ("none", "bi"): (3.0, 0.1), ("sup", "bi"): (0.5, 0.5),
        ("none", "cross"): (0.6, 3.0), ("sup", "cross"): (3.0, 3.0),
    }  # fmt: skip
    words = paragraph(*judged_cells(noises))
    assert (
        "the best bi-encoder (with sup SimCSE) is ahead of the best cross-encoder (without" in words
    )
    # Setting by setting it may be otherwise.
    assert "; like with like, the bi-encoder is ahead without and with sup SimCSE." in words
    assert "the best are chosen on the dev split" in words


def test_the_best_two_are_tested_by_themselves_and_all_others_by_holm():
    noises = {(stage, kind): GOOD for stage in ("none", "sup") for kind in ("bi", "cross")}
    noises["sup", "bi"] = noises["sup", "cross"] = (0.3, 0.3)
    cells, judged = judged_cells(noises)
    final = next(each for each in judged if each.split == "test").main_comparisons()
    (own,) = [one for one in final if one.p_holm is None]
    assert {own.a, own.b} == {c.system for c in cells if c.pretrain == "sup"}
    # What SimCSE changed in the frozen bi-encoder is a family of its own, here of one.
    both = {c.system for c in cells if c.encoder == "bi"}
    (changed,) = [one for one in final if {one.a, one.b} == both]
    assert changed.p_holm == changed.p
    others = [one for one in final if one not in (own, changed)]
    assert [one.p_holm for one in others] == holm([one.p for one in others]) and len(others) == 4
    assert all(one.p_holm is not None for one in judged[0].comparisons)  # dev, which chose them
    words = paragraph(cells, judged)
    assert (
        "best against best by itself; what SimCSE changed, and all other pairs, after Holm's"
        in words
    )
    assert f"can detect a difference of {own.findable:.3f} with 80% power" in words


def test_several_seeds_say_how_much_of_the_spread_is_theirs():
    noises = {("sup", kind): (0.3, 0.3) for kind in ("bi", "cross")}
    cells, judged = judged_cells(noises, seeds=(1, 2, 3))
    (own,) = next(each for each in judged if each.split == "test").main_comparisons()
    assert 0 < own.seeds_share < 1
    said = f"of the variance of best against best, seeds make {own.seeds_share:.0%} on sts."
    assert said.replace("%", " %") in " ".join(paragraph(cells, judged).split())


def test_a_grid_of_stages_and_tunings_takes_few_words():
    noises = {}
    for stage in ("none", "unsup", "sup"):
        noises |= {(stage, "bi", "frozen"): GOOD, (stage, "cross", "frozen"): BAD}
        noises |= {(stage, kind, "full"): (0.3, 0.3) for kind in ("bi", "cross")}
    words = paragraph(*judged_cells(noises))
    assert ", both fully tuned with" in words
    assert "the bi-encoder is ahead (frozen without, with unsup and with sup SimCSE) and" in words
    assert "it is undecided (fully tuned" in words and len(words) < 1000


def test_one_encoder_is_compared_with_itself_only():
    cells, judged = judged_cells({("none", "bi"): BAD, ("sup", "bi"): GOOD, ("ct", "bi"): GOOD})
    headline, details = verdict_of(cells, judged)
    assert headline == "" and "the bi-encoder alone, best with " in details
    assert "the data cannot tell it from the one with " in details
    assert "the one without SimCSE" not in details


def test_without_test_labels_the_verdict_is_about_dev_and_one_seed_is_less_than_several():
    noises = {("none", "bi"): GOOD, ("none", "cross"): BAD}
    words = paragraph(*judged_cells(noises, ("dev",)))
    assert f"On {N} dev rows of sts;" in words and "chosen on" not in words
    assert "One seed: this describes these trained systems" in words
    assert "means over 3 seeds" in paragraph(*judged_cells(noises, ("dev",), seeds=(1, 2, 3)))


def test_each_task_has_its_own_answer():
    sts = judged_cells({("none", "bi"): GOOD, ("none", "cross"): BAD})
    para = judged_cells({("none", "bi"): BAD, ("none", "cross"): (0.2, 0.2)}, task="para")
    headline, details = verdict_of(*(a + b for a, b in zip(sts, para, strict=True)))
    assert headline == "The bi-encoder on sts; the cross-encoder on para."
    assert details.index("Similarity") < details.index("Paraphrase yes/no (para): ")


def test_nothing_judged_is_no_verdict():
    assert paragraph([cell()], []) == "" and paragraph([], []) == ""


def test_a_metric_without_a_value_is_not_compared():
    cells, _ = judged_cells({("none", "bi"): GOOD, ("none", "cross"): GOOD})
    labels = {("sts", "test"): np.arange(N) % 6.0}
    systems = {("sts", "test"): {c.system: {1: np.ones(N)} for c in cells}}
    constant = judge(systems, labels, each_alone(labels))
    words = paragraph(cells, constant)
    assert "cannot be compared" in words and "nan" not in words and "None" not in words
