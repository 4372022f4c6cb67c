"""How training went: scores by step and epoch, alignment and uniformity. Feeds: making."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from report.page.figure import ENCODERS, PAPER, SERIES, STYLES, Figure, draw, legend
from report.page.material import Material
from report.page.tables import Table, number, word

Records = list[dict[str, Any]]
TRAJECTORY = "trajectory"  # the name of a figure
GEOMETRY = ("alignment", "uniformity")


@dataclass(frozen=True)
class _Line:
    """The curves of one thing that was trained, one per seed, and how they are drawn."""

    label: str
    curves: list[Records]
    colour: str
    style: Any = "-"


def curve_figures(material: Material) -> list[Figure]:
    """Return the curves of contrastive tuning, those of each task's heads, and the trajectory."""
    stages = _stages(material)
    found = [_figure("tuning", "Contrastive tuning", "step", stages)]
    for task in material.tasks:
        title = f"Heads of {task.name}: {task.main_metric} on dev"
        found.append(_figure(f"heads-{task.name}", title, "epoch", _heads(material, task.name)))
    return [*filter(None, found), *_trajectory(stages)]


def _stages(material: Material) -> list[_Line]:
    """Return the lines of the contrastive stages, by objective."""
    stages = dict.fromkeys((cell.pretrain, cell.seed) for cell in material.cells)
    curves: dict[str, list[Records]] = {}
    for pretrain, seed in stages:
        if records := material.curves.get(f"{pretrain}-{seed}"):
            curves.setdefault(pretrain, []).append(records)
    return [
        _Line(name, own, SERIES[k % len(SERIES)], STYLES[k % len(STYLES)])
        for k, (name, own) in enumerate(curves.items())
    ]


def _heads(material: Material, task: str) -> list[_Line]:
    """Return the lines of a task's heads: colours are settings, line styles encoders."""
    lines = []
    for k, (setting, kinds) in enumerate(material.settings(task).items()):
        for kind, cells in kinds.items():
            curves = [material.curves[c.name] for c in cells if c.name in material.curves]
            if curves:
                style = STYLES[list(ENCODERS).index(kind)]
                lines.append(_Line(f"{setting} {kind}", curves, SERIES[k % len(SERIES)], style))
    return lines


def _figure(name: str, title: str, x: str, lines: Sequence[_Line]) -> Figure | None:
    """Return a figure of dev scores, None if there are none to draw."""
    known = [line for line in lines if any(any(_points(c, x, "dev_score")) for c in line.curves)]
    if not known:
        return None
    rows = [
        [word(line.label), number(seed, 0), *_summary(list(_points(curve, x, "dev_score")))]
        for line in known
        for seed, curve in enumerate(line.curves, 1)
    ]
    header = ("curve", "seed no.", "first", "best", f"{x} of the best", "last")
    table = Table(f"{title}: dev score", header, rows)
    about = f"Lines of the dev score by {x}, one per seed."
    return draw(f"curve-{name}", title, about, table, partial(_paint, lines=known, x=x))


def _summary(points: Sequence[tuple[float, float]]) -> list[Any]:
    if not points:
        return [number(None)] * 4
    best = max(points, key=lambda point: point[1])
    return [number(points[0][1]), number(best[1]), number(best[0], 0), number(points[-1][1])]


def _paint(axes: Any, lines: Sequence[_Line], x: str) -> None:
    for line in lines:
        for seed, curve in enumerate(line.curves):
            points = np.array(list(_points(curve, x, "dev_score"))).reshape(-1, 2)
            label = line.label if seed == 0 else None
            look = {"color": line.colour, "ls": line.style, "lw": 1.4, "marker": ".", "ms": 4}
            axes.plot(*points.T, **look, label=label)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(x)
    axes.set_ylabel("dev score")
    legend(axes, 2)


def _trajectory(lines: Sequence[_Line]) -> Iterator[Figure]:
    """Yield the way of the embeddings during tuning, if it was measured (SimCSE, figure 2)."""
    measured = [
        replace(line, curves=[curve for curve in line.curves if any(_points(curve, *GEOMETRY))])
        for line in lines
    ]
    known = [line for line in measured if line.curves]
    if not known:
        return
    rows = []
    for line in known:
        for seed, curve in enumerate(line.curves, 1):
            points = list(_points(curve, *GEOMETRY))
            ends = [number(value) for point in (points[0], points[-1]) for value in point]
            rows.append([word(line.label), number(seed, 0), *ends])
    header = ("objective", "seed no.", "alignment: start", "uniformity: start", "alignment: end")
    yield draw(
        TRAJECTORY,
        "Alignment and uniformity during tuning",
        "Each line goes from the untuned encoder (hollow) to the end of tuning (filled); lower is "
        "better for both. Alignment is how near texts of the same meaning are, uniformity how "
        "evenly all texts spread.",
        Table("Alignment and uniformity", (*header, "uniformity: end"), rows),
        partial(_paint_trajectory, lines=known),
    )


def _paint_trajectory(axes: Any, lines: Sequence[_Line]) -> None:
    for line in lines:
        for seed, curve in enumerate(line.curves):
            points = np.array(list(_points(curve, *GEOMETRY))).reshape(-1, 2)
            align, uniform = points.T
            label = line.label if seed == 0 else None
            axes.plot(uniform, align, color=line.colour, ls=line.style, label=label, marker=".")
            axes.plot(uniform[:1], align[:1], "o", mfc=PAPER, mec=line.colour)
            axes.plot(uniform[-1:], align[-1:], "o", color=line.colour)
    axes.set_xlabel("uniformity")
    axes.set_ylabel("alignment")
    legend(axes)


def _points(curve: Records, x: str, y: str) -> Iterator[tuple[float, float]]:
    """Yield two numbers of every record that has both."""
    for record in curve:
        found = record.get(x), record.get(y)
        if all(isinstance(value, int | float) for value in found):
            # To mypy a pair of which `all` was asked may still hold None.
            yield found  # type: ignore[misc]
