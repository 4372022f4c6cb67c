"""Each task's main metric by setting, the encoders side by side. Feeds: making."""

from functools import partial
from typing import Any

from data.tasks import Task
from evaluation.significance import Estimate
from report.page.figure import ENCODERS, INK, Figure, draw, legend
from report.page.material import Material
from report.page.tables import Table, interval, number, word

WIDTH = 0.36  # of a bar, at most
Scores = dict[str, dict[str, Estimate]]  # setting -> encoder -> score


def bar_figures(material: Material) -> list[Figure]:
    """Return a figure per task; tasks whose metric is nowhere defined have none."""
    found = [(task, _scores(material, task)) for task in material.tasks]
    return [_bars(task, scores, material) for task, scores in found if any(scores.values())]


def _scores(material: Material, task: Task) -> Scores:
    found: Scores = {}
    for setting, kinds in material.settings(task.name).items():
        found[setting] = {}
        for kind, cells in kinds.items():
            one = material.estimate(cells[0], task.main_metric)
            if one is not None and one.mean is not None:
                found[setting][kind] = one
    return found


def _bars(task: Task, scores: Scores, material: Material) -> Figure:
    split, metric = material.cells_of(task.name)[0].split, task.main_metric
    rows = [
        [word(setting), word(kind), number(one.mean, 3, interval(one.interval))]
        for setting, kinds in scores.items()
        for kind, one in kinds.items()
    ]
    return draw(
        f"bars-{task.name}",
        f"{task.name}: {task.about}",
        f"Bars of {metric} on {split}; lines are 95 % intervals.",
        Table(f"{task.name}: {metric} on {split}", ("setting", "encoder", metric), rows),
        partial(_paint, scores=scores, metric=metric),
    )


def _paint(axes: Any, scores: Scores, metric: str) -> None:
    kinds = [kind for kind in ENCODERS if any(kind in found for found in scores.values())]
    width = min(WIDTH, 0.8 / max(1, len(kinds)) - 0.02)
    for k, kind in enumerate(kinds):
        colour, label, hatch = ENCODERS[kind]
        offset = (k - (len(kinds) - 1) / 2) * (width + 0.02)
        own = [(place + offset, found[kind]) for place, found in enumerate(scores.values())
               if kind in found]  # fmt: skip
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
