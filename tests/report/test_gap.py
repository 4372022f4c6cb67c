"""How much of a gap is closed: known shares, intervals by a slow bootstrap, and no gap at all."""

from dataclasses import replace

import numpy as np
import pytest
from made_cells import cell, para_cell
from made_run import made_run
from scipy import stats

from data.examples import SentencePair
from data.tasks import Splits
from evaluation.intervals import over_seeds
from evaluation.metrics import task_metrics
from report.__main__ import main
from report.gap import Gap, closed_interval, gap_line, gaps
from report.run_folder import RunFolder
from report.verdict import judge_cells

N = 400
KINDS = ("bi", "cross", "distilled")


def right_in(count: int, labels: np.ndarray, first: int = 0) -> np.ndarray:
    """Return calls of which `count` are right, beginning at row `first`."""
    wrong = np.ones(len(labels), bool)
    wrong[(first + np.arange(count)) % len(labels)] = False
    return np.where(wrong, 1 - labels, labels)


def found_gaps(path, right: dict[str, tuple[int, ...]], **changes):
    """Return the gaps of a run whose encoders have so many rows right, one number per seed."""
    pairs = [SentencePair(f"p{i}", "x", "y", float(i % 2)) for i in range(N)]
    labels = np.array([pair.label for pair in pairs])
    folder, cells = RunFolder(path), []
    for kind, counts in right.items():
        for seed, count in enumerate(counts, 1):
            one = para_cell(encoder=kind, seed=seed, split="test", n=N, **changes)
            ids = [pair.id for pair in pairs]
            calls = right_in(count, labels)
            folder.write_predictions(one.name, "para", "test", ids, calls)
            cells.append(one)
    splits = {"para": Splits([], [], pairs)}
    return gaps(cells, judge_cells(cells, splits, folder), splits, folder)


def test_a_share_is_that_of_the_gains(tmp_path):
    (gap,) = found_gaps(tmp_path, {"bi": (200,), "cross": (300,), "distilled": (225,)})
    assert (gap.task, gap.split, gap.setting, gap.metric) == (
        "para", "test", "none, frozen", "accuracy"
    )  # fmt: skip
    assert (gap.bi, gap.cross, gap.distilled) == (0.5, 0.75, 0.5625) and gap.ahead == "cross"
    assert gap.share == pytest.approx(0.25)
    low, high = (
        f"{bound:.0%}".replace("%", " %") for bound in (gap.interval.low, gap.interval.high)
    )
    assert gap_line(gap) == (
        "para test, none, frozen, accuracy: distilled (0.562) closes 25 % "
        f"[{low}, {high}] of the gap from bi (0.500) to cross (0.750)"
    )


def test_the_interval_is_that_of_resampled_shares():
    """Against scipy on the rows themselves, whose statistic is the ratio of three accuracies."""
    labels = np.arange(N) % 2.0
    calls = [right_in(200, labels), right_in(320, labels, 50), right_in(250, labels, 100)]
    right = [(found == labels).astype(float) for found in calls]

    def share(bi, cross, distilled, axis):
        gap = cross.mean(axis=axis) - bi.mean(axis=axis)
        return (distilled.mean(axis=axis) - bi.mean(axis=axis)) / gap

    expected = stats.bootstrap(
        right, share, paired=True, vectorized=True, n_resamples=4000, method="BCa",
        random_state=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    predictions, values = np.array(calls)[:, None], np.array([[200], [320], [250]]) / N
    found = closed_interval("para", "accuracy", predictions, labels, values)
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.03)
    assert found.low < 50 / 120 < found.high


def test_the_interval_over_seeds_is_that_of_the_linearised_ratio():
    draw, labels = np.random.default_rng(0), np.random.default_rng(1).normal(size=200)
    noises = np.array([1.2, 0.5, 0.8])[:, None, None]
    predictions = labels + noises * draw.normal(size=(3, 4, 200))
    values = np.array([
        [task_metrics("sts", one, labels)["pearson"] for one in of_kind] for of_kind in predictions
    ])  # fmt: skip
    found = closed_interval("sts", "pearson", predictions, labels, values)
    gains, wide = values[2] - values[0], values[1] - values[0]
    share = gains.mean() / wide.mean()
    assert found.method == "t" and (found.low + found.high) / 2 == pytest.approx(share)
    resampled = []
    for rows in draw.integers(0, 200, (400, 200)):
        bi, cross, distilled = np.mean([
            [task_metrics("sts", one[rows], labels[rows])["pearson"] for one in of_kind]
            for of_kind in predictions
        ], axis=1)  # fmt: skip
        resampled.append((distilled - bi) / (cross - bi))
    expected, _ = over_seeds(share + (gains - share * wide) / wide.mean(), np.std(resampled), 200)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_seeds_are_averaged_before_they_are_divided(tmp_path):
    right = {"bi": (200, 210, 205), "cross": (310, 320, 318), "distilled": (240, 220, 245)}
    (gap,) = found_gaps(tmp_path, right)
    assert gap.bi == pytest.approx(205 / N) and gap.share == pytest.approx(90 / 333)
    assert gap.interval.method == "t"


def test_where_the_data_tell_no_gap_there_is_no_share(tmp_path):
    (gap,) = found_gaps(tmp_path / "a", {"bi": (200,), "cross": (202,), "distilled": (300,)})
    assert gap.ahead == "" and gap.share is None and gap.interval is None
    assert gap_line(gap).endswith(
        ": the data do not show a gap from bi (0.500) to cross (0.505); distilled has 0.750"
    )
    (gap,) = found_gaps(tmp_path / "b", {"bi": (300,), "cross": (200,), "distilled": (301,)})
    assert gap.ahead == "bi" and gap.share is None
    assert "bi (0.750) is ahead of cross (0.500), so there is no gap to close" in gap_line(gap)


def test_what_falls_back_has_a_share_below_nought(tmp_path):
    (gap,) = found_gaps(tmp_path, {"bi": (200,), "cross": (300,), "distilled": (150,)})
    assert gap.share == pytest.approx(-0.5) and "closes -50 %" in gap_line(gap)
    assert "closes 30 % of" in gap_line(replace(gap, share=0.3, interval=None))


def test_without_all_three_encoders_there_is_nothing_to_tell(tmp_path):
    assert found_gaps(tmp_path, {"bi": (200,), "cross": (300,)}) == []
    assert gaps([cell()], [], {}, RunFolder(tmp_path)) == []
    assert isinstance(found_gaps(tmp_path, dict.fromkeys(KINDS, (200,)))[0], Gap)


def test_the_page_tells_the_gaps_and_draws_three_encoders(tmp_path):
    run = made_run(tmp_path, tasks=("para",), encoders=KINDS)
    assert main(["html", str(run)]) == 0
    page = (run / "report.html").read_text()
    assert page.count("<p>Distilling: para test, ") == 2  # of two contrastive stages
    for words in (
        "none distilled",
        "distilled</text>",
        "Examples of disagreement",
        "Where the enc",
    ):
        assert words in page, words
