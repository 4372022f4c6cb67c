"""Text in, examples out: tasks and their readers, the leak audit and (`data.fetch`) downloads.

Everything here is plain text and the standard library (plus numpy in `data.overlap`): no tensors,
no tokenizer. Feeds every later stage: minbert, simcse, heads, evaluation. The names are loaded on
first use, so that commands answer at once.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from data.examples import DataError, Example, Sentence, SentencePair, Triplet
    from data.overlap import Overlap, Seen, normalise
    from data.readers.quora import read_quora
    from data.readers.sentences import iter_sentences
    from data.readers.sst import read_sst
    from data.readers.sts import official_dev, read_sts
    from data.readers.triplets import iter_triplets
    from data.tasks import TASKS, Splits, Task, read_task

__all__ = [
    "TASKS",
    "DataError",
    "Example",
    "Overlap",
    "Seen",
    "Sentence",
    "SentencePair",
    "Splits",
    "Task",
    "Triplet",
    "iter_sentences",
    "iter_triplets",
    "normalise",
    "official_dev",
    "read_quora",
    "read_sst",
    "read_sts",
    "read_task",
]

_HOME = {
    **dict.fromkeys(("DataError", "Example", "Sentence", "SentencePair", "Triplet"), "examples"),
    **dict.fromkeys(("Overlap", "Seen", "normalise"), "overlap"),
    **dict.fromkeys(("TASKS", "Splits", "Task", "read_task"), "tasks"),
    **dict.fromkeys(("official_dev", "read_sts"), "readers.sts"),
    "read_quora": "readers.quora",
    "read_sst": "readers.sst",
    "iter_sentences": "readers.sentences",
    "iter_triplets": "readers.triplets",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'data' has no attribute {name!r}")
    return getattr(import_module(f"data.{_HOME[name]}"), name)
