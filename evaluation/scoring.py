"""One split of one cell: its metrics, and how much of it the run had seen before.

Reads: predictions, examples, what was seen. Feeds: experiment.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from data.examples import Example
from data.overlap import Seen, overlap
from evaluation.intervals import intervals
from evaluation.metrics import row_errors, task_metrics


def score_split(
    task: str,
    examples: Sequence[Example],
    predictions: np.ndarray,
    seen: Seen,
) -> dict[str, Any]:
    """Return `n`, `metrics`, `interval`, `overlap` and `phenomena` of a labelled split.

    `interval` holds low, high and method by metric (see intervals). `overlap` holds the shares of
    rows with a sentence, or with the whole pair, seen in training or selection, and
    `metrics_on_rest`, the metrics on rows with nothing seen. `phenomena` holds `n` and the mean
    `error` (see row_errors) of the rows of each tag; it is {} without tags.
    """
    labels = np.array([example.label for example in examples], np.float64)
    found = overlap(examples, seen)
    rest = ~found.shared
    return {
        "n": len(examples),
        "metrics": task_metrics(task, predictions, labels),
        "interval": {
            name: interval and asdict(interval)
            for name, interval in intervals(task, predictions, labels).items()
        },
        "overlap": {
            "sentences": found.share_sentences,
            "pairs": found.share_pairs,
            "n_rest": int(rest.sum()),
            "metrics_on_rest": (
                task_metrics(task, predictions[rest], labels[rest]) if rest.any() else {}
            ),
        },
        "phenomena": _by_phenomenon(examples, row_errors(task, predictions, labels)),
    }


def _by_phenomenon(examples: Sequence[Example], errors: np.ndarray) -> dict[str, dict[str, float]]:
    rows: dict[str, list[float]] = {}
    tags = [example.phenomenon for example in examples]
    for tag, error in zip(tags, errors.tolist(), strict=True):
        if tag:
            rows.setdefault(tag, []).append(error)
    return {
        tag: {"n": len(found), "error": sum(found) / len(found)}
        for tag, found in sorted(rows.items())
    }


def is_labelled(examples: Sequence[Example]) -> bool:
    """Return whether every example has a label."""
    return bool(examples) and all(example.label is not None for example in examples)
