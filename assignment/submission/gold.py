"""What a submission is held against: the rows of the data, with their labels where there are any.

Reads: data, dialects. Feeds: checking, score, leaderboard.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from assignment.submission.dialects import ASKED, BARS, SPLITS, sentence_key
from data.examples import Example, Sentence
from data.readers.plain import choice, plain_lines
from data.readers.tables import read_header
from data.tasks import Task, split_file
from evaluation.scoring import is_labelled, labels_of

Key = tuple[str, int]  # an id or a sentence, and its how-manieth occurrence in the file


def numbered(keys: Iterable[str]) -> list[Key]:
    """Return keys with how often each has occurred up to there: ids may occur twice in data."""
    seen: Counter[str] = Counter()
    found = []
    for key in keys:
        seen[key] += 1
        found.append((key, seen[key]))
    return found


@dataclass(frozen=True)
class Expected:
    """The rows of one split.

    Attributes:
        path: their file.
        examples: those that count, in order.
        more: ids of rows that may be predicted and do not count, as they have no readable label.
    """

    path: Path
    examples: list[Example]
    more: frozenset[str]

    @cached_property
    def by_id(self) -> list[Key]:
        """Return the ids in order."""
        return numbered(example.id for example in self.examples)

    @cached_property
    def by_sentence(self) -> list[Key]:
        """Return the texts in order, as CMU's rows name them."""
        return numbered(sentence_key(" ".join(example.texts)) for example in self.examples)

    @property
    def labels(self) -> np.ndarray | None:
        """Return the labels (N,), None where the file has none."""
        return labels_of(self.examples) if is_labelled(self.examples) else None


class Gold:
    """A folder of the tasks' files, in CS224N's format or CMU's; each is read once."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.expected = lru_cache(maxsize=None)(self._read)

    def splits(self, task: str) -> list[str]:
        """Return the splits of a task, of dev and test, that are there."""
        return [split for split in SPLITS if self._path(ASKED[task], split).is_file()]

    def _path(self, task: Task, split: str) -> Path:
        path, bars = split_file(self.folder, task, split), f"{task.name}-{split}.txt"
        return path if path.is_file() else self.folder / bars

    def _read(self, task: str, split: str) -> Expected | None:
        """Return the rows of a split, None if its file is not there.

        Raises:
            DataError: it is broken.
        """
        record = ASKED[task]
        path = self._path(record, split)
        if not path.is_file():
            return None
        if path.suffix == ".txt":
            return Expected(path, _read_bars(path, record), frozenset())
        labelled = record.label in read_header(path, "\t")
        examples = record.read(path, labelled=labelled)
        # Rows that the course's reader drops for their labels are still asked for.
        ids = {example.id for example in record.read(path, labelled=False)}
        return Expected(path, examples, frozenset(ids - {example.id for example in examples}))


def _read_bars(path: Path, task: Task) -> list[Example]:
    """Return the sentences of a file of CMU's, `label ||| sentence`."""
    found: list[Example] = []
    classes = [str(label) for label in range(task.num_classes)]
    for line, text in plain_lines(path):
        label, _, sentence = text.partition(BARS.strip())
        gold = choice(f"{path}:{line}", label.strip(), classes)
        found.append(Sentence(f"line-{line}", sentence.strip(), gold))
    return found
