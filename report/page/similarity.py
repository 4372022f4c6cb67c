"""What the bare cosine knows of similarity, and where predicted scores go wrong. Feeds: making."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from data.tasks import Task
from evaluation.ratings import Density, band_of, cosine_densities, residuals
from report.cell import Cell
from report.page.figure import BANDS, STYLES, Figure, draw, legend
from report.page.material import Material
from report.page.tables import Entry, Table, number, word


def density_figures(material: Material) -> list[Figure]:
    """Return the densities of cosines by rating, one figure per contrastive stage.

    As figure 3 of SimCSE (Gao et al. 2021). Seeds are drawn together. Runs that kept no cosines
    have none.
    """
    found = []
    for task in material.tasks:
        if task.kind == "score" and task.is_pair:
            for setting, kinds in material.settings(task.name).items():
                pairs = [(material.soft(c, "cosines"), c) for c in kinds.get("bi", ())]
                known = [(cosines, cell) for cosines, cell in pairs if cosines is not None]
                if known:
                    found.append(_densities(task, setting, known, material))
    return found


def _densities(
    task: Task, setting: str, known: Sequence[tuple[np.ndarray, Cell]], material: Material
) -> Figure:
    cosines = np.concatenate([found for found, _ in known])
    labels = np.concatenate([material.labels(cell) for _, cell in known])
    bands = np.array([band_of(label, task.largest) for label in labels])
    densities = cosine_densities(cosines, labels, task.largest)
    rows = []
    for one in densities:
        own = cosines[bands == one.band]
        spread = [float(own.mean()), float(own.std())] if len(own) else [None, None]
        rows.append([word(one.band), number(one.n, 0), *map(number, spread)])
    return draw(
        f"density-{task.name}-{setting.replace(' ', '-')}",
        f"{setting}: cosine by gold similarity",
        "Curves of the density of cosines, one per band of gold scores. The further apart the "
        "curves, the more the encoder knows without any head.",
        Table(f"{setting}: cosines by band", ("gold score", "pairs", "mean", "deviation"), rows),
        partial(_paint, densities=densities),
    )


def _paint(axes: Any, densities: Sequence[Density]) -> None:
    for k, one in enumerate(densities):
        if one.density:
            style = STYLES[k % len(STYLES)]
            colour = BANDS[k % len(BANDS)]
            axes.plot(one.cosines, one.density, color=colour, ls=style, label=one.band)
    axes.set_xlabel("cosine")
    axes.set_ylabel("density")
    axes.set_ylim(bottom=0)
    legend(axes)


def residual_tables(material: Material) -> list[Table]:
    """Return, for tasks of scores, how far predictions are off in each band of gold scores."""
    return [_residuals(task, material) for task in material.tasks if task.kind == "score"]


def _residuals(task: Task, material: Material) -> Table:
    rows: dict[str, list[Entry]] = {}
    names = []
    for system, cells in material.systems(task.name).items():
        names.append(system)
        predictions = np.concatenate([material.predictions(cell) for cell in cells])
        labels = np.concatenate([material.labels(cell) for cell in cells])
        for found in residuals(predictions, labels, task.largest):
            row = rows.setdefault(found.band, [word(found.band), number(found.n // len(cells), 0)])
            note = "" if found.absolute is None else f"off by {found.absolute:.2f}"
            row.append(number(found.mean, 2, note, sign=True))
    return Table(
        f"{task.name}: mean of prediction minus gold score, and mean distance, by gold score",
        ("gold score", "pairs", *names),
        list(rows.values()),
    )
