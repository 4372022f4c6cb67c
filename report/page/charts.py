"""The figures of a run's page: scores, probabilities, cosines, training, cost beside quality."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import Any

import numpy as np

from data.examples import DataError
from data.tasks import TASKS, Task
from evaluation.costs import in_words, marked, measured_on
from evaluation.metrics import labels_of
from evaluation.significance import Estimate
from evaluation.slices import Density, band_of, cosine_densities
from report.cell import Cell
from report.finished import FinishedRun
from report.page.figure import (
    BANDS,
    ENCODERS,
    INK,
    MUTED,
    PAPER,
    SERIES,
    STYLES,
    Figure,
    draw,
    legend,
)
from report.page.tables import Entry, Table, interval, number, word
from report.run_folder import COSTS

WIDTH = 0.36  # of a bar, at most
TRAJECTORY = "trajectory"  # the name of a figure
GEOMETRY = ("alignment", "uniformity")
AMONG = 10_000  # texts of the search that is drawn
FILLS = {"frozen": "none", "full": "full"}  # of a point; half full where a part was tuned
MARKERS = {"bi": "o", "cross": "s"}

Records = list[dict[str, Any]]


# Each task's main metric by setting, the encoders side by side.


def bar_figures(run: FinishedRun) -> list[Figure]:
    """Return a figure per task; tasks whose metric is nowhere defined have none."""
    figures = []
    for task in run.tasks:
        scores: dict[str, dict[str, Estimate]] = {}  # setting -> encoder -> score
        rows = []
        for setting, kinds in run.settings(task).items():
            scores[setting] = {}
            for kind, cells in kinds.items():
                one = run.estimate(cells[0], task.main_metric)
                if one is not None and one.mean is not None:
                    scores[setting][kind] = one
                    score = number(one.mean, 3, interval(one.interval))
                    rows.append([word(setting), word(kind), score])
        if rows:
            split, metric = run.shown[0].split, task.main_metric
            figure = draw(
                f"bars-{task.name}",
                f"{task.name}: {task.about}",
                f"Bars of {metric} on {split}; lines are 95 % intervals.",
                Table(f"{task.name}: {metric} on {split}", ("setting", "encoder", metric), rows),
                partial(_paint_bars, scores=scores, metric=metric),
            )
            figures.append(figure)
    return figures


def _paint_bars(axes: Any, scores: dict[str, dict[str, Estimate]], metric: str) -> None:
    kinds = [kind for kind in ENCODERS if any(kind in found for found in scores.values())]
    width = min(WIDTH, 0.8 / len(kinds) - 0.02)
    for k, kind in enumerate(kinds):
        colour, label, hatch = ENCODERS[kind]
        offset = (k - (len(kinds) - 1) / 2) * (width + 0.02)
        own = [(p + offset, each[kind]) for p, each in enumerate(scores.values()) if kind in each]
        places, heights = [place for place, _ in own], [one.mean for _, one in own]
        axes.bar(places, heights, width, color=colour, label=label, hatch=hatch, linewidth=0)
        for place, one in own:
            if one.interval:
                axes.plot([place] * 2, [one.interval.low, one.interval.high], color=INK, lw=1.2)
    axes.set_xticks(range(len(scores)), [name.replace(" ", "\n") for name in scores])
    axes.set_xlim(-0.6, len(scores) - 0.4)
    axes.grid(axis="x", visible=False)
    axes.axhline(0, color=INK, lw=0.8)
    axes.set_ylabel(metric)
    legend(axes)


# Whether probabilities mean what they say.


def reliability_figures(run: FinishedRun) -> list[Figure]:
    """Return the reliability curves of each task of classes, if the cells hold them."""
    figures = []
    for task in run.tasks:
        systems = {
            name: own
            for name, cells in run.systems(task).items()
            if (own := [cell for cell in cells if cell.calibration])
        }
        rows = [
            [word(name), number(mean(cell.calibration["ece"] for cell in cells))]
            for name, cells in systems.items()
        ]
        if rows:
            figure = draw(
                f"reliability-{task.name}",
                f"{task.name}: share of right calls by confidence",
                "Lines of the share of right calls against the stated confidence, one per seed. On "
                "the diagonal, probabilities mean what they say; below it, the head is too sure.",
                Table(f"{task.name}: expected calibration error", ("system", "error"), rows),
                partial(_paint_reliability, systems=systems),
            )
            figures.append(figure)
    return figures


def _paint_reliability(axes: Any, systems: dict[str, list[Cell]]) -> None:
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


# What the bare cosine knows of similarity.


def density_figures(run: FinishedRun) -> list[Figure]:
    """Return the densities of cosines by rating, one figure per contrastive stage.

    As figure 3 of SimCSE (Gao et al. 2021). Seeds are drawn together. Runs that kept no cosines
    have none.
    """
    figures = []
    for task in run.tasks:
        for setting, kinds in run.settings(task).items():
            cells = [c for c in kinds.get("bi", ()) if "cosines" in run.soft[c.place()]]
            if not cells:
                continue
            cosines = np.concatenate([run.soft[cell.place()]["cosines"] for cell in cells])
            labels = np.concatenate([labels_of(run.examples(cell)) for cell in cells])
            bands = np.array([band_of(label, task.largest) for label in labels])
            densities = cosine_densities(cosines, labels, task.largest)
            rows = []
            for one in densities:
                own = cosines[bands == one.band]
                spread = [float(own.mean()), float(own.std())] if len(own) else [None, None]
                rows.append([word(one.band), number(one.n, 0), *map(number, spread)])
            header = ("gold score", "pairs", "mean", "deviation")
            figure = draw(
                f"density-{task.name}-{setting}",
                f"{setting}: cosine by gold similarity",
                "Curves of the density of cosines, one per band of gold scores. The further apart "
                "the curves, the more the encoder knows without any head.",
                Table(f"{setting}: cosines by band", header, rows),
                partial(_paint_densities, densities=densities),
            )
            figures.append(figure)
    return figures


def _paint_densities(axes: Any, densities: Sequence[Density]) -> None:
    for k, one in enumerate(densities):
        if one.density:
            look = {"color": BANDS[k % len(BANDS)], "ls": STYLES[k % len(STYLES)]}
            axes.plot(one.cosines, one.density, **look, label=one.band)
    axes.set_xlabel("cosine")
    axes.set_ylabel("density")
    axes.set_ylim(bottom=0)
    legend(axes)


# How training went.


@dataclass(frozen=True)
class _Line:
    """The curves of one thing that was trained, one per seed, and how they are drawn."""

    label: str
    curves: list[Records]
    colour: str
    style: Any


def curve_figures(run: FinishedRun) -> list[Figure]:
    """Return the curves of contrastive tuning, those of each task's heads, and the trajectory."""
    by_stage: dict[str, list[Records]] = {}
    for pretrain, seed in dict.fromkeys((cell.pretrain, cell.seed) for cell in run.cells):
        if records := run.curves.get(f"{pretrain}-{seed}"):
            by_stage.setdefault(pretrain, []).append(records)
    stages = [
        _Line(name, curves, SERIES[k % len(SERIES)], STYLES[k % len(STYLES)])
        for k, (name, curves) in enumerate(by_stage.items())
    ]
    figures = [_curves("tuning", "Contrastive tuning", "step", stages)]
    for task in run.tasks:
        # Colours are settings, line styles encoders.
        heads = []
        for k, (setting, kinds) in enumerate(run.settings(task).items()):
            for kind, cells in kinds.items():
                if curves := [run.curves[c.name] for c in cells if c.name in run.curves]:
                    style = STYLES[list(ENCODERS).index(kind)]
                    heads.append(_Line(f"{setting} {kind}", curves, SERIES[k % len(SERIES)], style))
        title = f"Heads of {task.name}: {task.main_metric} on dev"
        figures.append(_curves(f"heads-{task.name}", title, "epoch", heads))
    return [*filter(None, figures), *_trajectory(stages)]


def _points(curve: Records, x: str, y: str) -> list[tuple[float, float]]:
    """Return two numbers of every record that has both."""
    pairs = [(record.get(x), record.get(y)) for record in curve]
    return [(a, b) for a, b in pairs if isinstance(a, int | float) and isinstance(b, int | float)]


def _curves(name: str, title: str, x: str, lines: Sequence[_Line]) -> Figure | None:
    """Return a figure of dev scores, None if there are none to draw."""
    known = [line for line in lines if any(_points(c, x, "dev_score") for c in line.curves)]
    if not known:
        return None
    rows = []
    for line in known:
        for seed, curve in enumerate(line.curves, 1):
            points = _points(curve, x, "dev_score") or [(None, None)]
            best = max(points, key=lambda point: -1e9 if point[1] is None else point[1])
            numbers = [number(points[0][1]), number(best[1]), number(best[0], 0)]
            last = number(points[-1][1])
            rows.append([word(line.label), number(seed, 0), *numbers, last])
    header = ("curve", "seed no.", "first", "best", f"{x} of the best", "last")
    return draw(
        f"curve-{name}",
        title,
        f"Lines of the dev score by {x}, one per seed.",
        Table(f"{title}: dev score", header, rows),
        partial(_paint_curves, lines=known, x=x),
    )


def _paint_curves(axes: Any, lines: Sequence[_Line], x: str) -> None:
    for line in lines:
        for seed, curve in enumerate(line.curves):
            points = np.array(_points(curve, x, "dev_score")).reshape(-1, 2)
            look = {"color": line.colour, "ls": line.style, "lw": 1.4, "marker": ".", "ms": 4}
            axes.plot(*points.T, **look, label=line.label if seed == 0 else None)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(x)
    axes.set_ylabel("dev score")
    legend(axes, 2)


def _trajectory(lines: Sequence[_Line]) -> Iterator[Figure]:
    """Yield the way of the embeddings during tuning, if it was measured (SimCSE, figure 2)."""
    rows = []
    ways = []  # each line with the points of a seed, (steps, 2)
    for line in lines:
        measured = [points for curve in line.curves if (points := _points(curve, *GEOMETRY))]
        for seed, points in enumerate(measured, 1):
            ends = [number(value) for point in (points[0], points[-1]) for value in point]
            rows.append([word(line.label), number(seed, 0), *ends])
            ways.append((line, line.label if seed == 1 else None, np.array(points)))
    if not rows:
        return

    def paint(axes: Any) -> None:
        for line, label, points in ways:
            align, uniform = points.T
            axes.plot(uniform, align, color=line.colour, ls=line.style, label=label, marker=".")
            axes.plot(uniform[:1], align[:1], "o", mfc=PAPER, mec=line.colour)
            axes.plot(uniform[-1:], align[-1:], "o", color=line.colour)
        axes.set_xlabel("uniformity")
        axes.set_ylabel("alignment")
        legend(axes)

    ends = [f"{name}: {end}" for end in ("start", "end") for name in GEOMETRY]
    yield draw(
        TRAJECTORY,
        "Alignment and uniformity during tuning",
        "Each line goes from the untuned encoder (hollow) to the end of tuning (filled); lower is "
        "better for both. Alignment is how near texts of the same meaning are, uniformity how "
        "evenly all texts spread.",
        Table("Alignment and uniformity", ("objective", "seed no.", *ends), rows),
        paint,
    )


# Cost beside quality, from what `python -m report cost` measured.


def cost_figures(run: FinishedRun) -> tuple[list[Figure], list[str]]:
    """Return the figures of cost and quality, and sentences: what they come to, and rest on.

    Raises:
        DataError: the costs in the run folder are not what the command writes.
    """
    costs = run.costs
    if costs is None:
        return [], []
    try:
        figures = [_frontier(task, costs["cells"], run) for task in run.tasks]
        if costs["retrieval"]:
            figures.append(_retrieval(costs["retrieval"]))
        sentences = [str(costs["story"]), f"Measured on {measured_on(costs)}."]
        return [*filter(None, figures)], [*filter(None, sentences)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        where = run.path / COSTS
        raise DataError(f"{where}: not a run's costs ({error!r}); delete it") from None


def _frontier(task: Task, costs: list[dict[str, Any]], run: FinishedRun) -> Figure | None:
    """Return quality against the time of a search, a point per system; None for single texts.

    Systems of one encoder differ in weights alone, and cost the same: one of them was measured.
    """
    of_kinds = {one["cost"]["encoder"]: one["cost"] for one in costs if one["task"] == task.name}
    points = []  # encoder, tuning, seconds, score
    rows = []
    for label, cells in run.systems(task).items():
        # IS-BERT's convolutions take time of their own.
        cost = None if cells[0].pretrain == "isbert" else of_kinds.get(cells[0].encoder)
        estimate = run.estimate(cells[0], task.main_metric)
        # One text among AMONG, compared by what the quality is of.
        searches = [
            search
            for search in (cost["searches"] if cost else ())
            if (search["work"], search["n"]) == ("query", AMONG) and search["by"] != "cosine"
        ]
        if cost is None or not searches or estimate is None or estimate.mean is None:
            continue
        time = _time(searches[0]["then"])
        points.append((cells[0].encoder, cells[0].tune, time.value, estimate.mean))
        speeds = [number(cost["examples_per_second"], 0), number(cost["milliseconds"], 1)]
        work = [number(cost["passes"], 0), number(cost["flops"] / 1e6, 1)]
        score = number(estimate.mean, 3, interval(estimate.interval))
        rows.append([word(label), score, time, *speeds, *work])
    if not points:
        return None
    header = ("system", task.main_metric, f"among {AMONG:,}", "pairs per second", "ms for one")

    def paint(axes: Any) -> None:
        tunes = {tune for _, tune, _, _ in points}
        for kind, tune in dict.fromkeys((kind, tune) for kind, tune, _, _ in points):
            own = [point[2:] for point in points if point[:2] == (kind, tune)]
            colour, name, _ = ENCODERS[kind]
            axes.plot(
                *zip(*own, strict=True),
                MARKERS[kind],
                ms=8,
                color=colour,
                mfcalt=PAPER,
                fillstyle=FILLS.get(tune, "left") if len(tunes) > 1 else "full",
                label=f"{name}, {tune}" if len(tunes) > 1 else name,
            )
        axes.margins(y=0.2)
        _time_axis(axes, [point[2] for point in points])
        axes.set_xlabel(f"time for one text among {AMONG:,}")
        axes.set_ylabel(task.main_metric)
        legend(axes, 2)

    return draw(
        f"frontier-{task.name}",
        f"{task.name}: quality against the time of a search",
        f"Points of {task.main_metric} against the time to compare one text with {AMONG:,}, whose "
        "embeddings the bi-encoder has; up and to the left is better. Systems of one encoder "
        "differ in weights alone and take the same time.",
        Table(f"{task.name}: cost (~ projected)", (*header, "passes", "MFLOP"), rows),
        paint,
    )


def _retrieval(found: dict[str, Any]) -> Figure:
    """Return quality against time per query, of the hybrid at each depth."""
    points, rows = [], []
    for one in found["rankings"]:
        time, mrr = _time(one["duration"]), one["mrr"]
        depth = number(one["k"] or None, 0)
        rows.append([word(one["by"]), depth, number(mrr), number(one["recall_at_1"]), time])
        if mrr is not None:
            points.append(("bi" if one["by"] == "bi" else str(one["k"]), time.value, mrr))

    def paint(axes: Any) -> None:
        axes.plot([p[1] for p in points], [p[2] for p in points], color=SERIES[0], marker="o")
        for name, seconds, mrr in points:
            axes.annotate(name, (seconds, mrr), (4, 5), textcoords="offset points", color=INK)
        axes.margins(y=0.2)
        _time_axis(axes, [p[1] for p in points])
        axes.set_xlabel("time per query")
        axes.set_ylabel("MRR")

    title = f"{TASKS[found['task']].name}: retrieve with bi, re-rank with cross"
    header = ("ranked by", "k", "MRR", "first is right", "per query")
    return draw(
        "frontier-retrieval",
        title,
        f"{found['queries']} texts, each to find its paraphrase among {found['candidates']:,}: "
        "mean reciprocal rank against the time per query; numbers are candidates re-ranked.",
        Table(f"{title} (~ projected)", header, rows),
        paint,
    )


def _time(duration: dict[str, Any]) -> Entry:
    return Entry(marked(duration), float(duration["seconds"]))


def _time_axis(axes: Any, seconds: list[float]) -> None:
    """Make x logarithmic, over whole decades, with durations in words."""
    axes.set_xscale("log")
    low = np.floor(np.log10(min(seconds) / 1.5))
    high = np.ceil(np.log10(max(seconds) * 1.5))
    axes.set_xlim(10**low, 10**high)
    ticks = 10 ** np.arange(low, high + 1.0)
    axes.set_xticks(ticks, [in_words(tick) for tick in ticks])
    axes.minorticks_off()
