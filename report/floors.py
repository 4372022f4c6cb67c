"""What needs no trained head, below which a result is worth nothing: a row of each table.

These are word overlap, the class that is most frequent, the similarity of a frozen encoder, and of
a search BM25. What they learn, a threshold or a class, comes from the training rows.
"""

import re
from collections.abc import Sequence

import numpy as np

from baselines.jaccard import FUNCTION_WORDS, jaccard
from data.examples import Example
from data.overlap import disjoint
from data.selection import of_all_rows
from data.table import number
from data.tasks import EVERY_ROW, TASKS, Splits
from evaluation.metrics import best_threshold, is_labelled, labels_of

OVERLAP, BM25_ROW, ALWAYS, COSINE_ROW = "word overlap", "BM25", "always ", "cosine"
THRESHOLD_ROW = f"{COSINE_ROW} threshold"  # for labels yes and no
NAMES = re.compile(
    rf"{OVERLAP}|{BM25_ROW}|{ALWAYS}.*|{COSINE_ROW}( threshold)?( \(.*\))?", re.DOTALL
)
HEAD = re.compile(r"-(bi|late|cross)-(frozen|full|none|joint)")  # in the names of trained systems


def is_floor(system: str) -> bool:
    """Return whether a system is one of these rows; encoders and classes may have any name."""
    return bool(NAMES.fullmatch(system)) and not HEAD.search(system)


def in_words(floor: str) -> str:
    """Return `always answering no`, `a threshold on the cosine`, or `word overlap`."""
    if floor.startswith(ALWAYS):
        return f"always answering {floor.removeprefix(ALWAYS)}"
    if floor.startswith(THRESHOLD_ROW):
        return floor.replace(THRESHOLD_ROW, "a threshold on the cosine", 1)
    return f"the {floor}" if floor.startswith(COSINE_ROW) else floor


def cosine_row(task: str, stage: str, several: bool) -> str:
    """Return the name of the row of an encoder's cosine, with its stage if there are several."""
    name = COSINE_ROW if TASKS[task].label_kind == "score" else THRESHOLD_ROW
    return f"{name} ({stage})" if several else name


def floors(task: str, splits: Splits, split: str) -> dict[str, np.ndarray]:
    """Return the predictions of word overlap and of the most frequent class, (N,) each.

    Args:
        task: its name.
        splits: its examples; without train labels there are only similarities.
        split: train, dev, test; or all, of a table in folds, each with its own train part.
    """
    parts = [(getattr(splits, split), splits.train)]
    if split == EVERY_ROW:
        parts = [(fold.test, fold.train) for fold in splits.folds]
    found = {}
    always = _always(task, splits)
    for name, calls_of in ((OVERLAP, overlap_calls), (always, most_frequent)):
        of_parts = [calls_of(task, examples, train) for examples, train in parts]
        known = [calls for calls in of_parts if calls is not None]
        if len(known) == len(parts):
            found[name] = of_all_rows(splits, known) if split == EVERY_ROW else known[0]
    return found


def _always(task: str, splits: Splits) -> str:
    """Return the name of the row of the most frequent class: `always no`."""
    if TASKS[task].label_kind == "score" or not is_labelled(splits.train):
        return ALWAYS
    label = int(_mode(splits.train))
    words = splits.task.words if splits.task else ()
    if TASKS[task].label_kind == "binary" and (not words or number(words[0]) is not None):
        words = "no", "yes"  # labels 0 and 1
    return f"{ALWAYS}{words[label] if words else f'class {label}'}"


def _mode(examples: Sequence[Example]) -> float:
    labels, counts = np.unique(labels_of(examples), return_counts=True)
    return float(labels[counts.argmax()])


def most_frequent(
    task: str, examples: Sequence[Example], train: Sequence[Example]
) -> np.ndarray | None:
    """Return the most frequent class of the training rows for each example, (N,).

    None for scores (a constant has no correlation), and without labels for training.
    """
    if TASKS[task].label_kind == "score" or not is_labelled(train):
        return None
    return np.full(len(examples), _mode(train))


def overlap_calls(
    task: str, examples: Sequence[Example], train: Sequence[Example]
) -> np.ndarray | None:
    """Return the predictions of word overlap for N pairs, (N,): the Jaccard index of content words.

    As a similarity it needs no training. For binary labels, pairs at or above a threshold are
    positive; the threshold has the best accuracy on the training pairs that share no text with
    `examples`. None for single texts, for several classes, and for binary labels without such
    training pairs that have labels.
    """

    def shares(pairs: Sequence[Example]) -> np.ndarray:
        first, second = zip(*(pair.texts for pair in pairs), strict=True)
        return jaccard(first, second, FUNCTION_WORDS)

    kind = TASKS[task].label_kind
    if not TASKS[task].is_pair or kind == "classes":
        return None
    if kind == "score":
        return shares(examples)
    train = disjoint(train, examples)
    if not is_labelled(train):
        return None
    threshold = best_threshold(shares(train), labels_of(train), "accuracy")
    return (shares(examples) >= threshold).astype(np.float64)
