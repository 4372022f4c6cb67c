"""The table a run ends with. Reads: cells."""

import statistics
from collections.abc import Sequence
from typing import Any

from data.tasks import TASKS
from evaluation.intervals import Interval
from evaluation.metrics import METRICS
from evaluation.table import markdown
from report.cell import Cell
from report.verdict import Judged, shown

GROUP = ("task", "pretrain", "encoder", "tune", "features", "split")
HEADER = (*GROUP, "n", *METRICS, "95 %", "cosine", "seen", "on unseen", "seconds", "sent/s")


def results_table(cells: Sequence[Cell], judged: Sequence[Judged] = ()) -> str:
    """Return a Markdown table, one row per cell; several seeds become mean ± standard deviation.

    `95 %` is the interval of the task's main metric; that of a mean over seeds is in `judged`.
    `cosine` is Spearman's correlation of the bare cosine, without any head (STS, bi-encoder).
    `seen` is the share of rows with a sentence that the run trained on or selected checkpoints by;
    `on unseen` is the task's main metric (accuracy or Pearson) on the other rows.
    """
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(tuple(getattr(cell, name) for name in GROUP), []).append(cell)
    of_means = {
        (one.task, one.split, found.system): found.interval
        for one in judged
        for found in one.estimates
        if found.metric == TASKS[one.task].main_metric
    }
    rows = []
    for group, members in groups.items():
        first = members[0]
        mean = of_means.get((first.task, first.split, first.system))
        interval = shown(mean) if len(members) > 1 else _interval(first)
        rows.append([*map(str, group), *_numbers(members, interval or "-")])
    return markdown(HEADER, rows)


def _interval(cell: Cell) -> str:
    found = cell.interval.get(TASKS[cell.task].main_metric)
    return shown(Interval(**found)) if found else ""


def _numbers(cells: list[Cell], interval: str) -> list[str]:
    """Return the numeric columns of one row."""
    first, task = cells[0], TASKS[cells[0].task]
    metrics = [
        _spread([cell.metrics[name] for cell in cells]) if name in task.metrics else "-"
        for name in METRICS
    ]
    bare = [cell.metrics.get("cosine_spearman") for cell in cells]
    has_cosine = task.kind == "score" and task.is_pair and first.encoder != "cross"
    seen = statistics.mean(cell.overlap["sentences"] for cell in cells)
    rest = [cell.overlap["metrics_on_rest"].get(task.main_metric) for cell in cells]
    return [
        str(first.n),
        *metrics,
        interval,
        _spread(bare) if has_cosine else "-",
        f"{seen:.1%}",
        _spread(rest),
        f"{statistics.mean(cell.seconds for cell in cells):.1f}",
        f"{statistics.mean(cell.sentences_per_second for cell in cells):.0f}",
    ]


def _spread(values: list[float | None]) -> str:
    """Return `0.812`, or `0.812 ± 0.004` for several seeds, or `undefined`."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "undefined"
    mean = f"{statistics.mean(known):.3f}"
    return mean if len(known) == 1 else f"{mean} ± {statistics.stdev(known):.3f}"
