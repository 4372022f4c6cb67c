"""The open part: predictions handed in beside the code, scored on labels that nobody was given."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from assignment.grading import Mark
from assignment.submission.dialects import CS224N
from assignment.submission.leaderboard import AGGREGATE, main_scores, read_submission
from assignment.submission.score import aggregate, main_metric
from assignment.submission.validate import Gold
from data.examples import DataError
from runtime.terminal import printable

SPLIT = "test"


def open_gold(folder: Path) -> tuple[Gold, dict[str, np.ndarray]]:
    """Return the rows of test files in a folder, and task -> labels (N,) where there are any.

    Raises:
        DataError: it has none, or a file is broken.
    """
    gold = Gold(folder)
    read = [(task, gold.expected(task, SPLIT)) for task in CS224N]
    labels = {t: rows.labels for t, rows in read if rows is not None and rows.labels is not None}
    if not labels:
        raise DataError(f"{folder}: no labels of a {SPLIT} file; give make's instructor/gold")
    return gold, labels


def with_leaderboard(mark: Mark, path: Path, gold: tuple[Gold, dict[str, np.ndarray]]) -> Mark:
    """Return a mark with each task's main metric and their aggregate.

    Without all predictions, or with a fault in them, it says why there are none. No points depend
    on it.

    Args:
        mark: of a submission.
        path: its folder or zip.
        gold: as `open_gold` returns it.
    """
    rows, labels = gold
    try:
        found = read_submission(path, rows, tuple(labels), SPLIT)
    except DataError as error:
        fault = str(error).removeprefix(f"{path.parent}/")
        return replace(mark, left=[*mark.left, f"predictions: {printable(fault)}"])
    scores = main_scores(found, labels)
    values = {f"{task} {main_metric(task)}": score for task, score in scores.items()}
    values[AGGREGATE] = aggregate(scores)
    # Similarities that are all alike have no correlation.
    return replace(mark, leaderboard={n: v for n, v in values.items() if v is not None})
