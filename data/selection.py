"""The pairs that checkpoints and thresholds are chosen by: never pairs that are scored later."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.examples import Example, SentencePair
from data.overlap import groups_by_text
from data.tasks import TASKS, official_dev, read_sts, split_file

MOST = 1000  # pairs: about as many as the official-dev rows below, encoded in seconds
FEWEST = 100  # held-out pairs; fewer say too little about a threshold
# Rates are tried on half of the rows: with fewer, steps are fewer too, and the best rate is higher
# than that of all rows. The bound keeps large data affordable.
MOST_TO_TRY = 4000
FEWEST_TO_CHOOSE = 20


def selection_pairs(folder: Path, pairs: list[SentencePair] | None = None) -> list[SentencePair]:
    """Return the STS pairs to select checkpoints by, [] where the folder has no STS training file.

    CS224N reshuffled all of STS-Benchmark, so the official dev set would leak labels of its dev and
    test files. The official-dev rows inside its *train* file (1,031) are safe. In a file without
    official rows, the first thousand training pairs are used.

    `pairs` are those of the STS training file, where they have been read.
    """
    if pairs is None:
        path = split_file(folder, TASKS["sts"], "train")
        pairs = read_sts(path) if path.is_file() else []
    return official_dev(pairs) or pairs[:MOST]


def nested_rows(examples: Sequence[Example], count: int, seed: int, classes: bool) -> np.ndarray:
    """Return which `count` examples a head with few labels is trained on, (count,) in order.

    Random by the seed, and nested: the rows of a smaller count are among those of a larger one. Of
    `classes`, every count holds the same shares, up to rounding; scores are drawn as they come.
    """
    order = np.random.default_rng([seed, len(examples)]).permutation(len(examples))
    if classes:
        labels = np.array([examples[row].label for row in order])
        # The k-th of a class's n examples comes after a share (k + 1/2) / n of all rows.
        turns = np.empty(len(order))
        for label in np.unique(labels):
            members = np.flatnonzero(labels == label)
            turns[members] = (np.arange(len(members)) + 0.5) / len(members)
        order = order[np.argsort(turns, kind="stable")]
    return np.sort(order[:count])


def rows_to_try(
    examples: Sequence[Example], seed: int, classes: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the rows that rates are tried on and those that the best is chosen by, (n,) and (m,).

    The two have no text in common. To choose by: a fifth, at most 1,000, drawn in whole groups of
    examples that texts tie together; a group that has no room any more is left out. To try on:
    half, at most 4,000, of what remains, with the shares of `classes`. None if fewer than 20 can be
    held out: too few to choose by.
    """
    groups = groups_by_text(examples)
    sizes = np.bincount(groups)
    held_out = np.zeros(len(sizes), bool)
    room = min(MOST, len(examples) // 5)
    for group in np.random.default_rng([seed, len(examples)]).permutation(len(sizes)):
        if sizes[group] <= room:
            held_out[group] = True
            room -= sizes[group]
    chosen_by, others = (np.flatnonzero(held_out[groups] == side) for side in (True, False))
    if len(chosen_by) < FEWEST_TO_CHOOSE:
        return None
    count = min(MOST_TO_TRY, len(examples) // 2)
    tried_on = nested_rows([examples[int(row)] for row in others], count, seed, classes)
    return others[tried_on], chosen_by


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
