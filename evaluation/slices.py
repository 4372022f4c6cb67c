"""Errors of predictions by properties of the rows, with paired intervals.

Legend: N rows, L the largest rating, B resamples.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from baselines.words import jaccard, words
from data.examples import Example
from data.tasks import Task
from evaluation.clusters import count
from evaluation.intervals import ROUNDING, Interval, percentiles, resampled

FEWEST = 20  # rows; the mean of fewer says little, and an interval would promise too much
# English; "n't" also where a tokenizer has cut it off.
NEGATION = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|nowhere|neither|nor|cannot|without)\b|n['’]t\b",
    re.IGNORECASE,
)
LENGTHS = ((0, 5), (6, 10), (11, 20))  # words; longer texts are a further group
LONGEST = 21

Group = tuple[str, str, np.ndarray]  # a property, its value, its rows (N,) bool


@dataclass(frozen=True)
class Slice:
    """The n rows of a split that share a property, and both models' mean errors on them."""

    by: str  # the property; "all" for all rows
    name: str  # its value
    n: int
    bi: float
    cross: float
    difference: float  # bi - cross: above 0 if the cross-encoder is better
    # The 95% interval of the difference, not corrected for several slices: of twenty slices
    # without a difference, one is expected to exclude 0.
    low: float | None
    high: float | None


def properties(example: Example, task: Task) -> dict[str, str | None]:
    """Return a labelled row's value of each property, None where it has none.

    `phenomenon` is the tag of the row in the data; `word overlap` a fifth of the Jaccard index of a
    pair's words, with a further group for pairs of the same words in any order; `length` the number
    of words in the longer text; `negation` the number of texts with a negation; `label` the gold
    class, or the band of a rating.
    """
    texts = example.texts
    overlap = None
    if len(texts) == 2:
        share = float(jaccard(texts[:1], texts[1:])[0])
        fifth = int(5 * share)
        overlap = f"{fifth / 5:.1f} to {(fifth + 1) / 5:.1f}" if share < 1 else "the same words"
    count = max(len(words(text)) for text in texts)
    least, most = next(((low, high) for low, high in LENGTHS if count <= high), (LONGEST, None))
    length = f"{least} words or more" if most is None else f"{least} to {most} words"
    negations = sum(bool(NEGATION.search(text)) for text in texts)
    assert example.label is not None
    scored = task.label_kind == "score"
    return {
        "phenomenon": example.phenomenon,
        "word overlap": overlap,
        "length": length,
        "negation": f"{negations} of {len(texts)} texts",
        "label": band_of(example.label, int(task.largest)) if scored else str(int(example.label)),
    }


def groups(examples: Sequence[Example], task: Task) -> list[Group]:
    """Return the groups of rows: all rows, then each property in the order of its values."""
    rows: list[Group] = [("all", "all rows", np.ones(len(examples), bool))]
    known = [properties(example, task) for example in examples]
    for by in known[0] if known else ():
        values = np.array([row[by] or "" for row in known])
        names = sorted(set(values.tolist()) - {""}, key=_by_number)
        rows += [(by, name, values == name) for name in names]
    return rows


def slices(
    rows: Sequence[Group], bi: np.ndarray, cross: np.ndarray, clusters: np.ndarray
) -> list[Slice]:
    """Return the slices of a split of at least one row, by its groups.

    `bi` and `cross` are the errors (N,) of the two models, averaged over seeds.
    """
    measured = []
    for by, name, inside in rows:
        of_bi, of_cross = float(bi[inside].mean()), float(cross[inside].mean())
        interval = paired_interval(bi[inside], cross[inside], clusters[inside])
        measured.append(
            Slice(
                by=by,
                name=name,
                n=int(inside.sum()),
                bi=of_bi,
                cross=of_cross,
                difference=of_bi - of_cross,
                low=interval.low if interval else None,
                high=interval.high if interval else None,
            )
        )
    return measured


def paired_interval(first: np.ndarray, second: np.ndarray, clusters: np.ndarray) -> Interval | None:
    """Return the 95% interval of mean(first) - mean(second), errors (N,) of the same rows.

    Rows are resampled, so rows that are hard for both models do not widen it. None if N is below
    FEWEST, or if all rows have the same difference. The clusters' numbers may have gaps.
    """
    differences = first - second
    clusters = np.unique(clusters, return_inverse=True)[1]
    if len(differences) < FEWEST or np.ptp(differences) < ROUNDING or count(clusters) < 2:
        return None

    def mean(weights: np.ndarray) -> np.ndarray:  # (B, N) @ (N,) -> (1, B)
        return np.asarray((weights @ differences / weights.sum(axis=1))[None])

    return percentiles(resampled([mean], clusters)[0])


def _by_number(name: str) -> tuple[float, str]:
    """Return a key that puts "6 to 10 words" before "11 to 20 words"; others come last."""
    first = name.split()[0]
    return (float(first) if first.replace(".", "").isdigit() else np.inf, name)


def band_of(rating: float, largest: int) -> str:
    """Return the name of a rating's band, from "0 to 1" to "L-1 to L"; it holds its upper end."""
    low = min(max(int(np.ceil(rating)) - 1, 0), largest - 1)
    return f"{low} to {low + 1}"
