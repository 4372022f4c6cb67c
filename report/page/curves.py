"""The curves of a run's page: learning curves, dev scores, trajectory of embeddings."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from data.tasks import TASKS
from evaluation.significance import Estimate
from heads.config import READERS
from report.finished import FinishedRun
from report.page.charts import LOOKS, STYLES
from report.page.figure import PAPER, SERIES, Figure, draw, legend
from report.page.tables import Entry, Table, interval, number, word
from report.verdict import metric_name, sentence_case, setting, task_name

Records = list[dict[str, Any]]
Trained = Sequence[tuple[dict[str, Any], list[Records]]]  # a line style, and a curve per seed
Line = tuple[Any, dict[str, Any]]  # its points (N, 2), and the arguments for matplotlib


# The main metric by number of labels.


def learning_figures(run: FinishedRun) -> list[Figure]:
    """Return a figure per task and setting that ran with several numbers of labels."""
    figures = []
    for curves in run.learning:
        metric = metric_name(TASKS[curves.task].main_metric)
        rows = []
        for labels in sorted({labels for points in curves.points.values() for labels, _ in points}):
            row = [number(labels, 0)]
            for points in curves.points.values():
                row.append(_score(dict(points).get(labels)))
            rows.append(row)
        if curves.bare:
            scores = [curves.bare.get(reader) for reader in curves.points]
            rows.insert(0, [word("no head"), *(_score(score) for score in scores)])
        about = f"{task_name(curves.task)} ({setting(curves.pretrain, curves.tune)})"
        title = f"{sentence_case(about)}: {metric} by number of labels"
        header = ("labels", *(READERS[reader] for reader in curves.points))
        figure = draw(
            f"labels-{curves.task}-{curves.pretrain}, {curves.tune}",
            title,
            f"Lines of {metric} on {curves.split} by number of labelled examples.",
            Table(title, header, rows),
            partial(_paint_learning, points=curves.points, bare=curves.bare, metric=metric),
        )
        figures.append(figure)
    return figures


def _score(score: Estimate | None) -> Entry:
    return number(score.mean, 3, interval(score.interval)) if score else word(None)


def _paint_learning(
    axes: Any,
    points: dict[str, list[tuple[int, Estimate]]],
    bare: dict[str, Estimate],
    metric: str,
) -> None:
    for reader, scores in points.items():
        colour, marker, dashes = LOOKS[reader]
        known = {labels: score for labels, score in scores if score.mean is not None}
        look = {"color": colour, "label": READERS[reader], "marker": marker, "ls": dashes}
        axes.plot(list(known), [score.mean for score in known.values()], **look)
        for labels, score in known.items():
            if score.interval:
                axes.plot([labels] * 2, [score.interval.low, score.interval.high], color=colour)
    for reader, score in bare.items():
        if score.mean is not None:
            label = f"{READERS[reader]}, no head"
            axes.axhline(score.mean, color=LOOKS[reader][0], ls=":", label=label)
    axes.set_xscale("log")
    sizes = sorted({labels for scores in points.values() for labels, _ in scores})
    # The labels of two sizes that lie near each other would overlap.
    apart = [near > 1.8 * size for size, near in pairwise(sizes)] + [True]
    axes.set_xticks(sizes, [f"{n:,}" if far else "" for n, far in zip(sizes, apart, strict=True)])
    axes.minorticks_off()
    axes.set_xlabel("labelled examples")
    axes.set_ylabel(metric)
    legend(axes)


# Training: dev scores, and the trajectory of the embeddings.


def look_of(k: int, label: str | None) -> dict[str, Any]:
    """Return the style of line k, in a colour that no reader uses if one is left."""
    others = SERIES[len(LOOKS) :]
    return {"color": others[k % len(others)], "ls": STYLES[k % len(STYLES)], "label": label}


def curve_figures(run: FinishedRun) -> list[Figure]:
    """Return the curves of contrastive tuning, those of each task's heads, and the trajectory."""
    stages: dict[str, list[Records]] = {}
    for pretrain, seed in dict.fromkeys((cell.stage, cell.seed) for cell in run.cells):
        if records := run.curves.get(f"{pretrain}-{seed}"):
            stages.setdefault(pretrain, []).append(records)
    of_stages = [(look_of(k, name), curves) for k, (name, curves) in enumerate(stages.items())]
    figures = [*_curves("tuning", "Contrastive tuning", "step", of_stages)]
    for task in run.tasks:
        # Colours are readers, line styles settings.
        of_heads = []
        for k, (name, readers) in enumerate(run.settings(task).items()):
            for reader, cells in readers.items():
                curves = [run.curves[cell.name] for cell in cells if cell.name in run.curves]
                look = {"color": LOOKS[reader][0], "ls": STYLES[k % len(STYLES)]}
                look["label"] = f"{name} {reader}"
                of_heads.append((look, curves))
        title = f"Heads of {task_name(task.name)}: {metric_name(task.main_metric)} on dev"
        figures += _curves(f"heads-{task.name}", title, "epoch", of_heads)
    return [*figures, *trajectory(of_stages)]


def _curves(name: str, title: str, x: str, trained: Trained) -> Iterator[Figure]:
    """Yield a figure of dev scores by step or epoch, if there are any."""
    lines = [
        (points, look | {"lw": 1.4, "ms": 4}) for points, look in _drawn(trained, x, "dev_score")
    ]

    def paint(axes: Any) -> None:
        _paint_lines(axes, lines, x, "dev score")
        axes.xaxis.get_major_locator().set_params(integer=True)

    if lines:
        about = f"Lines of the dev score by {x}, one per seed."
        yield draw(f"curve-{name}", title, about, None, paint)


def trajectory(stages: Trained) -> Iterator[Figure]:
    """Yield the trajectory of the embeddings during tuning, if measured (SimCSE, figure 2)."""
    lines = []
    for points, look in _drawn(stages, "uniformity", "alignment"):
        end = {"ls": "", "marker": "o", "color": look["color"]}
        hollow = {"mfc": PAPER, "mec": look["color"]}
        lines += [(points, look), (points[:1], end | hollow), (points[-1:], end)]
    if lines:
        yield draw(
            "trajectory",
            "Alignment and uniformity during tuning",
            "Each line goes from the untuned encoder (hollow) to the end of tuning (filled); lower "
            "is better for both. Alignment is how near texts of the same meaning are, uniformity "
            "how evenly all texts spread.",
            None,
            partial(_paint_lines, lines=lines, x="uniformity", y="alignment", columns=3),
        )


def _drawn(trained: Trained, x: str, y: str) -> Iterator[Line]:
    """Yield the points and the style of every curve that has both numbers."""
    for look, curves in trained:
        label = look["label"]
        for curve in curves:
            pairs = [(record.get(x), record.get(y)) for record in curve]
            known = [pair for pair in pairs if all(isinstance(n, int | float) for n in pair)]
            if known:
                yield known, look | {"label": label, "marker": "."}
                label = None  # one entry in the legend for all seeds


def _paint_lines(axes: Any, lines: Sequence[Line], x: str, y: str, columns: int = 2) -> None:
    for points, look in lines:
        axes.plot(*np.array(points).reshape(-1, 2).T, **look)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    legend(axes, columns)
