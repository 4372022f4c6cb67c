"""The effect of SimCSE on cosine similarities: their means by rating, before and after.

An encoder that was only pre-trained gives nearly all pairs a high cosine (Ethayarajh, 2019). SimCSE
spreads them out. Correlations do not show this, but means by rating do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.examples import Example
from data.tasks import TASKS, Splits
from evaluation.metrics import labels_of
from report.cell import Cell, best_known
from report.run_folder import RunFolder
from report.verdict import sentence_case, setting, task_name

GROUPS = 5  # of equal width, from the lowest rating to the highest
FEWEST = 20  # pairs; the mean of fewer says little


@dataclass(frozen=True)
class RatingGroup:
    """The cosine similarities of the n pairs of a task with ratings in one band."""

    name: str  # of the band, "0 to 1"
    n: int
    mean: float
    low: float  # the lower and the upper quartile
    high: float


def rating_groups(
    cells: Sequence[Cell], splits: Mapping[str, Splits], folder: RunFolder
) -> dict[str, dict[str, list[RatingGroup]]]:
    """Return task -> stage -> the groups of its first seed's frozen bi-encoder.

    Only tasks of similarity have them, and only where an encoder before SimCSE and one after it
    were scored.
    """
    found: dict[str, dict[str, list[RatingGroup]]] = {}
    for cell in best_known(cells):
        stages = found.setdefault(cell.task, {})
        if (cell.reader, cell.tune) != ("bi", "frozen") or cell.pretrain in stages or cell.model:
            continue  # with several encoders the question is another one
        examples: list[Example] = getattr(splits[cell.task], cell.split)
        cosines = folder.soft(cell, examples).get("cosines")
        if cosines is not None and TASKS[cell.task].label_kind == "score":
            stages[cell.pretrain] = grouped(labels_of(examples), cosines)
    # The untuned encoder comes first.
    return {
        task: {"none": stages["none"], **stages}
        for task, stages in found.items()
        if "none" in stages and len(stages) > 1 and len(stages["none"]) > 1
    }


def grouped(ratings: np.ndarray, cosines: np.ndarray) -> list[RatingGroup]:
    """Return the cosines (N,) by bands of the ratings (N,); bands of few pairs are left out."""
    edges = np.linspace(ratings.min(), ratings.max(), GROUPS + 1)
    band = np.clip(np.searchsorted(edges, ratings, side="right") - 1, 0, GROUPS - 1)
    groups = []
    for k in range(GROUPS):
        inside = cosines[band == k]
        if len(inside) >= FEWEST:
            low, high = np.quantile(inside, (0.25, 0.75)).tolist()
            name = f"{edges[k]:.4g} to {edges[k + 1]:.4g}"
            groups.append(RatingGroup(name, len(inside), float(inside.mean()), low, high))
    return groups


def in_lines(groups: Mapping[str, Mapping[str, Sequence[RatingGroup]]]) -> list[str]:
    """Return a line per task and contrastive stage: the first and the last group, before, after."""
    lines = []
    for task, stages in groups.items():
        before = stages["none"]
        for stage, after in stages.items():
            if stage != "none":
                changes = " and ".join(
                    f"from {before[k].mean:.2f} to {after[k].mean:.2f} for pairs rated "
                    f"{after[k].name}"
                    for k in (0, -1)
                )
                about = f"{setting(stage)} changes the mean cosine similarity"
                lines.append(f"{sentence_case(task_name(task))}: {about} {changes}.")
    return lines
