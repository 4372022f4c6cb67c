"""The rows that checkpoints, epochs and thresholds are chosen by: never rows that are scored."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.examples import Example, SentencePair
from data.overlap import Seen, groups_by_text, overlap
from data.tasks import TASKS, official_dev, read_sts, split_file

MOST = 1000  # pairs: about as many as the official-dev rows below, encoded in seconds
# Trials of tuned encoders are fitted on at most so many rows, to stay affordable.
MOST_TO_TRY = 4000
FEWEST_TO_CHOOSE = 20
# Rows that are enough to choose by, and the trials that hold out so many of few.
ENOUGH, MOST_TRIALS = 200, 5


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


Parts = tuple[np.ndarray, np.ndarray]  # rows to fit on and rows to choose by, (n,) and (m,)


def parts_of(
    examples: Sequence[Example],
    scored: Sequence[Example],
    seed: int,
    classes: bool,
    most: int | None = None,
) -> list[Parts]:
    """Return, for each trial, the rows of train to fit it on and the rows to score it on.

    To score on: a fifth, at most 1,000, drawn in whole groups of examples that texts tie together.
    It shares no text with the rest, nor with what is `scored` in the end (dev and test); a group
    that has no room any more stays with the rest. A fifth of a few hundred rows is too few to
    choose well by: further trials hold out others, up to five in all, until ENOUGH rows choose
    together. [] if there are fewer than 20 such rows.

    Args:
        examples: train.
        scored: dev and test.
        seed: of the draw.
        classes: whether the labels are classes, of which `most` rows keep the shares.
        most: rows to fit on, where all of the rest would take too long.
    """
    groups, seen = groups_by_text(examples), Seen()
    seen.add_examples(scored)
    sizes = np.bincount(groups)
    closed = np.zeros(len(sizes), bool)  # groups with a text that is scored in the end
    closed[groups[overlap(examples, seen).shared]] = True
    order = np.random.default_rng([seed, len(examples)]).permutation(len(sizes))
    parts: list[Parts] = []
    while len(parts) < MOST_TRIALS and sum(len(held_out) for _, held_out in parts) < ENOUGH:
        held_out = np.zeros(len(sizes), bool)
        room = min(MOST, len(examples) // MOST_TRIALS)
        for group in order:
            if sizes[group] <= room and not closed[group]:
                held_out[group] = True
                room -= sizes[group]
        chosen_by, others = (np.flatnonzero(held_out[groups] == side) for side in (True, False))
        if len(chosen_by) < FEWEST_TO_CHOOSE:
            break
        closed |= held_out  # each row chooses once
        if most is not None and most < len(others):
            rest = [examples[row] for row in others.tolist()]
            others = others[nested_rows(rest, most, seed, classes)]
        parts.append((others, chosen_by))
    return parts
