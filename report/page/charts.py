"""The figures of a run's answer: differences around zero, scores, costs, effect of SimCSE."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from evaluation.metrics import COSINE
from evaluation.significance import Comparison, Estimate
from heads.config import READERS
from report.cell import rows_of
from report.costs import SEARCHED, in_words, search_seconds, search_spread
from report.finished import FinishedRun
from report.judging import Judged
from report.page.figure import INK, MUTED, PAPER, SERIES, Figure, draw, legend
from report.page.tables import Table, number, word
from report.rating_groups import RatingGroup
from report.verdict import metric_name, sentence_case, setting, task_name

# Reader -> colour, marker and dashes of lines: differences do not depend on colour only.
STYLES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
LOOKS: dict[str, tuple[str, str, Any]] = {
    "bi": (SERIES[0], "o", STYLES[0]),
    "cross": (SERIES[1], "s", STYLES[1]),
    "late": (SERIES[2], "D", STYLES[2]),
}
ROW, AROUND = 0.46, 0.75  # inches: height of a row of points, and of the margins


# Differences, with their intervals.

Difference = tuple[str, Comparison, str]  # in words, a minus b, and the reader whose colour is used


def difference_figure(run: FinishedRun) -> Figure | None:
    """Return a figure of the differences in the verdict, around zero; None if there are none."""
    asked = [place for place in run.judged if place.question.best]
    rows = [
        row
        for place in asked
        for row in (*_between_readers(place), *_above_floor(place), *_by_simcse(place))
    ]
    if len(asked) == 1:  # the page says which task it is
        task = f"{sentence_case(task_name(asked[0].task))}, "
        rows = [(words.replace(task, ""), versus, colour) for words, versus, colour in rows]
    # Differences of readers come first, for all tasks.
    rows.sort(key=lambda row: row[0].startswith(SIMCSE))
    if not rows:
        return None
    return draw(
        "differences",
        "Differences",
        "Lines: confidence intervals. One that crosses 0 is a difference that is not significant "
        "(hollow).",
        None,  # that table has the numbers
        partial(_paint_differences, rows=rows),
        height=ROW * len(rows) + AROUND,
    )


SIMCSE = "Effect of "


def _between_readers(place: Judged) -> list[Difference]:
    """Return the differences of the best systems of every two readers."""
    rows = []
    best, metric = place.question.best, place.main_metric
    for a, b in combinations(best, 2):
        versus = place.between(best[a], best[b], metric)
        if versus is not None and versus.difference is not None:
            better = a if versus.difference > 0 else b
            readers = f"{READERS[a]} minus {READERS[b]}"
            rows.append((f"{_about(place, metric)}: {readers}", versus, LOOKS[better][0]))
    return rows


def _above_floor(place: Judged) -> list[Difference]:
    """Return the differences of the best systems from the best of what needs no trained head."""
    metric, rows = place.main_metric, []
    for reader, system in place.question.best.items():
        for floor in place.floors[:1]:
            versus = place.between(system, floor, metric)
            if versus is not None and versus.difference is not None:
                words = f"{_about(place, metric)}: {READERS[reader]} minus {floor}"
                rows.append((words, versus, LOOKS[reader][0]))
    return rows


def _by_simcse(place: Judged) -> list[Difference]:
    """Return the effect of each contrastive stage on the frozen bi-encoder."""
    rows = []
    for before, after in place.question.changes:
        stage = setting(place.question.systems[after].pretrain)
        for what, metric in (("cosine", COSINE), ("bi-encoder head", place.main_metric)):
            versus = place.between(after, before, metric)
            if versus is not None and versus.difference is not None:
                words = f"{SIMCSE}{stage}: {what}, {_about(place, metric)}"
                rows.append((words, versus, LOOKS["bi"][0]))
    return rows


def _about(place: Judged, metric: str) -> str:
    return f"{sentence_case(task_name(place.task))}, {metric_name(metric)}"


def _paint_differences(axes: Any, rows: Sequence[Difference]) -> None:
    axes.axvline(0, color=INK, lw=1)
    for y, (words, versus, colour) in enumerate(rows):
        _paint_point(axes, versus.difference, y, versus.interval, colour, "o", versus.decided)
        _write_above(axes, y, words)
    _as_rows(axes, len(rows))
    axes.set_xlabel("difference")


def _paint_point(
    axes: Any, x: Any, y: float, ends: Any, colour: str, marker: str, filled: bool = True
) -> None:
    if ends:
        axes.plot([ends.low, ends.high], [y, y], color=colour, lw=1.8)
    axes.plot([x], [y], marker, color=colour, mfc=colour if filled else PAPER, ms=7)


def _write_above(axes: Any, y: float, words: str) -> None:
    """Write the heading of a row of points above it, from the left edge, on top of the drawing."""
    across, paper = axes.get_yaxis_transform(), {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
    size = min(10, 640 / len(words))  # a longer line would be cut at the right edge
    axes.text(0, y - 0.24, words, transform=across, va="bottom", fontsize=size, bbox=paper)


def _as_rows(axes: Any, rows: int) -> None:
    """Set up a y axis of rows, the first on top, with room for the headings."""
    axes.set_ylim(rows - 0.6, -0.85)
    axes.set_yticks([])
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)


# Each task's main metric by setting, the readers in one row.


def score_figures(run: FinishedRun) -> list[Figure]:
    """Return a figure per task with at least two systems whose metric is defined."""
    figures = []
    for task in run.tasks:
        if task.name == "search":  # it has a figure of its own
            continue
        scores: dict[str, dict[str, Estimate]] = {}  # setting -> reader -> score
        for name, readers in run.settings(task).items():
            for reader, cells in readers.items():
                estimate = run.estimate(cells[0], task.main_metric)
                if estimate is not None and estimate.mean is not None:
                    scores.setdefault(name, {})[reader] = estimate
        if sum(map(len, scores.values())) > 1:  # a single number needs no figure
            metric = metric_name(task.main_metric)
            figure = draw(
                f"scores-{task.name}",
                f"{sentence_case(task_name(task.name))}: {task.about}",
                f"{metric} on {rows_of(run.shown[0].split)}. Lines are 95% confidence intervals.",
                None,  # the table of scores has these numbers
                partial(_paint_scores, scores=scores, metric=metric),
                height=ROW * len(scores) + AROUND + 0.3,
            )
            figures.append(figure)
    return figures


def _paint_scores(axes: Any, scores: Mapping[str, dict[str, Estimate]], metric: str) -> None:
    readers = [reader for reader in LOOKS if any(reader in row for row in scores.values())]
    for y, (name, of_readers) in enumerate(scores.items()):
        _write_above(axes, y, name)
        for reader, score in of_readers.items():
            colour, marker, _ = LOOKS[reader]
            beside = 0.14 * (readers.index(reader) - (len(readers) - 1) / 2)
            _paint_point(axes, score.mean, y + 0.1 + beside, score.interval, colour, marker)
    for reader in readers:
        colour, marker, _ = LOOKS[reader]
        axes.plot([], [], marker, color=colour, ms=7, label=READERS[reader])
    _as_rows(axes, len(scores))
    axes.set_xlabel(metric)
    legend(axes)


# Costs.


def cost_figure(costs: Mapping[str, Any]) -> Figure | None:
    """Return a figure of each reader's cost of one pair and one search; None without pairs.

    Raises:
        KeyError, TypeError: these are not a run's costs.
    """
    rows: dict[str, list[tuple[str, float, Any]]] = {}  # in words -> reader, seconds, their ends
    for cell in costs["cells"]:
        cost = cell["cost"]
        search = search_seconds(cost)
        if search is None:  # of single texts
            continue
        task = sentence_case(task_name(cell["task"]))
        ends = cost.get("spread", {}).get("milliseconds")
        one = cost["milliseconds"] / 1000
        point = cost["reader"], one, ends and [end / 1000 for end in ends]
        rows.setdefault(f"{task}: one pair", []).append(point)
        point = cost["reader"], search, search_spread(cost)
        rows.setdefault(f"{task}: search {SEARCHED:,} texts", []).append(point)
    if not rows:
        return None
    return draw(
        "costs",
        "Time",
        "Medians, on a logarithmic scale. Lines go from the fastest to the slowest round. The "
        "bi-encoder and late interaction search precomputed embeddings.",
        None,  # the table of costs has these numbers
        partial(_paint_costs, rows=rows),
        height=ROW * 1.5 * len(rows) + AROUND + 0.3,
    )


def _paint_costs(axes: Any, rows: Mapping[str, list[tuple[str, float, Any]]]) -> None:
    axes.set_xscale("log")
    readers = []
    for y, (words, points) in enumerate(rows.items()):
        _write_above(axes, y, words)
        for k, (reader, seconds, ends) in enumerate(points):
            colour, marker, _ = LOOKS[reader]
            below = y + 0.02 + 0.24 * k
            if ends:
                axes.plot(ends, [below] * 2, color=colour, lw=1.8)
            label = None if reader in readers else READERS[reader]
            axes.plot([seconds], [below], marker, color=colour, ms=7, label=label)
            shift = {"xytext": (9, 0), "textcoords": "offset points", "va": "center"}
            right = max(seconds, *ends) if ends else seconds
            axes.annotate(in_words(seconds), (right, below), fontsize=10, **shift)
            readers.append(reader)
    _as_rows(axes, len(rows))
    axes.margins(x=0.15)
    low, high = axes.get_xlim()
    ticks = [10.0**power for power in range(-6, 7) if low <= 10.0**power <= high]
    axes.set_xticks(ticks, [in_words(tick) for tick in ticks])
    axes.minorticks_off()
    legend(axes)


# The effect of SimCSE on cosine similarities.


def simcse_figures(groups: Mapping[str, Mapping[str, Sequence[RatingGroup]]]) -> list[Figure]:
    """Return a figure per task: cosines by rating before and after each contrastive stage.

    Args:
        groups: task -> stage -> its groups, as `report.rating_groups` makes them.
    """
    figures = []
    for task, stages in groups.items():
        names = {stage: sentence_case(setting(stage)) for stage in stages}
        rows = [
            [word(same[0].name), *(number(group.mean, 2) for group in same), number(same[0].n, 0)]
            for same in zip(*stages.values(), strict=True)
        ]
        title = f"{sentence_case(task_name(task))}: cosine similarity by rating"
        figure = draw(
            f"cosines-{task}",
            title,
            "Mean cosine similarity of the two embeddings of a pair. Lines cover the middle half "
            "of the pairs. SimCSE moves pairs of different meaning away from each other.",
            Table(title, ("rating", *names.values(), "pairs"), rows),
            partial(_paint_cosines, stages=stages, names=names),
        )
        figures.append(figure)
    return figures


def _paint_cosines(
    axes: Any, stages: Mapping[str, Sequence[RatingGroup]], names: Mapping[str, str]
) -> None:
    for k, (stage, groups) in enumerate(stages.items()):
        colour = MUTED if stage == "none" else (LOOKS["bi"][0], *SERIES[3:])[(k - 1) % 4]
        beside = 0.12 * (k - (len(stages) - 1) / 2)
        x = np.arange(len(groups)) + beside
        means = [group.mean for group in groups]
        look = {"color": colour, "marker": "o", "ms": 5, "ls": STYLES[k % len(STYLES)]}
        axes.plot(x, means, **look, label=names[stage])
        for place, group in zip(x, groups, strict=True):
            axes.plot([place] * 2, [group.low, group.high], color=colour, lw=1.2)
    axes.set_xticks(range(len(groups)), [group.name for group in groups])
    axes.set_xlabel("rating")
    axes.set_ylabel("cosine similarity")
    legend(axes, 1)
