"""The table a run ends with. Reads: cells, as dictionaries."""

import statistics
from collections.abc import Sequence
from typing import Any

from evaluation.metrics import MAIN_METRIC, METRICS

GROUP = ("task", "pretrain", "encoder", "tune", "features", "split")
HEADER = (*GROUP, "n", *METRICS, "cosine", "seen", "on unseen", "seconds", "sent/s")


def results_table(cells: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table, one row a cell; several seeds become mean ± standard deviation.

    `cosine` is Spearman's correlation of the bare cosine, without any head (STS, bi-encoder).
    `seen` is the share of rows that hold a sentence the run trained on or selected by; `on unseen`
    is the task's main metric (accuracy or Pearson) on the other rows.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault(tuple(cell[key] for key in GROUP), []).append(cell)
    rows = [[*map(str, group), *_numbers(members)] for group, members in groups.items()]
    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in (HEADER, ["-" * width for width in widths], *rows)
    ]
    return "\n".join(lines)


def _numbers(cells: list[dict[str, Any]]) -> list[str]:
    """Return the numeric columns of one row."""
    task = cells[0]["task"]
    applies = {
        "accuracy": task != "sts",
        "f1": task != "sts",
        "pearson": task == "sts",
        "spearman": task == "sts",
    }
    metrics = [
        _spread([cell["metrics"][name] for cell in cells]) if applies[name] else "-"
        for name in METRICS
    ]
    bare = [cell["metrics"].get("cosine_spearman") for cell in cells]
    cosine = _spread(bare) if task == "sts" and cells[0]["encoder"] == "bi" else "-"
    seen = statistics.mean(cell["overlap"]["sentences"] for cell in cells)
    rest = [cell["overlap"]["metrics_on_rest"].get(MAIN_METRIC[task]) for cell in cells]
    seconds = statistics.mean(cell["seconds"] for cell in cells)
    speed = statistics.mean(cell["sentences_per_second"] for cell in cells)
    return [
        str(cells[0]["n"]),
        *metrics,
        cosine,
        f"{seen:.1%}",
        _spread(rest),
        f"{seconds:.1f}",
        f"{speed:.0f}",
    ]


def _spread(values: list[float | None]) -> str:
    """Return `0.812`, or `0.812 ± 0.004` for several seeds, or `undefined`."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "undefined"
    mean = f"{statistics.mean(known):.3f}"
    return mean if len(known) == 1 else f"{mean} ± {statistics.stdev(known):.3f}"
