"""Examples of disagreement, to be read and filtered. Reads: report.disagreement. Feeds: making."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.tasks import TASKS, Task
from report.cell import Cell
from report.disagreement import Disagreement, disagreements
from report.page.material import Material

MOST = 10  # on each side, of each task and setting


@dataclass(frozen=True)
class Shown:
    """A row on which the encoders differ, in words.

    Attributes:
        task, setting: of the two systems.
        ahead: "bi" or "cross".
        phenomenon: "" if the data do not say.
        id, texts: of the example.
        gold, bi, cross: as shown, "0 (91 % sure)".
    """

    task: str
    setting: str
    ahead: str
    phenomenon: str
    id: str
    texts: tuple[str, ...]
    gold: str
    bi: str
    cross: str


def shown_examples(material: Material) -> list[Shown]:
    """Return the largest disagreements of both encoders, by task and setting."""
    return [
        _shown(found, task, setting)
        for task in material.tasks
        for setting, kinds in material.duels(task.name).items()
        for found in _disagreements(task, kinds, material)
    ]


def _disagreements(
    task: Task, kinds: dict[str, list[Cell]], material: Material
) -> list[Disagreement]:
    bi, cross = (_probabilities(kinds[kind], material) for kind in ("bi", "cross"))
    return disagreements(material.examples(kinds["bi"][0]), bi, cross, task, MOST)


def _probabilities(cells: Sequence[Cell], material: Material) -> np.ndarray:
    """Return what `disagreements` reads, averaged over seeds.

    Of a run that kept no probabilities, a prediction counts as certain.
    """
    found = []
    for cell in cells:
        task, soft = TASKS[cell.task], material.soft(cell)
        if soft is None:
            soft = material.predictions(cell)
            if task.kind == "classes":
                soft = np.eye(task.num_classes)[soft.astype(np.int64)]
        found.append(soft)
    return np.asarray(np.mean(found, axis=0))


def _shown(found: Disagreement, task: Task, setting: str) -> Shown:
    return Shown(
        task.name, setting, found.ahead, found.phenomenon or "", found.id, found.texts,
        _value(found.label, None, task), _value(found.bi, found.bi_confidence, task),
        _value(found.cross, found.cross_confidence, task),
    )  # fmt: skip


def _value(value: float, confidence: float | None, task: Task) -> str:
    if task.kind == "score":
        return f"{value:.1f}"
    name = ("no", "yes")[int(value)] if task.kind == "binary" else f"class {value:.0f}"
    return name if confidence is None else f"{name} ({confidence:.0%} sure)"
