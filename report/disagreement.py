"""The most surprising disagreements: rows that one encoder gets right and the other wrong, to read.

Legend: N rows, C classes. Reads: examples, predictions of both. Feeds: the report's page.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.examples import Example
from data.tasks import Task
from evaluation.scoring import labels_of


@dataclass(frozen=True)
class Disagreement:
    """A row on which the encoders differ.

    Attributes:
        id, texts, label, phenomenon: of the example.
        bi, cross: what each predicted, a class or a score.
        bi_confidence, cross_confidence: the probability that each gave to it; None for scores.
        ahead: "bi" or "cross", which was right or nearer.
        gap: how much more wrong the other one was: the difference of the probabilities of the gold
            class, or of the squared errors of scores.
    """

    id: str
    texts: tuple[str, ...]
    label: float
    phenomenon: str | None
    bi: float
    cross: float
    bi_confidence: float | None
    cross_confidence: float | None
    ahead: str
    gap: float


@dataclass(frozen=True)
class _Judged:
    """One encoder's predictions: what, how sure, how wrong, and whether right; (N,) each."""

    predicted: np.ndarray
    confidence: np.ndarray | None
    loss: np.ndarray
    right: np.ndarray | None  # None for scores, which are never quite right


def disagreements(
    examples: Sequence[Example], bi: np.ndarray, cross: np.ndarray, task: Task, most: int = 10
) -> list[Disagreement]:
    """Return the rows of the largest gaps, at most `most` where each encoder is ahead.

    Of classes, only rows count that one encoder has right and the other wrong: the surer both are,
    the larger the gap. First those with the bi-encoder ahead, largest gap first, then the others.

    Args:
        examples: N labelled rows.
        bi, cross: by the task's kind, "binary": the probability of 1, (N,); "classes": of each
            class, (N, C); "score": scores (N,).
        task: whose rows they are.
        most: of each side.

    Raises:
        ValueError: arrays of unequal length.
    """
    if not len(examples) == len(bi) == len(cross):
        raise ValueError(f"{len(bi)} and {len(cross)} predictions for {len(examples)} examples")
    labels = labels_of(examples)
    judged = {"bi": _judged(bi, labels, task.kind), "cross": _judged(cross, labels, task.kind)}
    found = []
    for ahead, behind in (("bi", "cross"), ("cross", "bi")):
        gaps = judged[behind].loss - judged[ahead].loss
        apart = gaps > 0
        right, wrong = judged[ahead].right, judged[behind].right
        if right is not None and wrong is not None:
            apart = right & ~wrong
        rows = np.flatnonzero(apart)
        rows = rows[np.argsort(-gaps[rows], kind="stable")][:most]
        found += [_of_row(examples[r], judged, r, ahead, float(gaps[r])) for r in rows.tolist()]
    return found


def _judged(found: np.ndarray, labels: np.ndarray, kind: str) -> _Judged:
    if kind == "score":
        return _Judged(found, None, (found - labels) ** 2, None)
    if kind == "binary":
        found = np.stack([1 - found, found], axis=1)
    gold = labels.astype(np.int64)
    predicted = found.argmax(axis=1)  # as the heads: one half is no paraphrase
    loss = 1 - found[np.arange(len(gold)), gold]
    return _Judged(predicted, found.max(axis=1), loss, predicted == gold)


def _of_row(
    example: Example, judged: dict[str, _Judged], row: int, ahead: str, gap: float
) -> Disagreement:
    assert example.label is not None
    found = judged["bi"], judged["cross"]
    bi, cross = (float(one.predicted[row]) for one in found)
    sure = [None if one.confidence is None else float(one.confidence[row]) for one in found]
    about = example.id, example.texts, float(example.label), example.phenomenon
    return Disagreement(*about, bi, cross, sure[0], sure[1], ahead, gap)
