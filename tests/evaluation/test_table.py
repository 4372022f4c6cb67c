"""Tables as CSV: what data hold is text, in a spreadsheet as well."""

from dataclasses import replace

import numpy as np
import pytest

from evaluation.intervals import SEED, TAILS
from evaluation.suites.results import Result, Shown, averages, shown_table
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
    assert lines[4] == "| all | 50.0 | 70.0 | 60.0 |".split()
    assert lines[5] == "| undefined | 50.0 | - | - |".split()
    assert not list(averages(results[:1], shown))


def test_an_average_says_what_was_seen_and_what_is_left_without_it():
    shown = Shown("STS", metric="spearman", averaged=("A", "B"))
    half = replace(result("m", "A", 0.5), seen=0.5, unseen=0.25)
    (own,) = averages([half, replace(result("m", "B", 0.75), n=300, unseen=0.75)], shown)
    assert (own.value, own.n, own.seen, own.unseen) == (0.625, 400, 0.125, 0.5)
    assert shown.cell(own) == "62.5 (50.0 on the unseen 88%)"
    (own,) = averages([replace(half, unseen=None), result("m", "B", 0.75)], shown)
    assert own.unseen is None


def test_models_of_different_sets_have_no_average_together():
    shown = Shown("STS", metric="spearman", averaged=("A", "B", "C"))
    sets = {"m": "AB", "n": "AC"}
    results = [result(model, of, 0.5) for model, own in sets.items() for of in own]
    assert not list(averages(results, shown))


def test_ranks_and_averages_vary_with_sets_and_rows_as_in_a_plain_loop():
    draw = np.random.default_rng(0)
    values = draw.normal([[[0.6], [0.7]], [[0.62], [0.69]], [[0.1], [0.2]]], 0.02, (3, 2, 80))
    results = [
        replace(result(name, of, float(row.mean())), resampled=row)
        for name, own in zip("abc", values, strict=True)
        for of, row in zip("XY", own, strict=True)
    ]
    chosen = np.random.default_rng(SEED).integers(0, 2, (2, 80))
    means, ranks = [], []
    for b in range(80):
        drawn = [np.mean([own[one][b] for one in chosen[:, b]]) for own in values]
        # Two sets: Student's t of one degree of freedom, and n / (n - 1) for the variance.
        wider = 12.7062 / 1.95996 * 2**0.5
        means.append(
            [own.mean() + wider * (x - own.mean()) for x, own in zip(drawn, values, strict=True)]
        )
        ranks.append([1 + sum(other > one for other in means[-1]) for one in means[-1]])
    low, high = np.quantile(means, TAILS, axis=0).clip(-1, 1)
    best, worst = np.quantile(ranks, TAILS, axis=0, method="inverted_cdf").astype(int)
    shown = Shown("STS", metric="spearman", averaged=("X", "Y"))
    lines = shown_table([*results, *averages(results, shown)], shown).splitlines()[4:]
    for k, (line, name) in enumerate(zip(lines, "abc", strict=True)):
        mean = np.mean([one.value for one in results if one.model == name])
        rank = 1 + sum(own.mean() > values[k].mean() for own in values)
        wanted = f"{100 * mean:.1f} [{100 * low[k]:.1f}, {100 * high[k]:.1f}] "
        assert wanted in line and line.split("|")[-2].split() == [
            str(rank), f"[{best[k]},", f"{worst[k]}]"
        ]  # fmt: skip
