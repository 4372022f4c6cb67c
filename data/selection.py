"""The pairs that checkpoints and thresholds are chosen by: never pairs that are scored later."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.examples import Example, SentencePair
from data.tasks import TASKS, official_dev, read_sts, split_file

MOST = 1000  # pairs: about as many as the official-dev rows below, encoded in seconds
FEWEST = 100  # held-out pairs; fewer say too little about a threshold


def selection_pairs(folder: Path) -> list[SentencePair]:
    """Return the STS pairs to select checkpoints by, [] where the folder has no STS training file.

    CS224N reshuffled all of STS-Benchmark, so the official dev set would leak labels of its dev and
    test files. The official-dev rows inside its *train* file (1,031) are safe. In a file without
    official rows, the first thousand training pairs are used.

    Raises:
        DataError: a broken file.
    """
    path = split_file(folder, TASKS["sts"], "train")
    if not path.is_file():
        return []
    pairs = read_sts(path)
    return official_dev(pairs) or pairs[:MOST]


def nested_rows(examples: Sequence[Example], count: int, seed: int, classes: bool) -> np.ndarray:
    """Return which `count` examples a head with few labels is trained on, (count,) in order.

    Random by the seed, and nested: the rows of a smaller count are among those of a larger one. Of
    classes, every count holds the same shares, up to rounding.

    Args:
        examples: all that could be trained on.
        count: at most as many.
        seed: of the head.
        classes: whether labels are classes; scores are drawn as they come.
    """
    order = np.random.default_rng([seed, len(examples)]).permutation(len(examples))
    if classes:
        labels = np.array([examples[row].label for row in order])
        # The k-th of a class's n examples comes after a share (k + 1/2) / n of all rows.
        turns = np.empty(len(order))
        for label in np.unique(labels):
            own = np.flatnonzero(labels == label)
            turns[own] = (np.arange(len(own)) + 0.5) / len(own)
        order = order[np.argsort(turns, kind="stable")]
    return np.sort(order[:count])


def hold_out(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Return the examples to train on, and a tenth, at most 1,000, to choose a threshold by.

    Which ones is drawn at random, the same for the same number of examples. Of fewer than 1,000
    examples none are held out.
    """
    count = min(MOST, len(examples) // 10)
    if count < FEWEST:
        return list(examples), []
    chosen = set(np.random.default_rng(0).choice(len(examples), count, replace=False).tolist())
    kept = [example for row, example in enumerate(examples) if row not in chosen]
    return kept, [examples[row] for row in sorted(chosen)]
