"""Cost beside quality, from what `python -m report cost` measured. Feeds: making."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from data.examples import DataError
from data.tasks import TASKS, Task
from evaluation.cost import told
from report.cost import COSTS, measured_on
from report.page.figure import ENCODERS, INK, PAPER, SERIES, Figure, draw, legend
from report.page.material import Material
from report.page.tables import Entry, Table, interval, number, word

AMONG = 10_000  # texts of the search that is drawn
FILLS = {"frozen": "none", "full": "full"}
MARKERS = {"bi": "o", "cross": "s", "distilled": "D"}


def frontier(material: Material) -> tuple[list[Figure], list[str]]:
    """Return the figures of cost and quality, and sentences: what they come to, and rest on.

    Raises:
        DataError: the costs in the run folder are not what the command writes.
    """
    costs = material.costs
    if costs is None:
        return [], []
    try:
        found = [_of_task(task, costs["cells"], material) for task in material.tasks]
        ranking = [_of_retrieval(costs["retrieval"])] if costs["retrieval"] else []
        told_of = [str(costs["story"]), f"Measured on {measured_on(costs)}."]
        return [*filter(None, found), *ranking], [*filter(None, told_of)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        where = material.run.path / COSTS
        raise DataError(f"{where}: not a run's costs ({error!r}); delete it") from None


@dataclass(frozen=True)
class _Point:
    """A system: its encoder, the seconds of a search, its score, its tuning."""

    kind: str
    seconds: float
    score: float
    tune: str


def _of_task(task: Task, costs: list[dict[str, Any]], material: Material) -> Figure | None:
    """Return quality against the time of a search, a point per system; None for single texts.

    Systems of one encoder differ in weights alone, and cost the same: one of them was measured.
    """
    of_kinds = {one["cost"]["encoder"]: one["cost"] for one in costs if one["task"] == task.name}
    of_kinds["distilled"] = of_kinds.get("bi")  # with other weights
    points, rows = [], []
    for label, cells in material.systems(task.name).items():
        # IS-BERT's convolutions take time of their own.
        cost = None if cells[0].pretrain == "isbert" else of_kinds.get(cells[0].encoder)
        found = material.estimate(cells[0], task.main_metric)
        search = next(filter(_is_shown, cost["searches"] if cost else ()), None)
        if cost is None or search is None or found is None or found.mean is None:
            continue
        time = _time(search["then"])
        points.append(_Point(cells[0].encoder, time.value or 0.0, found.mean, cells[0].tune))
        speeds = [number(cost["examples_per_second"], 0), number(cost["milliseconds"], 1)]
        work = [number(cost["passes"], 0), number(cost["flops"] / 1e6, 1)]
        score = number(found.mean, 3, interval(found.interval))
        rows.append([word(label), score, time, *speeds, *work])
    if not points:
        return None
    header = ("system", task.main_metric, f"among {AMONG:,}", "pairs per second", "ms for one")
    return draw(
        f"frontier-{task.name}",
        f"{task.name}: quality against the time of a search",
        f"Points of {task.main_metric} against the time to compare one text with {AMONG:,}, whose "
        "embeddings the bi-encoder has; up and to the left is better. Systems of one encoder "
        "differ in weights alone and take the same time.",
        Table(f"{task.name}: cost (~ projected)", (*header, "passes", "MFLOP"), rows),
        partial(_paint_points, points=points, metric=task.main_metric),
    )


def _is_shown(search: dict[str, Any]) -> bool:
    """Return whether a search is one text among AMONG, compared by what the quality is of."""
    return (search["work"], search["n"]) == ("query", AMONG) and search["by"] in ("head", "cross")


def _paint_points(axes: Any, points: list[_Point], metric: str) -> None:
    tunes = {point.tune for point in points}
    for kind, tune in dict.fromkeys((point.kind, point.tune) for point in points):
        own = [(one.seconds, one.score) for one in points if (one.kind, one.tune) == (kind, tune)]
        colour, name, _ = ENCODERS[kind]
        # Where several are there, what is frozen is hollow, and what is tuned in part is half full.
        fill = FILLS.get(tune, "left") if len(tunes) > 1 else "full"
        axes.plot(
            *zip(*own, strict=True), MARKERS[kind], ms=8, color=colour, mfcalt=PAPER,
            fillstyle=fill, label=f"{name}, {tune}" if len(tunes) > 1 else name,
        )  # fmt: skip
    axes.margins(y=0.2)
    _time_axis(axes, [one.seconds for one in points])
    axes.set_xlabel(f"time for one text among {AMONG:,}")
    axes.set_ylabel(metric)
    legend(axes, 2)


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
