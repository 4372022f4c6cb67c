"""Cost beside quality, from what `python -m report cost` measured. Feeds: making."""

from functools import partial
from typing import Any

import numpy as np

from data.examples import DataError
from data.tasks import TASKS, Task
from evaluation.cost import told
from report.page.figure import ENCODERS, INK, SERIES, Figure, draw, legend
from report.page.material import COSTS, Material
from report.page.tables import Entry, Table, number, word

AMONG = 10_000  # texts of the search that is drawn
MARKERS = {"bi": "o", "cross": "s", "distilled": "D"}


def frontier(material: Material) -> tuple[list[Figure], str]:
    """Return the figures of cost and quality, and what they come to in a sentence.

    Raises:
        DataError: the costs in the run folder are not what the command writes.
    """
    costs = material.costs
    if costs is None:
        return [], ""
    try:
        found = [_of_task(task, costs["cells"], material) for task in material.tasks]
        ranking = [_of_retrieval(costs["retrieval"])] if costs["retrieval"] else []
        return [*filter(None, found), *ranking], str(costs["story"])
    except (KeyError, TypeError, ValueError) as error:
        where = material.run.path / COSTS
        raise DataError(f"{where}: not a run's costs ({error!r}); delete it") from None


def _of_task(task: Task, costs: list[dict[str, Any]], material: Material) -> Figure | None:
    """Return quality against the time of a search, a point per encoder; None for single texts."""
    by_name = {cell.name: cell for cell in material.cells_of(task.name)}
    points, rows = [], []
    for one in costs:
        cell, cost = by_name.get(one["cell"]), one["cost"]
        if one["task"] != task.name or cell is None:
            continue
        found = material.estimate(cell, task.main_metric)
        search = next(filter(_is_shown, cost["searches"]), None)
        if found is None or found.mean is None or search is None:
            continue
        points.append((cell.encoder, float(search["then"]["seconds"]), found.mean))
        speeds = [number(cost["examples_per_second"], 0), number(cost["milliseconds"], 1)]
        work = [number(cost["passes"], 0), number(cost["flops"] / 1e6, 1)]
        times = [_time(search["then"]), *speeds, *work]
        rows.append([word(material.label(cell)), number(found.mean), *times])
    if not points:
        return None
    header = ("system", task.main_metric, f"among {AMONG:,}", "pairs per second", "ms for one")
    return draw(
        f"frontier-{task.name}",
        f"{task.name}: quality against the time of a search",
        f"Points of {task.main_metric} against the time to compare one text with {AMONG:,}, whose "
        "embeddings the bi-encoder has; up and to the left is better.",
        Table(f"{task.name}: cost (~ projected)", (*header, "passes", "MFLOP"), rows),
        partial(_paint_points, points=points, metric=task.main_metric),
    )


def _is_shown(search: dict[str, Any]) -> bool:
    """Return whether a search is one text among AMONG, compared by what the quality is of."""
    return (search["work"], search["n"]) == ("query", AMONG) and search["by"] in ("head", "cross")


def _paint_points(axes: Any, points: list[tuple[str, float, float]], metric: str) -> None:
    for kind, seconds, score in points:
        colour, label, _ = ENCODERS[kind]
        axes.plot(seconds, score, MARKERS[kind], color=colour, label=label, ms=9)
    axes.margins(y=0.4)
    _time_axis(axes, [seconds for _, seconds, _ in points])
    axes.set_xlabel(f"time for one text among {AMONG:,}")
    axes.set_ylabel(metric)
    legend(axes)


def _time_axis(axes: Any, seconds: list[float]) -> None:
    """Make x logarithmic, over whole decades, with durations in words."""
    axes.set_xscale("log")
    axes.set_xlim(
        10 ** np.floor(np.log10(min(seconds) / 1.5)), 10 ** np.ceil(np.log10(max(seconds) * 1.5))
    )
    low, high = np.log10(axes.get_xlim())
    ticks = 10 ** np.arange(round(low), round(high) + 1.0)
    axes.set_xticks(ticks, [told(tick) for tick in ticks])
    axes.minorticks_off()


def _time(duration: dict[str, Any]) -> Entry:
    seconds = float(duration["seconds"])
    return Entry(f"{'' if duration['measured'] else '~'}{told(seconds)}", seconds)


def _of_retrieval(found: dict[str, Any]) -> Figure:
    """Return quality against time per query, of the hybrid at each depth."""
    points, rows = [], []
    for one in found["rankings"]:
        time, mrr = _time(one["duration"]), one["mrr"]
        depth = number(one["k"] or None, 0)
        rows.append([word(one["by"]), depth, number(mrr), number(one["recall_at_1"]), time])
        if mrr is not None:
            points.append((str(one["by"]), int(one["k"]), time.value or 0.0, float(mrr)))
    title = f"{TASKS[found['task']].name}: retrieve with bi, re-rank with cross"
    return draw(
        "frontier-retrieval",
        title,
        f"{found['queries']} texts, each to find its paraphrase among {found['candidates']:,}: "
        "mean reciprocal rank against the time per query; numbers are candidates re-ranked.",
        Table(
            f"{title} (~ projected)", ("ranked by", "k", "MRR", "first is right", "per query"), rows
        ),
        partial(_paint_ranking, points=points),
    )


def _paint_ranking(axes: Any, points: list[tuple[str, int, float, float]]) -> None:
    axes.plot([p[2] for p in points], [p[3] for p in points], color=SERIES[0], marker="o")
    for by, depth, seconds, mrr in points:
        name = "bi" if by == "bi" else str(depth)
        axes.annotate(name, (seconds, mrr), (4, 5), textcoords="offset points", color=INK)
    axes.margins(y=0.2)
    _time_axis(axes, [p[2] for p in points])
    axes.set_xlabel("time per query")
    axes.set_ylabel("MRR")
