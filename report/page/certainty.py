"""Whether probabilities mean what they say, and whether the order of two texts matters.

Reads: the blocks of evaluation.calibration in the cells. Feeds: making.
"""

from collections.abc import Sequence
from functools import partial
from statistics import mean
from typing import Any

from data.tasks import Task
from report.cell import Cell
from report.page.figure import MUTED, SERIES, STYLES, Figure, draw, legend
from report.page.material import Material
from report.page.tables import Table, filled, number, share, word
from report.past_run import inner

Curves = dict[str, list[Cell]]


def reliability_figures(material: Material) -> list[Figure]:
    """Return the reliability curves of each task of classes, if the cells hold them."""
    found = []
    for task in material.tasks:
        known = {
            name: [cell for cell in cells if cell.calibration]
            for name, cells in material.systems(task.name).items()
        }
        if any(known.values()):
            found.append(_figure(task, {name: own for name, own in known.items() if own}))
    return found


def _figure(task: Task, systems: Curves) -> Figure:
    rows = [
        [word(name), number(mean(cell.calibration["ece"] for cell in cells))]
        for name, cells in systems.items()
    ]
    return draw(
        f"reliability-{task.name}",
        f"{task.name}: share of right calls by confidence",
        "Lines of the share of right calls against the stated confidence, one per seed. On the "
        "diagonal, probabilities mean what they say; below it, the head is too sure.",
        Table(f"{task.name}: expected calibration error", ("system", "error"), rows),
        partial(_paint, systems=systems),
    )


def _paint(axes: Any, systems: Curves) -> None:
    axes.plot([0, 1], [0, 1], color=MUTED, lw=0.8)
    for k, (name, cells) in enumerate(systems.items()):
        for seed, cell in enumerate(cells):
            bins = cell.calibration["bins"]
            points = [one["confidence"] for one in bins], [one["accuracy"] for one in bins]
            look = {"color": SERIES[k % len(SERIES)], "ls": STYLES[k % len(STYLES)]}
            axes.plot(*points, **look, marker=".", label=name if seed == 0 else None)
    axes.set_xlabel("confidence")
    axes.set_ylabel("share right")
    legend(axes, 2)


def certainty_tables(material: Material) -> list[Table]:
    """Return, of each task, scores at other thresholds and of both orders of a pair."""
    found = []
    for task in material.tasks:
        cells = material.cells_of(task.name)
        if any(cell.threshold or cell.both_orders for cell in cells):
            found.append(_table(task, material))
    return found


def _table(task: Task, material: Material) -> Table:
    metric = task.main_metric
    rows = []
    for name, cells in material.systems(task.name).items():
        plain = [cell.metrics[metric] for cell in cells]
        chosen = [inner(cell.threshold, metric, "value") for cell in cells]
        cut = [inner(cell.threshold, metric, "threshold") for cell in cells]
        both = [inner(cell.both_orders, "metrics", metric) for cell in cells]
        gap = [inner(cell.both_orders, "gap") for cell in cells]
        changed = [inner(cell.both_orders, "changed") for cell in cells]
        numbers = [number(_mean(values)) for values in (plain, chosen, cut, both, gap)]
        rows.append([word(name), *numbers, share(_mean(changed))])
    header = ("system", metric, "at threshold", "threshold", "both orders", "gap", "calls changed")
    return filled(Table(f"{task.name}: {metric}", header, rows))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None
