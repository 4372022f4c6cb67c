"""What a trained head, and its encoder without it, say of each row.

The scores of a training are functions of these rows, their labels, and the texts seen in training
(`evaluation.scoring`). In a table in folds each row is that of its fold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

import numpy as np

from data.examples import Example, in_the_other_order
from data.selection import nested_rows, of_all_rows, parts_of
from data.tasks import EVERY_ROW, TASKS, Splits
from evaluation.metrics import best_threshold, is_labelled, labels_of
from evaluation.scoring import ABOVE_ALL, AT_BEST, best_thresholds
from experiment.opening import Run, Tuned
from heads.choice import Chosen
from heads.inputs import FrozenInputs, HeadInputs, inputs_of
from heads.train import FittedHead, HeadTask, head_soft
from minbert.encoder import SentenceEncoder
from report.cell import ALL, Coordinates


@dataclass(frozen=True)
class FittedCell:
    """A trained head of the grid."""

    cell: Coordinates
    head_task: HeadTask  # its data and settings
    fitted: FittedHead  # the head and its predictions
    encoder: SentenceEncoder  # in its state after training
    chosen: Chosen | None  # epochs and rate, if a part of train chose them


@dataclass(frozen=True)
class Predicted:
    """What is kept of a trained head for the scores of its cells."""

    rows: dict[str, dict[str, np.ndarray]]  # split -> arrays, see evaluation.scoring.Rows
    # Of the head that a user gets: for accuracy and F1, and `n`, the held-out rows that chose them;
    # for the cosine, chosen on train. In folds, calls are by the thresholds of each fold.
    thresholds: dict[str, float]
    known: list[Example]  # labelled examples that the head or its thresholds learnt from
    labels: int  # number of training examples
    seconds: float


def predicted(opened: Run, result: FittedCell, tuned: Tuned, splits: Splits) -> Predicted:
    """Return what a trained head, and its encoder without it, say of the rows of the splits."""
    cell, head_task, fitted = result.cell, result.head_task, result.fitted

    def read(examples: list[Any]) -> np.ndarray:
        """Return probabilities or scores of examples that the head has not read yet."""
        inputs = inputs_of(
            result.encoder,
            {"": examples},
            head_task.features,
            head_task.config.tune,
            opened.cache,
            fingerprint=tuned.fingerprint,
        )
        return head_soft(fitted.head, inputs[""])

    train, held_out = train_examples(cell, splits.train), rows_for_a_threshold(result, splits)
    thresholds: dict[str, float] = {}
    if held_out:
        soft = result.chosen.soft if result.chosen else read(held_out)
        thresholds |= best_thresholds(soft, labels_of(held_out))
    if head_task.record.label_kind == "binary" and (cell.reads_as, cell.tune) == ("bi", "frozen"):
        thresholds["cosine"] = cosine_threshold(head_task)
    rows: dict[str, dict[str, np.ndarray]] = {}
    for split, predictions in fitted.predictions.items():
        rows[split] = of_split = {"predictions": predictions, "soft": fitted.soft[split]}
        if not is_labelled(getattr(splits, split)):
            continue  # nothing else is known of rows that are not scored
        of_split |= without_head(head_task, fitted.inputs[split], thresholds)
        of_split |= {
            f"{name}_calls": (of_split["soft"] >= thresholds[name]).astype(np.float64)
            for name in AT_BEST
            if name in thresholds
        }
        if split in fitted.before:
            of_split["before"] = fitted.before[split]
        if cell.reads_as == "cross" and split == "dev":  # slow: reads all pairs again
            of_split["swapped"] = read(in_the_other_order(splits.dev))
    return Predicted(rows, thresholds, [*train, *held_out], len(train), fitted.seconds)


def in_folds(whole: Predicted, folds: Sequence[Predicted], splits: Splits) -> Predicted:
    """Return the rows of a table, each as the head of its fold sees it.

    `whole` is of the head that was trained on all rows, whose thresholds a user would take.
    """
    of_folds = [fold.rows["test"] for fold in folds]
    names = [name for name in of_folds[0] if all(name in rows for rows in of_folds)]
    rows = {name: of_all_rows(splits, [rows[name] for rows in of_folds]) for name in names}
    return Predicted(
        {EVERY_ROW: rows},
        whole.thresholds,
        [],  # a fold shares no text with the others
        round(mean(fold.labels for fold in folds)),
        sum((fold.seconds for fold in folds), whole.seconds),
    )


def without_head(
    head_task: HeadTask, inputs: HeadInputs, thresholds: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """Return what the encoder's similarity of pairs, the cosine or MaxSim, gives without a head.

    Where labels are scores, it is `cosines`, and for [CLS] states `cls_cosines` if they are kept;
    with a threshold of the cosine it is `cosine_calls`.
    """
    features, found = head_task.features, {}
    if head_task.record.label_kind == "score":
        if (bare := features.bare(inputs.columns)) is not None:
            found["cosines"] = bare
        if isinstance(inputs, FrozenInputs) and inputs.cls is not None:
            of_cls = features.bare(replace(inputs, embeddings=inputs.cls).columns)
            assert of_cls is not None, "kept for bi-encoders only"
            found["cls_cosines"] = of_cls
    elif "cosine" in thresholds:
        cosines = features.bare(inputs.columns)
        assert cosines is not None, "of a bi-encoder"
        found["cosine_calls"] = (cosines >= thresholds["cosine"]).astype(np.float64)
    return found


def cosine_threshold(head_task: HeadTask) -> float:
    """Return the cosine from which a pair is called positive, with the best accuracy on train."""
    assert head_task.inputs is not None, "the encoder is frozen"
    cosines = head_task.features.bare(head_task.inputs["train"].columns)
    assert cosines is not None, "of a bi-encoder"
    best = best_threshold(cosines, labels_of(head_task.splits.train), "accuracy")
    return float(np.clip(best, -1.0, ABOVE_ALL))


def rows_for_a_threshold(result: FittedCell, splits: Splits) -> list[Example]:
    """Return the train rows on which the threshold of a binary task is chosen, [] for none.

    They share no text with dev and test. The trials predicted them without training on them; a
    published head was trained on none of our rows.
    """
    cell = result.cell
    if TASKS[cell.task].label_kind != "binary":
        return []
    if cell.tune == "none":
        scored_rows = [*splits.dev, *splits.test]
        parts = parts_of(splits.train, scored_rows, cell.seed, has_classes(cell))
        return [splits.train[row] for _, held_out in parts for row in held_out.tolist()]
    return result.chosen.held_out if result.chosen else []


def train_examples(cell: Coordinates, labelled: list[Any]) -> list[Any]:
    """Return the labelled examples that a head is trained on: none for a published head."""
    return [] if cell.tune == "none" else [labelled[row] for row in train_rows(cell, labelled)]


def train_rows(cell: Coordinates, labelled: list[Any]) -> np.ndarray:
    """Return which of the labelled examples a head is trained on."""
    if cell.train_rows == ALL:
        return np.arange(len(labelled))
    return nested_rows(labelled, int(cell.train_rows), cell.seed, has_classes(cell))


def has_classes(cell: Coordinates) -> bool:
    return TASKS[cell.task].label_kind != "score"
