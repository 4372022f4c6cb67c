"""Which labelled pairs a run's heads have not been trained on."""

import logging
from collections.abc import Sequence
from pathlib import Path

from data.examples import DataError, SentencePair
from data.locate import data_folder
from data.overlap import disjoint
from data.pairs import read_pairs
from data.tasks import read_task
from heads.saved import run_config

logger = logging.getLogger(__name__)


def not_trained_on(pairs: Sequence[SentencePair], run: Path, task: str) -> list[SentencePair]:
    """Return the pairs that share no text with the training rows of a task in a run.

    All pairs are returned if the run's data no longer exists.

    Raises:
        DataError: the data has changed since the run.
    """
    config = run_config(run)
    options = config["options"]
    try:
        if tables := options.get("pairs"):
            seed, columns = options.get("seed", 42), options.get("columns") or ()
            splits = read_pairs(tables, columns, task, seed).splits
        else:
            splits = read_task(data_folder(options["data"]), task)
    except DataError as error:
        logger.warning("%s; pairs that the head was trained on are not left out", error)
        return list(pairs)
    # A table is split anew when it is read: other rows are in train if it has changed.
    if splits.digest != config.get("sha256", {}).get(task):
        named = ", ".join(tables) if tables else f"{options['data']}: {task}"
        raise DataError(
            f"{named}: changed since {run} was written, so the pairs that the head was trained on "
            "are unknown; run its command again, or restore the original"
        )
    return disjoint(pairs, splits.train)
