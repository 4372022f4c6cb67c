"""Paired tests give published values, scipy's and statsmodels', and are wrong 5 times in 100."""

from itertools import product

import numpy as np
import pytest
from made_systems import gold_of, system
from scipy import stats

from data.tasks import TASKS
from evaluation import paired_tests as module
from evaluation.metrics import task_metrics
from evaluation.paired_tests import holm, mcnemar, swap_test, williams


def rights(both, only_a, only_b, neither) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows a and b have right, from the four counts."""
    counts = (both, only_a, only_b, neither)
    return tuple(np.repeat(values, counts) for values in ([1, 1, 0, 0], [1, 0, 1, 0]))


@pytest.mark.parametrize(
    ("counts", "p"),
    [
        ((50, 1, 9, 3), 2 * (1 + 10) / 2**10),  # of ten coins, at most one head, on either side
        ((50, 5, 5, 0), 1.0),
        ((9, 0, 0, 9), 1.0),  # identical
        ((0, 6, 0, 0), 2 / 2**6),
    ],
)
def test_mcnemar_counts_rows_that_only_one_has_right(counts, p):
    a, b = (found.astype(bool) for found in rights(*counts))
    assert mcnemar(a, b) == pytest.approx(p)
    assert mcnemar(b, a) == pytest.approx(p)


def test_mcnemar_is_that_of_statsmodels():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    for counts in ((20, 3, 11, 6), (101, 121, 59, 33), (1, 2, 3, 4)):
        a, b = (found.astype(bool) for found in rights(*counts))
        expected = tables.mcnemar(np.array(counts).reshape(2, 2), exact=True).pvalue
        assert mcnemar(a, b) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("r_a", "r_b", "r_ab", "n", "t", "p"),
    [
        (0.80, 0.72, 0.89, 26, 1.361, 0.187),  # Howell, Statistical Methods for Psychology, 6th ed.
        (0.40, 0.50, 0.10, 103, -0.89, 0.37),  # Steiger 1980, case A; r.test of R's psych
        (0.20, 0.45, 0.80, 100, -4.56, 1e-5),  # cor_diff of R's bruceR
    ],
)
def test_williams_gives_published_values(r_a, r_b, r_ab, n, t, p):
    found = williams(r_a, r_b, r_ab, n)
    digits = 3 if t == 1.361 else 2
    assert (round(found.t, digits), found.df) == (t, n - 3)
    assert found.p == pytest.approx(p, abs=max(5 * 10**-(digits), 1e-5) if p > 1e-3 else 5e-6)


def test_williams_holds_its_level_for_correlations_that_share_the_gold():
    draw = np.random.default_rng(0)
    p_values = []
    for _ in range(2000):
        gold = draw.normal(size=40)
        a, b = (gold + draw.normal(0, 0.7, 40) for _ in range(2))
        r = np.corrcoef([gold, a, b])
        p_values.append(williams(r[0, 1], r[0, 2], r[1, 2], 40).p)
    assert 0.035 <= np.mean(np.array(p_values) < 0.05) <= 0.065
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.parametrize(
    ("r", "n"), [((0.5, 0.5, 1.0), 30), ((1.0, 1.0, 1.0), 30), ((0.5, 0.4, 0.1), 3)]
)
def test_williams_is_undefined_for_equal_predictions_and_few_rows(r, n, recwarn):
    assert williams(*r, n) is None
    assert not recwarn.list


def slow_p(metric, task, a, b, gold) -> float:
    """Return the exact p: every way to let the rows change places, the metric from scratch."""
    if metric == "pearson":
        a, b = stats.zscore(a), stats.zscore(b)

    def difference(swapped):
        first, second = np.where(swapped, b, a), np.where(swapped, a, b)
        scores = [task_metrics(task, found, gold)[metric] for found in (first, second)]
        return round(scores[0] - scores[1], 9)

    observed = difference(np.zeros(len(gold), bool))
    found = np.array(
        [difference(np.array(one)) for one in product([False, True], repeat=len(gold))]
    )
    return min(1.0, 2 * min(np.mean(found <= observed), np.mean(found >= observed)))


@pytest.mark.parametrize(("task", "metric"), [("para", "f1"), ("sst", "f1"), ("sst", "accuracy"),
                                              ("sts", "pearson")])  # fmt: skip
def test_few_rows_are_swapped_in_every_way(task, metric):
    draw = np.random.default_rng(6)
    gold = gold_of(task, 6, draw)
    a, b = (system(task, gold, draw, skill) for skill in (0.9, 0.2))
    (found,) = swap_test(metric, TASKS[task], a[None], b[None], gold)
    assert found == pytest.approx(slow_p(metric, task, a, b, gold))


def test_many_rows_are_swapped_at_random_as_scipy_does(monkeypatch):
    monkeypatch.setattr(module, "SWAPS", 500)
    draw = np.random.default_rng(7)
    gold = gold_of("sts", 50, draw)
    a, b = (system("sts", gold, draw, skill) for skill in (0.6, 0.4))

    def difference(first, second):
        return stats.pearsonr(first, gold)[0] - stats.pearsonr(second, gold)[0]

    expected = stats.permutation_test(
        (stats.zscore(a), stats.zscore(b)), difference, permutation_type="samples",
        vectorized=False, n_resamples=500, random_state=np.random.default_rng(module.SEED),
    )  # fmt: skip
    (found,) = swap_test("pearson", TASKS["sts"], a[None], b[None], gold)
    assert found == pytest.approx(expected.pvalue)


def test_several_pairs_are_tested_as_each_alone():
    draw = np.random.default_rng(8)
    gold = gold_of("sts", 30, draw)
    a, b = (np.stack([system("sts", gold, draw, s) for s in (0.2, 0.5, 0.8)]) for _ in range(2))
    for metric in ("pearson", "spearman"):
        together = swap_test(metric, TASKS["sts"], a, b, gold)
        alone = [swap_test(metric, TASKS["sts"], a[[k]], b[[k]], gold)[0] for k in range(3)]
        assert together.tolist() == alone


@pytest.mark.parametrize(
    ("task", "metric"), [("para", "f1"), ("sts", "pearson"), ("sts", "spearman")]
)
def test_equally_good_systems_differ_significantly_5_times_in_100(task, metric, monkeypatch):
    monkeypatch.setattr(module, "SWAPS", 200)
    draw, p_values = np.random.default_rng(9), []
    for _ in range(400):
        gold = gold_of(task, 40, draw)
        a, b = (system(task, gold, draw, 0.5) for _ in range(2))
        if task == "sts":
            b = 10 * b - 3  # on a scale of its own
        p_values.append(swap_test(metric, TASKS[task], a[None], b[None], gold)[0])
    assert 0.02 <= np.mean(np.array(p_values) < 0.05) <= 0.085  # a standard error of 0.011


def test_identical_predictions_have_p_1(recwarn):
    gold = np.arange(20.0)
    for metric in ("pearson", "spearman"):
        assert swap_test(metric, TASKS["sts"], gold[None], gold[None], gold).tolist() == [1.0]
    assert not recwarn.list


def test_holm_is_worked_by_hand():
    # Sorted: 4 x 0.005, 3 x 0.01, 2 x 0.03; then 0.04, which is not below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, None, 0.6]) == [0.02, None, 0.6]
    assert holm([0.7, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_is_that_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for seed in range(5):
        p_values = np.random.default_rng(seed).random(12) ** 3
        expected = multitest.multipletests(p_values, method="holm")[1]
        assert holm(p_values.tolist()) == pytest.approx(expected.tolist())
