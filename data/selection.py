"""The pairs that SimCSE checkpoints are selected by: never pairs that are scored later.

Reads: data.tasks, data.readers.sts. Feeds: the contrastive stage.
"""

from pathlib import Path

from data.examples import SentencePair
from data.readers.sts import official_dev, read_sts
from data.tasks import TASKS

MOST = 1000  # pairs: about as many as the official-dev rows below, encoded in seconds


def selection_pairs(folder: Path) -> list[SentencePair]:
    """Return the STS pairs to select checkpoints by, [] where the folder has no STS training file.

    CS224N reshuffled all of STS-Benchmark, so the official dev set would leak labels of its dev and
    test files. The official-dev rows inside its *train* file (1,031) are safe. In a file without
    official rows, the first thousand training pairs are used.

    Raises:
        DataError: a broken file.
    """
    path = folder / TASKS["sts"].files[0]
    if not path.is_file():
        return []
    pairs = read_sts(path)
    return official_dev(pairs) or pairs[:MOST]
