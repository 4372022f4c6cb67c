"""Tables as CSV: what data hold is text, in a spreadsheet as well."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evaluation.suites.results import Result, Shown, averages, over_sets, shown_table
from evaluation.table import csv_text


@pytest.mark.parametrize(
    ("row", "line"),
    [
        *((["=2+5", -0.5], "'=2+5,-0.5"), (["+1-1"], "'+1-1"), (["-a"], "'-a")),
        *((["@SUM(A1)"], "'@SUM(A1)"), (["\t=1"], "'\t=1"), ([" =1"], "' =1")),
        (["＝1"], "'＝1"),  # full width
        # Numbers are no formulas however they are spelled.
        (["-0.5", "+1", "-1e-09", -0.5, "1-1"], "-0.5,+1,-1e-09,-0.5,1-1"),
    ],
)
def test_words_never_start_a_formula(row, line):
    assert csv_text(["a", "b"], [row]) == f"a,b\n{line}\n"


def result(model, of, value):
    return Result(model, "sts", of, "all", "spearman", value, 100, 0.0, None)


def test_an_average_is_of_all_its_columns_or_of_none():
    shown = Shown("STS", metric="spearman", averaged=("A", "B"))
    values = {"all": (0.5, 0.7), "undefined": (0.5, None)}
    results = [
        result(m, of, v) for m, own in values.items() for of, v in zip("AB", own, strict=True)
    ]
    whole = [*results, *averages(results, shown)]
    lines = [line.split() for line in shown_table(whole, shown).splitlines()]
    assert lines[2] == "| model | A | B | average of 2 |".split()
    # Two sets say little: 60 plus or minus 12.7 standard errors of 10.
    assert lines[4] == "| all | 50.0 | 70.0 | 60.0 [-67.1, 100.0] |".split()
    assert lines[5] == "| undefined | 50.0 | - | - |".split()
    assert not list(averages(results[:1], shown))


def test_an_average_says_what_was_seen_and_what_is_left_without_it():
    shown = Shown("STS", metric="spearman", averaged=("A", "B"))
    half = replace(result("m", "A", 0.5), seen=0.5, unseen=0.25)
    (own,) = averages([half, replace(result("m", "B", 0.75), n=300, unseen=0.75)], shown)
    assert (own.value, own.n, own.seen, own.unseen) == (0.625, 400, 0.125, 0.5)
    assert shown.cell(own) == "62.5 [-96.3, 100.0] (50.0)"
    (own,) = averages([replace(half, unseen=None), result("m", "B", 0.75)], shown)
    assert own.unseen is None


def test_models_of_different_sets_have_no_average_together():
    shown = Shown("STS", metric="spearman", averaged=("A", "B", "C"))
    sets = {"m": "AB", "n": "AC"}
    results = [result(model, of, 0.5) for model, own in sets.items() for of in own]
    assert not list(averages(results, shown))


def test_averages_and_ranks_are_those_of_the_t_test_over_sets():
    draw = np.random.default_rng(0)
    hard = draw.normal(0, 0.1, 5)  # for all models
    values = np.array([[0.6], [0.61], [0.3]]) + hard + draw.normal(0, 0.01, (3, 5))
    results = [
        result(name, of, value)
        for name, by_set in zip("abc", values.tolist(), strict=True)
        for of, value in zip("VWXYZ", by_set, strict=True)
    ]
    results[:5] = results[4::-1]  # a model's sets may come in another order
    shown = Shown("STS", metric="spearman", averaged=tuple("VWXYZ"))
    averaged = list(averages(results, shown))
    for average, by_set in zip(averaged[::2], values, strict=True):
        interval = stats.ttest_1samp(by_set, 0).confidence_interval()
        assert (average.low, average.high) == pytest.approx(tuple(interval))
        assert average.value == pytest.approx(by_set.mean())
    assert [stats.ttest_rel(values[k], values[2]).pvalue < 0.05 / 2 for k in (0, 1)] == [True] * 2
    assert stats.ttest_rel(values[0], values[1]).pvalue > 0.05 / 2
    order = np.argsort(-values.mean(axis=1)).argsort() + 1
    ranks = [(rank.value, rank.low, rank.high) for rank in averaged[1::2]]
    assert ranks == [(order[0], 1, 2), (order[1], 1, 2), (3, 3, 3)]
    lines = shown_table([*results, *averaged], shown).splitlines()
    assert lines[-1].split("|")[-2].strip() == "3 [3, 3]"


def test_models_that_score_alike_on_every_set_share_a_rank():
    _, ranks, places = over_sets(np.array([[0.5, 0.7], [0.5, 0.7], [0.4, 0.6]]))
    assert ranks.tolist() == [1, 1, 3] and places.tolist() == [[1, 2], [1, 2], [3, 3]]


def test_one_of_two_models_is_better_where_the_paired_t_test_says_so():
    draw, found = np.random.default_rng(1), 0
    for _ in range(100):
        values = draw.normal([[0.2], [0.0]], 0.1, (2, 3))  # of three sets
        wanted = stats.ttest_rel(*values).pvalue < 0.05
        up = int(wanted and values[0].mean() > values[1].mean())
        down = int(wanted) - up
        assert over_sets(values)[2].tolist() == [[1 + down, 2 - up], [1 + up, 2 - down]]
        found += wanted
    assert 10 < found < 90
