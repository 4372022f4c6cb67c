"""The figures of a run's page: scores, cosines, training, cost beside quality."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from data.examples import DataError
from data.tasks import TASKS, Task
from evaluation.metrics import labels_of
from evaluation.significance import Estimate
from evaluation.slices import cosine_densities
from report.costs import SEARCHED, cheaper, in_words, measured_on, search_seconds
from report.finished import FinishedRun
from report.page.figure import (
    BANDS,
    INK,
    LOOKS,
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
GEOMETRY = ("alignment", "uniformity")
FILLS = {"frozen": "none", "full": "full"}  # of a point; half full where a part was tuned
MARKERS = {"bi": "o", "late": "D", "cross": "s"}

Records = list[dict[str, Any]]
Line = tuple[Any, dict[str, Any]]  # its points (N, 2), and how matplotlib draws them
Trained = Sequence[tuple[dict[str, Any], list[Records]]]  # a look, and a curve per seed


# Each task's main metric by setting, the encoders side by side.


def bar_figures(run: FinishedRun) -> list[Figure]:
    """Return a figure per task; tasks whose metric is defined for one system at most have none."""
    figures = []
    for task in run.tasks:
        scores: dict[str, dict[str, Estimate]] = {}  # setting -> encoder -> score
        for setting, kinds in run.settings(task).items():
            scores[setting] = {}
            for kind, cells in kinds.items():
                one = run.estimate(cells[0], task.main_metric)
                if one is not None and one.mean is not None:
                    scores[setting][kind] = one
        if sum(map(len, scores.values())) > 1:  # one number is no figure
            split, metric = run.shown[0].split, task.main_metric
            figure = draw(
                f"bars-{task.name}",
                f"{task.name}: {task.about}",
                f"Bars of {metric} on {split}; lines are 95 % intervals.",
                None,  # the table of scores has these numbers
                partial(_paint_bars, scores=scores, metric=metric),
            )
            figures.append(figure)
    return figures


def _paint_bars(axes: Any, scores: dict[str, dict[str, Estimate]], metric: str) -> None:
    kinds = [kind for kind in LOOKS if any(kind in encoders for encoders in scores.values())]
    width = min(WIDTH, 0.8 / len(kinds) - 0.02)
    for k, kind in enumerate(kinds):
        colour, label, hatch = LOOKS[kind]
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


# The main metric by number of labels.


def learning_figures(run: FinishedRun) -> list[Figure]:
    """Return a figure per task and setting that ran with several numbers of labels."""
    figures = []
    for one in run.learning:
        metric = TASKS[one.task].main_metric
        sizes = sorted({labels for points in one.points.values() for labels, _ in points})
        rows = []
        for labels in sizes:
            row = [number(labels, 0)]
            for points in one.points.values():
                score = dict(points).get(labels)
                row.append(number(score.mean, 3, interval(score.interval)) if score else word(None))
            rows.append(row)
        title = f"{one.task}, {one.setting}: {metric} by number of labels"
        header = ("labels", *(LOOKS[kind][1] for kind in one.points))
        figure = draw(
            f"labels-{one.task}-{one.setting}",
            title,
            f"Lines of {metric} on {one.split} by number of labelled examples.",
            Table(title, header, rows),
            partial(_paint_learning, points=one.points, metric=metric),
        )
        figures.append(figure)
    return figures


def _paint_learning(axes: Any, points: dict[str, list[tuple[int, Estimate]]], metric: str) -> None:
    for kind, own in points.items():
        colour, label, _ = LOOKS[kind]
        known = [(labels, one) for labels, one in own if one.mean is not None]
        look = {"color": colour, "label": label, "marker": MARKERS[kind]}
        style = STYLES[list(LOOKS).index(kind)]
        axes.plot([n for n, _ in known], [one.mean for _, one in known], ls=style, **look)
        for labels, one in known:
            if one.interval:
                ends = [one.interval.low, one.interval.high]
                axes.plot([labels] * 2, ends, color=colour, lw=1.0)
    axes.set_xscale("log")
    sizes = sorted({labels for own in points.values() for labels, _ in own})
    # Two sizes that lie near each other would be written over each other.
    apart = [near > 1.8 * size for size, near in pairwise(sizes)] + [True]
    axes.set_xticks(sizes, [f"{n:,}" if far else "" for n, far in zip(sizes, apart, strict=True)])
    axes.minorticks_off()
    axes.set_xlabel("labelled examples")
    axes.set_ylabel(metric)
    legend(axes)


# Figures of lines: cosines, training.


def _paint_lines(axes: Any, lines: Sequence[Line], x: str, y: str, columns: int = 2) -> None:
    for points, look in lines:
        axes.plot(*np.array(points).reshape(-1, 2).T, **look)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    legend(axes, columns)


def look_of(k: int, label: str | None, colours: Sequence[str] = SERIES) -> dict[str, Any]:
    """Return the look of the line of number k: no two differ by colour alone."""
    return {"color": colours[k % len(colours)], "ls": STYLES[k % len(STYLES)], "label": label}


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
            rows, lines = [], []
            for k, one in enumerate(cosine_densities(cosines, labels, task.largest)):
                row = [word(one.band), number(one.n, 0), number(one.mean), number(one.deviation)]
                rows.append(row)
                if one.density:
                    points = list(zip(one.cosines, one.density, strict=True))
                    lines.append((points, look_of(k, one.band, BANDS)))
            header = ("gold score", "pairs", "mean", "deviation")
            figure = draw(
                f"density-{task.name}-{setting}",
                f"{setting}: cosine by gold similarity",
                "Curves of the density of cosines, one per band of gold scores. The further apart "
                "the curves, the more the encoder knows without any head.",
                Table(f"{setting}: cosines by band", header, rows),
                partial(_paint_densities, lines=lines),
            )
            figures.append(figure)
    return figures


def _paint_densities(axes: Any, lines: Sequence[Line]) -> None:
    _paint_lines(axes, lines, "cosine", "density", 3)
    axes.set_ylim(bottom=0)


def curve_figures(run: FinishedRun) -> list[Figure]:
    """Return the curves of contrastive tuning, those of each task's heads, and the trajectory."""
    stages: dict[str, list[Records]] = {}
    for pretrain, seed in dict.fromkeys((cell.pretrain, cell.seed) for cell in run.cells):
        if records := run.curves.get(f"{pretrain}-{seed}"):
            stages.setdefault(pretrain, []).append(records)
    of_stages = [(look_of(k, name), curves) for k, (name, curves) in enumerate(stages.items())]
    figures = [_curves("tuning", "Contrastive tuning", "step", of_stages)]
    for task in run.tasks:
        # Colours are settings, line styles encoders.
        of_heads = []
        for k, (setting, kinds) in enumerate(run.settings(task).items()):
            for kind, cells in kinds.items():
                curves = [run.curves[c.name] for c in cells if c.name in run.curves]
                style = {"ls": STYLES[list(LOOKS).index(kind)]}
                of_heads.append((look_of(k, f"{setting} {kind}") | style, curves))
        title = f"Heads of {task.name}: {task.main_metric} on dev"
        figures.append(_curves(f"heads-{task.name}", title, "epoch", of_heads))
    return [*filter(None, figures), *trajectory(of_stages)]


def _drawn(trained: Trained, x: str, y: str) -> Iterator[tuple[Any, dict[str, Any], list[Entry]]]:
    """Yield of every curve that has both numbers its points, look, and first entries of a table."""
    for look, curves in trained:
        seed = 0
        for curve in curves:
            pairs = [(record.get(x), record.get(y)) for record in curve]
            known = [pair for pair in pairs if all(isinstance(n, int | float) for n in pair)]
            if known:
                seed += 1
                # One entry in the legend for all seeds.
                label = look["label"] if seed == 1 else None
                named = [word(look["label"]), number(seed, 0)]
                yield known, look | {"label": label, "marker": "."}, named


def _curves(name: str, title: str, x: str, trained: Trained) -> Figure | None:
    """Return a figure of dev scores by step or epoch, None if there are none to draw."""
    rows, lines = [], []
    for points, look, named in _drawn(trained, x, "dev_score"):
        best = max(points, key=lambda point: point[1])
        scores = [number(points[0][1]), number(best[1]), number(best[0], 0)]
        rows.append([*named, *scores, number(points[-1][1])])
        lines.append((points, look | {"lw": 1.4, "ms": 4}))
    if not rows:
        return None

    def paint(axes: Any) -> None:
        _paint_lines(axes, lines, x, "dev score")
        axes.xaxis.get_major_locator().set_params(integer=True)

    header = ("curve", "seed no.", "first", "best", f"{x} of the best", "last")
    return draw(
        f"curve-{name}",
        title,
        f"Lines of the dev score by {x}, one per seed.",
        Table(f"{title}: dev score", header, rows),
        paint,
    )


def trajectory(stages: Trained) -> Iterator[Figure]:
    """Yield the way of the embeddings during tuning, if it was measured (SimCSE, figure 2)."""
    rows, lines = [], []
    for points, look, named in _drawn(stages, *GEOMETRY[::-1]):
        ends = [number(value) for point in (points[0], points[-1]) for value in point[::-1]]
        rows.append([*named, *ends])
        end = {"ls": "", "marker": "o", "color": look["color"]}
        hollow = {"mfc": PAPER, "mec": look["color"]}
        lines += [(points, look), (points[:1], end | hollow), (points[-1:], end)]
    if rows:
        columns = [f"{name}: {end}" for end in ("start", "end") for name in GEOMETRY]
        yield draw(
            "trajectory",
            "Alignment and uniformity during tuning",
            "Each line goes from the untuned encoder (hollow) to the end of tuning (filled); lower "
            "is better for both. Alignment is how near texts of the same meaning are, uniformity "
            "how evenly all texts spread.",
            Table("Alignment and uniformity", ("objective", "seed no.", *columns), rows),
            partial(_paint_lines, lines=lines, x="uniformity", y="alignment", columns=3),
        )


# Cost beside quality, from what `python -m report cost` measured.


def cost_figures(run: FinishedRun) -> tuple[list[Figure], list[str], list[str]]:
    """Return the figures of cost and quality, what each encoder costs, and what that rests on.

    Raises:
        DataError: the costs in the run folder are not what the command writes.
    """
    costs = run.costs
    if costs is None:
        return [], [], []
    try:
        figures = [_frontier(task, costs["cells"], run) for task in run.tasks]
        break_evens = [f"{task}: {cheaper(n)}" for task, n in costs["break_even"].items()]
        rests_on = [f"Measured on {measured_on(costs)}."]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        where = run.path / COSTS
        raise DataError(f"{where}: not a run's costs ({error!r}); delete it") from None
    return [*filter(None, figures)], break_evens, rests_on


def _frontier(task: Task, costs: list[dict[str, Any]], run: FinishedRun) -> Figure | None:
    """Return quality against the time of a search, a point per system; None with one encoder.

    Systems of one encoder differ in weights alone, and cost the same: one of them was measured.
    """
    of_kinds = {one["cost"]["encoder"]: one["cost"] for one in costs if one["task"] == task.name}
    points = []  # encoder, tuning, seconds, score
    rows = []
    for label, cells in run.systems(task).items():
        # IS-BERT's convolutions take time of their own.
        cost = None if cells[0].pretrain == "isbert" else of_kinds.get(cells[0].encoder)
        estimate = run.estimate(cells[0], task.main_metric)
        seconds = search_seconds(cost) if cost else None
        if cost is None or seconds is None or estimate is None or estimate.mean is None:
            continue
        points.append((cells[0].encoder, cells[0].tune, seconds, estimate.mean))
        speeds = [number(cost["examples_per_second"], 0), number(cost["milliseconds"], 1)]
        work = [number(cost["passes"], 0), number(cost["flops"] / 1e6, 1)]
        score = number(estimate.mean, 3, interval(estimate.interval))
        time = Entry(f"~{in_words(seconds)}", seconds)
        rows.append([word(label), score, time, *speeds, *work])
    if len({kind for kind, *_ in points}) < 2:
        return None
    header = ("system", task.main_metric, f"among {SEARCHED:,}", "pairs per second", "ms for one")

    def paint(axes: Any) -> None:
        tunes = {tune for _, tune, _, _ in points}
        for kind, tune in dict.fromkeys((kind, tune) for kind, tune, _, _ in points):
            own = [point[2:] for point in points if point[:2] == (kind, tune)]
            colour, name, _ = LOOKS[kind]
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
        axes.set_xlabel(f"time for one text among {SEARCHED:,}")
        axes.set_ylabel(task.main_metric)
        legend(axes)

    return draw(
        f"frontier-{task.name}",
        f"{task.name}: quality against the time of a search",
        f"Points of {task.main_metric} against the time to compare one text with {SEARCHED:,}, "
        "whose embeddings the bi-encoder has; up and to the left is better. Systems of one encoder "
        "differ in weights alone and take the same time.",
        Table(f"{task.name}: cost (~ extrapolated)", (*header, "passes", "MFLOP"), rows),
        paint,
    )


def _time_axis(axes: Any, seconds: list[float]) -> None:
    """Make x logarithmic, over whole decades, with durations in words."""
    axes.set_xscale("log")
    low = np.floor(np.log10(min(seconds) / 1.5))
    high = np.ceil(np.log10(max(seconds) * 1.5))
    axes.set_xlim(10**low, 10**high)
    ticks = 10 ** np.arange(low, high + 1.0)
    axes.set_xticks(ticks, [in_words(tick) for tick in ticks])
    axes.minorticks_off()
