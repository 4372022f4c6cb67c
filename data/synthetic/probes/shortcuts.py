"""Shortcuts: how well labels can be predicted without comparing the two texts of a pair.

`python -m data.synthetic.probes.shortcuts DIR`

Every value is shown with chance, which is the value of a data set without shortcuts: the accuracy
of a linear model of only the first text, only the second text, the lengths, or the function words;
how often pairs with the same words are duplicates; how many test pairs differ in exactly the words
in which a train pair differs. It reads the paraphrases that data.synthetic wrote.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from data.synthetic.probes.baselines import Row, labels, linear, over_folder, read, texts, words
from runtime.commands import begin

# Function words. Numbers and `not` also belong to the meaning of a pair.
FUNCTION_WORDS = (
    "a an the some of in on at to for by with from as and while meanwhile same time that who whom "
    "what which where when why is are was were be been being do does did has have had will not no "
    "it they there one ones this i can you me if whether busy true fact"
).split()
NUMBERS = "two three four five six seven eight nine ten".split()

TASK = "para"


@dataclass(frozen=True)
class Finding:
    """A figure, with its value for a data set without shortcuts."""

    name: str
    value: float
    chance: float


def edit_of(row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that are only in the first text, and those only in the second."""
    first, second = (Counter(words(text)) for text in pair(row))
    return tuple(sorted((first - second).elements())), tuple(sorted((second - first).elements()))


def pair(row: Row) -> tuple[str, str]:
    """Return the two texts of a row."""
    return row["sentence1"], row["sentence2"]


def lengths(rows: list[Row]) -> np.ndarray:
    """Return the numbers of words and letters of both texts, (N, 4)."""
    return np.array([[size(text) for text in pair(row) for size in (_words, len)] for row in rows])


def _words(text: str) -> int:
    return len(words(text))


def function_words(rows: list[Row]) -> np.ndarray:
    """Return the counts of the F function words in both texts, and their differences, (N, 3F)."""
    known = [*FUNCTION_WORDS, *NUMBERS]
    counts = np.array(
        [[[Counter(words(text))[word] for word in known] for text in pair(row)] for row in rows]
    )
    first, second = counts[:, 0], counts[:, 1]
    return np.hstack([first, second, abs(first - second)])


def shortcuts(parts: list[list[Row]]) -> list[Finding]:
    """Return how well each shortcut, fitted on train, predicts the labels of test.

    Args:
        parts: train, dev and test; the last two are scored jointly.
    """
    train, rest = parts[0], parts[1] + parts[2]
    truth = labels(rest, TASK)
    found = {
        "first text alone": _one_text(train, rest, 0),
        "second text alone": _one_text(train, rest, 1),
        "lengths": _fitted(lengths(train), lengths(rest), train),
        "function words": _fitted(function_words(train), function_words(rest), train),
        "words, linear": np.concatenate(linear(parts, TASK)),
    }
    majority = float(np.unique(truth, return_counts=True)[1].max() / len(truth))
    return [
        Finding(name, float((guess == truth).mean()), majority) for name, guess in found.items()
    ]


def _one_text(train: list[Row], rest: list[Row], number: int) -> np.ndarray:
    vectorizer = TfidfVectorizer(token_pattern=r"[\w'-]+")
    fitted = vectorizer.fit_transform(texts(train, TASK, number))
    return _fitted(fitted, vectorizer.transform(texts(rest, TASK, number)), train)


def _fitted(
    features: csr_matrix | np.ndarray, others: csr_matrix | np.ndarray, train: list[Row]
) -> np.ndarray:
    model = LogisticRegression(C=1.0, max_iter=1000)
    if isinstance(features, np.ndarray):  # counts, of very different sizes
        scale = features.std(axis=0) + 1e-9
        features, others = features / scale, others / scale
    return np.asarray(model.fit(features, labels(train, TASK)).predict(others))


def same_words(parts: list[list[Row]]) -> list[Finding]:
    """Return the mean label of pairs with the same words, and that of all others."""
    rows = [row for part in parts for row in part]
    same = np.array([edit_of(row) == ((), ()) for row in rows])
    truth = labels(rows, TASK)
    if same.all() or not same.any():
        return []
    named = f"mean label of the {same.mean():.1%} with the same words"
    return [Finding(named, float(truth[same].mean()), float(truth[~same].mean()))]


def known_edits(parts: list[list[Row]]) -> Finding:
    """Return the share of test rows whose texts differ by the same words as in a train row."""
    seen = {edit_of(row) for row in parts[0]}
    share = float(np.mean([edit_of(row) in seen for row in parts[2]]))
    return Finding("test rows with an edit of train", share, 0.0)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 0, or 2 if the files are missing or not the bundled ones."""
    return over_folder(
        report, argv, prog="python -m data.synthetic.probes.shortcuts", description=__doc__
    )


def report(folder: Path) -> list[list[Any]]:
    """Print all figures of a folder, and return them."""
    parts = read(folder, TASK)
    found = [*shortcuts(parts), *same_words(parts), known_edits(parts)]
    print(f"{'task':6}{'accuracy on dev and test':52}{'':>8}{'chance':>8}")
    for finding in found:
        print(f"{TASK:6}{finding.name:52}{finding.value:8.3f}{finding.chance:8.3f}")
    return [["task", "name", "value", "chance"], *([TASK, *astuple(one)] for one in found)]


if __name__ == "__main__":
    begin()
    sys.exit(main())
