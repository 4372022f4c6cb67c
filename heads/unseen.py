"""Scores of labelled pairs by heads that were not trained on their texts."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.beir import read_searched
from data.examples import DataError, SentencePair
from data.locate import data_folder
from data.overlap import disjoint, read_as
from data.pairs import read_pairs
from data.search import positives
from data.tasks import EVERY_ROW, Splits, read_task
from heads.saved import FinishedCell, SavedHead, run_config
from minbert.spelling import spellings
from runtime.files import as_given_in

logger = logging.getLogger(__name__)


def unseen_scores(
    pairs: Sequence[SentencePair], cell: FinishedCell, head: SavedHead
) -> tuple[list[SentencePair], np.ndarray]:
    """Return the pairs with texts that were not trained on, and their scores (N,).

    They are scored by the saved head. The rows of a table in folds come first, with the scores that
    the run stored: those of heads that were trained without their texts. All pairs are returned if
    the run's data no longer exists.

    Raises:
        DataError: the data has changed since the run, or stored scores are missing.
    """
    run = cell.path.parent.parent
    config = run_config(run)
    backbones = config["options"].get("backbone") or []
    with read_as(spellings(backbones, config.get("directory", "."))):
        splits = _splits_of(run, cell.task)
        if splits is None:
            return list(pairs), head.soft([pair.texts for pair in pairs])
        stored = _scores_in_folds(run, cell, splits) if splits.folds else {}
        in_folds = [pair for pair in pairs if _words(pair) in stored]
        learnt = positives(splits.train, splits.corpus) if splits.corpus else splits.train
        others = disjoint([pair for pair in pairs if _words(pair) not in stored], learnt)
    scores = [np.array([stored[_words(pair)] for pair in in_folds])]
    if others:
        scores.append(head.soft([pair.texts for pair in others]))
    return [*in_folds, *others], np.concatenate(scores)


def _splits_of(run: Path, task: str) -> Splits | None:
    """Return the run's data of a task; None, with a warning, if it no longer exists."""
    config = run_config(run)
    options, directory = config["options"], config.get("directory", ".")
    try:
        tables = [as_given_in(directory, path) for path in options.get("pairs") or []]
        data = as_given_in(directory, options["data"])
        if task == "search":
            splits = read_searched(options, tables, data_folder(data)).splits
        elif tables:
            seed, columns = options.get("seed", 42), options.get("columns") or ()
            splits = read_pairs(tables, columns, task, seed, options.get("folds") or 1).splits
        else:
            splits = read_task(data_folder(data), task)
    except DataError as error:
        logger.warning("%s; pairs that the head was trained on are not left out", error)
        return None
    # A table is split anew when it is read: other rows are in train if it has changed.
    if splits.digest != config.get("sha256", {}).get(task):
        named = ", ".join(tables) if tables else f"{options['data']}: {task}"
        raise DataError(
            f"{named}: changed since {run} was written, so the pairs that the head was trained on "
            "are unknown; run its command again, or restore the original"
        )
    return splits


def _scores_in_folds(run: Path, cell: FinishedCell, splits: Splits) -> dict[tuple[str, ...], float]:
    """Return the stored score of each row of a table in folds, by its texts."""
    path = run / "predictions" / cell.name / f"{cell.task}-{EVERY_ROW}-soft.npz"
    try:
        with np.load(path, allow_pickle=False) as file:
            scores = dict(zip(file["ids"].tolist(), file["soft"].tolist(), strict=True))
        return {_words(row): scores[row.id] for row in splits.all}
    except (ValueError, KeyError, OSError) as error:
        raise DataError(
            f"{path}: no scores of the table's rows ({error!r}); run the command again"
        ) from None


def _words(pair: SentencePair) -> tuple[str, ...]:
    """Return the texts of a pair with white space as in the rows of a run."""
    return tuple(" ".join(text.split()) for text in pair.texts)
