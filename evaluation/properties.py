"""What a row of a task is like: what it tests, how alike its words are, its length, its label.

Reads: examples. Feeds: slices.
"""

import re
from collections.abc import Callable

from baselines.words import jaccard, words
from data.examples import Example
from data.tasks import Task
from evaluation.ratings import band_of

# English; "n't" also where a tokenizer has cut it off.
NEGATION = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|nowhere|neither|nor|cannot|without)\b|n['’]t\b",
    re.IGNORECASE,
)
LONGEST = (5, 10, 20)  # words; what is longer is a group of its own


def phenomenon(example: Example, task: Task) -> str | None:
    """Return what the data say that the row tests, if they do."""
    return example.phenomenon


def word_overlap(example: Example, task: Task) -> str | None:
    """Return a fifth of the Jaccard index of a pair's words; None for a single text.

    Pairs of the very same words, perhaps in another order, are a group of their own.
    """
    if len(example.texts) != 2:
        return None
    first, second = example.texts
    share = float(jaccard([first], [second])[0])
    if share == 1:
        return "the same words"
    fifth = int(5 * share)
    return f"{fifth / 5:.1f} to {(fifth + 1) / 5:.1f}"


def length(example: Example, task: Task) -> str:
    """Return how many words the longer text has."""
    count = max(len(words(text)) for text in example.texts)
    least = 0
    for most in LONGEST:
        if count <= most:
            return f"{least} to {most} words"
        least = most + 1
    return f"{least} words or more"


def negation(example: Example, task: Task) -> str:
    """Return in how many of the texts there is a negation, such as "1 of 2 texts"."""
    count = sum(bool(NEGATION.search(text)) for text in example.texts)
    return f"{count} of {len(example.texts)} texts"


def label(example: Example, task: Task) -> str:
    """Return the gold class, or the band of a rating; the example must be labelled."""
    assert example.label is not None
    if task.kind == "score":
        return band_of(example.label, task.largest)
    return str(int(example.label))


PROPERTIES: dict[str, Callable[[Example, Task], str | None]] = {
    "phenomenon": phenomenon,
    "word overlap": word_overlap,
    "length": length,
    "negation": negation,
    "label": label,
}
