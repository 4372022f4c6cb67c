"""Cost beside quality, from what `python -m report cost` measured. Feeds: making."""

from functools import partial
from typing import Any

from data.examples import DataError
from data.tasks import TASKS, Task
from evaluation.cost import told
from report.page.figure import ENCODERS, INK, SERIES, Figure, draw, legend
from report.page.material import COSTS, Material
from report.page.tables import Entry, Table, number, word


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
    """Return quality against speed, a point per encoder."""
    by_name = {cell.name: cell for cell in material.cells_of(task.name)}
    points, rows = [], []
    for one in costs:
        cell, cost = by_name.get(one["cell"]), one["cost"]
        if one["task"] != task.name or cell is None:
            continue
        found = material.estimate(cell, task.main_metric)
        if found is not None and found.mean is not None:
            points.append((cell.encoder, float(cost["examples_per_second"]), found.mean))
            speeds = [number(cost["examples_per_second"], 0), number(cost["milliseconds"], 1)]
            work = [number(cost["passes"], 0), number(cost["flops"] / 1e6, 1)]
            rows.append([word(cell.system), number(found.mean), *speeds, *work])
    if not points:
        return None
    header = ("system", task.main_metric, "per second", "ms for one", "passes", "MFLOP")
    return draw(
        f"frontier-{task.name}",
        f"{task.name}: quality against speed",
        f"Points of {task.main_metric} against examples per second; up and to the right is better.",
        Table(f"{task.name}: cost of one example", header, rows),
        partial(_paint_points, points=points, metric=task.main_metric),
    )


def _paint_points(axes: Any, points: list[tuple[str, float, float]], metric: str) -> None:
    for kind, speed, score in points:
        colour, label, _ = ENCODERS[kind]
        axes.plot(speed, score, "o" if kind == "bi" else "s", color=colour, label=label, ms=9)
    axes.set_xscale("log")
    axes.margins(0.3)
    axes.set_xlabel("examples per second")
    axes.set_ylabel(metric)
    legend(axes)


def _of_retrieval(found: dict[str, Any]) -> Figure:
    """Return quality against time per query, of the hybrid at each depth."""
    points, rows = [], []
    for one in found["rankings"]:
        seconds, mrr = float(one["duration"]["seconds"]), one["mrr"]
        mark = "" if one["duration"]["measured"] else "~"
        time = Entry(f"{mark}{told(seconds)}", seconds)
        depth = number(one["k"] or None, 0)
        rows.append([word(one["by"]), depth, number(mrr), number(one["recall_at_1"]), time])
        if mrr is not None:
            points.append((str(one["by"]), int(one["k"]), seconds, float(mrr)))
    title = f"{TASKS[found['task']].name}: retrieve with bi, re-rank with cross"
    return draw(
        "frontier-retrieval",
        title,
        f"{found['queries']} texts, each to find its paraphrase among {found['candidates']:,}: "
        "mean reciprocal rank against seconds per query; numbers are candidates re-ranked.",
        Table(title, ("ranked by", "k", "MRR", "first is right", "per query"), rows),
        partial(_paint_ranking, points=points),
    )


def _paint_ranking(axes: Any, points: list[tuple[str, int, float, float]]) -> None:
    axes.plot([p[2] for p in points], [p[3] for p in points], color=SERIES[0], marker="o")
    for by, depth, seconds, mrr in points:
        name = "bi" if by == "bi" else str(depth)
        axes.annotate(name, (seconds, mrr), (4, 5), textcoords="offset points", color=INK)
    axes.set_xscale("log")
    axes.margins(0.15)
    axes.set_xlabel("seconds per query")
    axes.set_ylabel("MRR")
