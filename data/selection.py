"""Select the rows on which checkpoints, epochs and thresholds are chosen; they are never scored."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from data.examples import Example, SentencePair
from data.overlap import Seen, disjoint, groups_by_text, overlap
from data.tasks import SPLITS, TASKS, Splits, official_dev, read_sts, split_file

MOST = 1000  # pairs: about as many as the official-dev rows below, encoded in seconds
# Trials of tuned encoders are fitted on at most this many rows, to limit their time.
MOST_TO_TRY = 4000
FEWEST_TO_CHOOSE = 20
# Enough held-out rows for a choice, and the most trials to reach this number.
ENOUGH, MOST_TRIALS = 200, 5


def selection_pairs(folder: Path, splits: Splits | None = None) -> list[SentencePair]:
    """Return the STS pairs for checkpoint selection, [] if the folder has no STS training file.

    CS224N reshuffled all of STS-Benchmark, so the official dev set would leak labels of its dev and
    test files. The official-dev rows inside its *train* file are safe: those 920 of 1,031 that
    share no text with dev and test. In a file without official rows, the first thousand such pairs
    of train are used.

    `splits` are the STS pairs of the folder, if already read.
    """
    train, dev, test = (splits.train, splits.dev, splits.test) if splits else _sts_files(folder)
    official = disjoint(official_dev(train), [*dev, *test])
    if len(official) >= FEWEST_TO_CHOOSE:
        return official
    return disjoint(train, [*dev, *test])[:MOST]


def _sts_files(folder: Path) -> Iterator[list[SentencePair]]:
    for split in SPLITS:
        path = split_file(folder, TASKS["sts"], split)
        yield read_sts(path, labelled=True if split == "train" else None) if path.is_file() else []


def nested_rows(examples: Sequence[Example], count: int, seed: int, classes: bool) -> np.ndarray:
    """Return the rows of `count` examples to train a head on few labels, (count,) in order.

    They are random by the seed, and nested: a larger count includes the rows of a smaller one. With
    `classes`, every count has the same class shares, up to rounding.
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


def of_all_rows(splits: Splits, of_folds: Sequence[np.ndarray]) -> np.ndarray:
    """Return the values of the test rows of every fold in the order of all rows, (N, ...)."""
    places = {example.id: place for place, example in enumerate(splits.all)}
    order = [places[example.id] for fold in splits.folds for example in fold.test]
    return np.concatenate(of_folds)[np.argsort(order)]


Parts = tuple[np.ndarray, np.ndarray]  # rows to fit on and held-out rows, (n,) and (m,)


def parts_of(
    examples: Sequence[Example],
    scored: Sequence[Example],
    seed: int,
    classes: bool,
    most: int | None = None,
) -> list[Parts]:
    """Return, for each trial, the rows of train to fit it on and the rows to score it on.

    A fifth of the rows, at most 1,000, is held out, in whole groups of examples with shared texts.
    It shares no text with the rest, or with the `scored` examples (dev and test); a group that does
    not fit any more stays in the rest. A fifth of a few hundred rows is too few for a good choice.
    So further trials hold out other rows, up to five in total, until ENOUGH rows are held out. All
    trials count the same, so none has less than half of the first one's rows. [] if there are
    fewer than 20 such rows.

    Args:
        examples: train.
        scored: dev and test.
        seed: of the draw.
        classes: whether the labels are classes, whose shares are kept in `most` rows.
        most: rows to fit on, if all of the rest would take too long.
    """
    groups, seen = groups_by_text(examples), Seen()
    seen.add_examples(scored)
    sizes = np.bincount(groups)
    closed = np.zeros(len(sizes), bool)  # groups with a text of dev or test
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
        first = len(parts[0][1]) if parts else 0
        if len(chosen_by) < max(FEWEST_TO_CHOOSE, first / 2):
            break
        closed |= held_out  # each row is held out once
        if most is not None and most < len(others):
            rest = [examples[row] for row in others.tolist()]
            others = others[nested_rows(rest, most, seed, classes)]
        parts.append((others, chosen_by))
    return parts
