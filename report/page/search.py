"""The figure of a search: how good the rankings are, by the time that they take."""

from functools import partial
from typing import Any

from report.cell import by_system, rows_of
from report.finished import FinishedRun
from report.floors import BM25_ROW
from report.judging import Judged
from report.page.charts import LOOKS, STYLES
from report.page.figure import MUTED, Figure, draw, legend
from report.page.tables import Table, interval, number, word
from report.search import system_name
from report.verdict import metric_name, sentence_case

Point = tuple[float, float, str]  # milliseconds, score, depth in words
Line = tuple[str, str, list[Point]]  # in words, reader, points


def search_figures(run: FinishedRun) -> list[Figure]:
    """Return the figure of the main metric by milliseconds per query; [] without a search."""
    places = [place for place in run.judged if place.task == "search" and place.question.systems]
    return [_figure(run, place) for place in places[-1:]]


def _figure(run: FinishedRun, place: Judged) -> Figure:
    metric = metric_name(place.main_metric)
    scores, systems = place.scores(place.main_metric), place.question.systems
    lines: dict[tuple[str, str, str], list[Point]] = {}
    rows = []
    for seeds in by_system([cell for cell in run.cells if cell.split == place.split]):
        name = seeds[0].system
        system, score = systems[name], scores[name]
        milliseconds = sum(cell.search["milliseconds"] for cell in seeds) / len(seeds)
        words = sentence_case(system_name(system, systems))
        depth = str(system.depth or "")
        line = lines.setdefault((words, system.reader, f"{system.pretrain} {system.tune}"), [])
        line.append((milliseconds, score.mean or 0.0, depth))
        entry = number(score.mean, 3, interval(score.interval))
        rows.append([word(words), word(depth or None), number(milliseconds, 2), entry])
    floor = scores.get(BM25_ROW)
    table = Table(f"{metric} by time", ("reader", "depth", "ms per query", metric), rows)
    return draw(
        "search",
        f"{metric} by milliseconds per query",
        f"{metric} on {rows_of(place.split)}. Points of a cross-encoder are depths: how many texts "
        "it reads for a query. The dashed line is BM25.",
        table,
        partial(
            _paint,
            lines=[(words, reader, points) for (words, reader, _), points in lines.items()],
            metric=metric,
            floor=floor.mean if floor else None,
        ),
    )


def _paint(axes: Any, lines: list[Line], metric: str, floor: float | None) -> None:
    axes.set_xscale("log")
    of_reader: dict[str, int] = {}
    for words, reader, points in lines:
        colour, marker, _ = LOOKS[reader]
        k = of_reader[reader] = of_reader.get(reader, -1) + 1
        x, y, depths = zip(*points, strict=True)
        axes.plot(x, y, marker=marker, color=colour, ms=6, ls=STYLES[k % len(STYLES)], label=words)
        for place in zip(x, y, depths, strict=True):
            axes.annotate(
                place[2], place[:2], xytext=(4, 5), textcoords="offset points", fontsize=9
            )
    if floor is not None:
        axes.axhline(floor, color=MUTED, ls=STYLES[1], lw=1.2, label=BM25_ROW)
    axes.set_xlabel("milliseconds per query")
    axes.set_ylabel(metric)
    axes.margins(x=0.12, y=0.2)
    legend(axes, 1)
