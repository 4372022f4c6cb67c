"""Text in, examples out: readers of data sets, the leak audit and (`data.download`) the fetcher.

Everything here is plain text and the standard library (plus numpy in `data.overlap`): no tensors,
no tokenizer. Feeds every later stage: minbert, simcse, heads, evaluation.
"""

from data.cs224n import (
    TASK_FILES,
    Splits,
    official_dev,
    read_quora,
    read_sst,
    read_sts,
    read_task,
)
from data.examples import DataError, Sentence, SentencePair, Triplet
from data.overlap import Overlap, Seen, normalise, overlap
from data.simcse import iter_sentences, iter_triplets

__all__ = [
    "TASK_FILES",
    "DataError",
    "Overlap",
    "Seen",
    "Sentence",
    "SentencePair",
    "Splits",
    "Triplet",
    "iter_sentences",
    "iter_triplets",
    "normalise",
    "official_dev",
    "overlap",
    "read_quora",
    "read_sst",
    "read_sts",
    "read_task",
]
