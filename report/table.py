"""The table a run ends with. Reads: cells."""

import statistics
from collections.abc import Sequence
from typing import Any

from data.tasks import TASKS
from evaluation.metrics import METRICS
from evaluation.table import markdown
from report.cell import Cell

GROUP = ("task", "pretrain", "encoder", "tune", "features", "split")
HEADER = (*GROUP, "n", *METRICS, "cosine", "seen", "on unseen", "seconds", "sent/s")


def results_table(cells: Sequence[Cell]) -> str:
    """Return a Markdown table, one row per cell; several seeds become mean ± standard deviation.

    `cosine` is Spearman's correlation of the bare cosine, without any head (STS, bi-encoder).
    `seen` is the share of rows with a sentence that the run trained on or selected checkpoints by;
    `on unseen` is the task's main metric (accuracy or Pearson) on the other rows.
    """
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(tuple(getattr(cell, name) for name in GROUP), []).append(cell)
    rows = [[*map(str, group), *_numbers(members)] for group, members in groups.items()]
    return markdown(HEADER, rows)


def _numbers(cells: list[Cell]) -> list[str]:
    """Return the numeric columns of one row."""
    first, task = cells[0], TASKS[cells[0].task]
    metrics = [
        _spread([cell.metrics[name] for cell in cells]) if name in task.metrics else "-"
        for name in METRICS
    ]
    bare = [cell.metrics.get("cosine_spearman") for cell in cells]
    has_cosine = task.kind == "score" and task.is_pair and first.encoder == "bi"
    seen = statistics.mean(cell.overlap["sentences"] for cell in cells)
    rest = [cell.overlap["metrics_on_rest"].get(task.main_metric) for cell in cells]
    return [
        str(first.n),
        *metrics,
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
