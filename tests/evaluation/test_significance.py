"""Every two systems: differences are paired, seeds count as what they are, nothing is NaN."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from made_systems import gold_of, system
from scipy import stats

from data.tasks import TASKS
from evaluation import intervals, paired_tests
from evaluation.metrics import task_metrics
from evaluation.significance import adjusted, compare

PAIRS = [(task, metric) for task, record in TASKS.items() for metric in record.metrics]


@pytest.fixture
def few_resamples(monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 300)
    monkeypatch.setattr(paired_tests, "SWAPS", 300)


def made(task, n=60, seeds=(1,), skills=(0.2, 0.5, 0.8)):
    """Return systems a, b, c of rising skill, and the labels."""
    draw = np.random.default_rng(0)
    gold = gold_of(task, n, draw)
    return {
        name: {seed: system(task, gold, draw, skill) for seed in seeds}
        for name, skill in zip("abc", skills, strict=True)
    }, gold


@pytest.mark.parametrize(("task", "metric"), PAIRS)
@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
def test_every_system_is_measured_and_every_two_are_compared(task, metric, seeds, few_resamples):
    systems, gold = made(task, seeds=seeds)
    estimates, comparisons = compare(task, metric, systems, gold)
    scores = {
        name: [task_metrics(task, found, gold)[metric] for found in runs.values()]
        for name, runs in systems.items()
    }
    for one in estimates:
        assert one.mean == pytest.approx(np.mean(scores[one.system]))
        assert one.interval.low <= one.mean <= one.interval.high
        assert (one.deviation is None) == (len(seeds) == 1)
        if one.deviation is not None:
            assert one.deviation == pytest.approx(np.std(scores[one.system], ddof=1))
    assert [(one.a, one.b) for one in comparisons] == [("a", "b"), ("a", "c"), ("b", "c")]
    for one in comparisons:
        assert one.difference == pytest.approx(np.mean(scores[one.a]) - np.mean(scores[one.b]))
        assert one.interval.low <= one.difference <= one.interval.high
        assert 0 < one.p <= 1 and one.seeds == seeds
    assert comparisons[1].p < 0.05  # the best against the worst
    assert (comparisons[0].williams is not None) == (metric == "pearson" and len(seeds) == 1)


@pytest.mark.parametrize(
    ("task", "metric", "seeds", "test"),
    [
        ("sst", "accuracy", (1,), "McNemar, exact"),
        ("para", "f1", (1,), "paired permutation"),
        ("sts", "spearman", (1,), "paired permutation"),
        ("para", "accuracy", (1, 2), "t over rows and seeds"),
    ],
)
def test_the_test_is_named(task, metric, seeds, test, few_resamples):
    systems, gold = made(task, seeds=seeds)
    assert {one.test for one in compare(task, metric, systems, gold)[1]} == {test}


def test_the_interval_of_a_difference_is_paired(few_resamples):
    """Two systems with the same errors but one: the difference is far surer than either score."""
    gold = np.arange(200) % 2 * 1.0
    draw = np.random.default_rng(1)
    a = np.where(draw.random(200) < 0.7, gold, 1 - gold)
    b = a.copy()
    b[:8] = gold[:8]
    (one, _), (both,) = compare("para", "accuracy", {"a": {1: a}, "b": {1: b}}, gold)
    wide, narrow = one.interval, both.interval
    assert narrow.high - narrow.low < (wide.high - wide.low) / 3
    again = stats.bootstrap(
        (a == gold, b == gold), lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        paired=True, n_resamples=300, random_state=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    assert (narrow.low, narrow.high) == pytest.approx(again)


def test_the_williams_test_is_of_the_predictions_correlations(few_resamples):
    systems, gold = made("sts")
    (found, *_) = compare("sts", "pearson", systems, gold)[1]
    r = np.corrcoef([gold, systems["a"][1], systems["b"][1]])
    expected = paired_tests.williams(r[0, 1], r[0, 2], r[1, 2], 60)
    assert found.williams.t == pytest.approx(expected.t)
    assert (found.williams.df, found.williams.p) == (57, pytest.approx(expected.p))


def test_only_wanted_pairs_with_common_seeds_are_compared(few_resamples):
    systems, gold = made("para", seeds=(1, 2))
    systems["b"] = {2: systems["b"][2], 3: systems["b"][1]}
    systems["c"] = {7: systems["c"][1]}
    pairs = [("a", "b"), ("a", "c")]
    (found,) = compare("para", "accuracy", systems, gold, pairs)[1]
    assert (found.a, found.b, found.seeds) == ("a", "b", (2,))
    scores = [task_metrics("para", systems[name][2], gold)["accuracy"] for name in "ab"]
    assert found.difference == pytest.approx(scores[0] - scores[1])


def test_the_luck_of_seeds_is_not_taken_for_an_effect(monkeypatch):
    """Systems equally good on average, whose seeds differ: rows alone would find a difference."""
    monkeypatch.setattr(intervals, "RESAMPLES", 100)
    draw, significant, by_rows = np.random.default_rng(2), [], []
    gold = np.zeros(150)
    for _ in range(100):
        luck = draw.normal(0.7, 0.06, (2, 3, 1))
        hard = draw.normal(0, 0.1, 150)
        wrong = (draw.random((2, 3, 150)) > luck + hard).astype(float)
        systems = {name: dict(enumerate(wrong[k])) for k, name in enumerate("ab")}
        (found,) = compare("para", "accuracy", systems, gold)[1]
        significant.append(found.p < 0.05)
        by_rows.append(paired_tests.mcnemar(wrong[0, 0] == 0, wrong[1, 0] == 0) < 0.05)
    assert np.mean(significant) <= 0.1  # a standard error of 0.02
    assert np.mean(by_rows) > 0.15


@pytest.mark.parametrize(("task", "metric"), PAIRS)
@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_what_cannot_be_compared_is_none_and_what_is_equal_has_p_1(
    task, metric, n, seeds, few_resamples, recwarn
):
    gold = np.arange(n) % TASKS[task].num_classes * 1.0
    systems = {"gold": gold, "same": gold.copy(), "constant": np.zeros(n)}
    systems = {name: dict.fromkeys(seeds, found) for name, found in systems.items()}
    estimates, comparisons = compare(task, metric, systems, gold)
    text = json.dumps([asdict(one) for one in (*estimates, *comparisons)], allow_nan=False)
    assert json.loads(text)
    equal, versus, _ = comparisons
    correlation = TASKS[task].kind == "score"
    if n >= 3:
        assert (equal.difference, equal.p) == (0.0, 1.0)
        assert (versus.p is None) == correlation
    else:
        assert {one.p for one in comparisons} == {None}
    if correlation:
        assert estimates[2].mean is None and versus.difference is None and versus.interval is None
    assert not any(one.decided for one in comparisons[:1])
    assert not recwarn.list


def test_scores_stay_possible_however_much_seeds_differ(few_resamples):
    gold = np.arange(40) % 2 * 1.0
    wild = {1: gold, 2: 1 - gold}
    (one, _), (both,) = compare("para", "f1", {"a": wild, "b": {1: gold, 2: gold}}, gold)
    assert (one.interval.low, one.interval.high) == (0.0, 1.0)
    assert -1.0 <= both.interval.low <= both.interval.high <= 1.0


def test_comparisons_made_together_are_adjusted_together(few_resamples):
    systems, gold = made("sts")
    comparisons = adjusted(compare("sts", "pearson", systems, gold)[1])
    assert [one.p_holm for one in comparisons] == paired_tests.holm([o.p for o in comparisons])
    assert all(one.decided == (one.p_holm < 0.05) for one in comparisons)
