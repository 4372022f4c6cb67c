"""A threshold on the scores of pairs: chosen on half of labelled pairs, measured on the others.

No text is in both halves. So precision and recall belong to exactly the printed threshold, on
pairs that were not used to choose it.

Legend: N pairs, T thresholds, B resamples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.examples import DataError, SentencePair
from evaluation.clusters import clusters_of, count
from evaluation.intervals import Interval, exact_share, percentiles, weightings
from evaluation.metrics import labels_of

STEPS = 10_000  # thresholds are multiples of 1 / STEPS, so the printed one is exact
FEWEST = 5  # positive pairs, and negative ones, of each part
SEED = 0  # the same pairs are split alike
RELIABLE = 20  # pairs of a precision or recall without a warning


@dataclass(frozen=True)
class Share:
    """A precision or recall of n pairs with its 95% interval; `value` is None if n is 0."""

    value: float | None
    interval: Interval | None
    n: int

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        low_high = self.interval and f" [{self.interval.low:.3f}, {self.interval.high:.3f}]"
        return f"{self.value:.3f}{low_high or ''}"


@dataclass(frozen=True)
class Threshold:
    """A threshold and its precision and recall; a pair at or above it is called positive.

    `chosen_on` and `measured_on` count pairs.
    """

    threshold: float
    precision: Share
    recall: Share
    chosen_on: int
    measured_on: int
    wished: float | None = None  # the precision that was asked for

    @property
    def warnings(self) -> list[str]:
        """Return what makes precision and recall unreliable, with what to do."""
        found = []
        for name, share in (("precision", self.precision), ("recall", self.recall)):
            if share.n < RELIABLE:
                found.append(f"warning: {name} is measured on {share.n} pair(s); label more")
        reached = self.precision.value
        if self.wished and reached is not None and reached < self.wished:
            found.append(
                f"warning: precision {self.wished:g} was reached where the threshold was chosen, "
                f"and {reached:.3f} on the others; give a higher --precision, or label more"
            )
        return found

    def table(self, why: str) -> str:
        """Return a table of two lines, and the numbers of pairs."""
        rows = [
            ("threshold", "precision", "recall", "chosen for"),
            (f"{self.threshold:.4f}", str(self.precision), str(self.recall), why),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join(
            [
                *lines,
                f"Chosen on {self.chosen_on:,} pairs, measured on {self.measured_on:,} others; no "
                "text is in both parts.",
                "In brackets: 95% intervals.",
                *self.warnings,
            ]
        )


def reason(precision: float | None) -> str:
    """Return in words the aim of a threshold."""
    return "best F1" if precision is None else f"precision of {precision:g} or more"


def find_threshold(
    pairs: Sequence[SentencePair], scores: np.ndarray, precision: float | None, file: str
) -> Threshold:
    """Return the threshold with the best F1, or the highest recall at a `precision`.

    Args:
        pairs: N pairs with labels 0 and 1.
        scores: (N,), higher for positive pairs.
        precision: required on the part that chooses the threshold.
        file: where the pairs are from, for messages.

    Raises:
        DataError: too few pairs of a label, or the precision is not reached.
    """
    labels, clusters = labels_of(pairs) > 0, clusters_of(pairs)
    chooses = _split(labels, clusters, file)
    # Integers, so rounding does not move a pair across a threshold.
    steps = np.floor(scores.astype(np.float64) * STEPS)
    threshold = _best(steps[chooses], labels[chooses], precision, file)
    called, rest = steps[~chooses] >= threshold, labels[~chooses]
    _, groups = np.unique(clusters[~chooses], return_inverse=True)
    return Threshold(
        threshold=float(threshold / STEPS),
        precision=_share(called & rest, called, groups),
        recall=_share(called & rest, rest, groups),
        chosen_on=int(chooses.sum()),
        measured_on=len(rest),
        wished=precision,
    )


def _split(labels: np.ndarray, clusters: np.ndarray, file: str) -> np.ndarray:
    """Return the pairs to choose on, (N,) bool: about half of each label, whole clusters."""
    for label, name in ((True, "positive"), (False, "negative")):
        if (labels == label).sum() < 2 * FEWEST:
            raise DataError(
                f"{file}: {(labels == label).sum()} {name} pair(s), expected at least "
                f"{2 * FEWEST}; label more"
            )
    sizes = np.bincount(clusters)
    positives = np.bincount(clusters, labels)
    # Large clusters first, each into the part with fewer pairs of its labels.
    order = np.random.default_rng(SEED).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    held = np.zeros((2, 2))  # positive and negative pairs of both parts
    part = np.zeros(len(sizes), int)
    for cluster in order:
        content = np.array([positives[cluster], sizes[cluster] - positives[cluster]])
        part[cluster] = int(np.argmin(held @ content))
        held[part[cluster]] += content
    if held.min() < FEWEST:
        raise DataError(
            f"{file}: {sizes.max()} of the {len(labels)} pairs are connected by shared texts, "
            "so two halves without common texts are too small; label pairs of other texts"
        )
    return np.asarray(part[clusters] == 0)


def _best(steps: np.ndarray, labels: np.ndarray, precision: float | None, file: str) -> float:
    """Return the best threshold of pairs, in steps."""
    distinct = np.unique(steps)
    # Halfway between two scores that occur, so that rounding does not move a pair across it.
    thresholds = np.append(distinct[0], np.ceil((distinct[:-1] + distinct[1:]) / 2))  # (T,)
    ordered, ordered_positives = np.sort(steps), np.sort(steps[labels])
    called = len(ordered) - np.searchsorted(ordered, thresholds)
    right = len(ordered_positives) - np.searchsorted(ordered_positives, thresholds)
    if precision is None:
        return float(thresholds[np.argmax(2 * right / (called + labels.sum()))])
    shares = right / called  # `called` > 0: every threshold includes the highest score
    if not (shares >= precision).any():
        best = int(np.argmax(shares))
        raise DataError(
            f"{file}: precision {precision:g} is not reached; the highest is {shares[best]:.3f}, "
            f"at {thresholds[best] / STEPS:.4f}; give a lower --precision"
        )
    return float(thresholds[np.argmax(shares >= precision)])  # the lowest: the highest recall


def _share(right: np.ndarray, of: np.ndarray, clusters: np.ndarray) -> Share:
    """Return the share of pairs (N,) that are right, of those that count."""
    n = int(of.sum())
    if not n:
        return Share(None, None, 0)
    value = float(right.sum() / n)
    if value in (0.0, 1.0):
        return Share(value, exact_share(value, len(np.unique(clusters[of]))), n)
    counted = np.stack([right, of]).astype(np.float64)  # (2, N)
    # (2, N) x (N, B) -> (2, B)
    sums = np.concatenate([counted @ weights.T for weights in weightings(clusters)], axis=1)
    drawn = sums[:, sums[1] > 0]  # a resample may hold none of them
    return Share(value, percentiles(drawn[0] / drawn[1]) if count(clusters) > 2 else None, n)
