"""Text in, examples out: tasks and their readers, the leak audit and (`data.fetch`) downloads.

Everything here is plain text and the standard library (plus numpy in `data.overlap`): no tensors,
no tokenizer. Feeds every later stage: minbert, simcse, heads, evaluation.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from data.examples import DataError, Example, Sentence, SentencePair, Triplet
from data.readers.quora import read_quora
from data.readers.sentences import iter_sentences
from data.readers.sst import read_sst
from data.readers.sts import official_dev, read_sts
from data.readers.triplets import iter_triplets
from data.tasks import TASKS, Splits, Task, read_task

if TYPE_CHECKING:
    from data.overlap import Overlap, Seen, normalise

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


def __getattr__(name: str) -> Any:
    """Return a name of `data.overlap`; numpy is loaded only when needed, not for --help."""
    if name in ("Overlap", "Seen", "normalise"):
        return getattr(import_module("data.overlap"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
