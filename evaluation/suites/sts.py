"""Similarity of texts without a head, on the published STS sets."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from data.suites import read_sts_set
from data.tasks import TASKS
from evaluation.intervals import weighted_metric
from evaluation.metrics import PartMetrics, labels_of, pearson, spearman
from evaluation.suites.measured import LoadedSet, Model, in_first, pair_similarities, results_of
from evaluation.suites.results import Result

CORRELATIONS = {"spearman": spearman, "pearson": pearson}


def read(folders: Sequence[Path], name: str) -> LoadedSet:
    """Return a set of data.suites.STS_SETS, subset after subset."""
    subsets = in_first(read_sts_set, folders, name)
    pairs = list(chain(*subsets.values()))
    names = np.repeat(list(subsets), [len(subset) for subset in subsets.values()])
    return LoadedSet("sts", name, examples=pairs, scored=pairs, subsets=names)


def measure(model: Model, sts: LoadedSet) -> list[Result]:
    """Return Spearman and Pearson of the similarities, for each subset and over all."""
    assert sts.subsets is not None
    subsets, gold = sts.subsets, labels_of(sts.scored)
    names = list(dict.fromkeys(subsets.tolist()))
    scores = pair_similarities(model.embedder, sts.scored)
    measures = {
        ("all", name): weighted_metric(name, TASKS["sts"], scores[None], gold)
        for name in TASKS["sts"].metrics
    }
    return results_of(
        model,
        sts,
        lambda rows: set_metrics(scores[rows], gold[rows], subsets[rows], names),
        measures=measures,
    )


def set_metrics(
    similarities: np.ndarray, gold: np.ndarray, subsets: np.ndarray, names: Sequence[str]
) -> PartMetrics:
    """Return the metrics of a set of several subsets, such as a year's; some may have no rows.

    "all" correlates the rows of all subsets at once, as SimCSE's papers and MTEB do. With several
    subsets, each is also reported. `similarities`, `gold` and `subsets` are (N,).
    """
    metrics: PartMetrics = {}
    for metric, correlation in CORRELATIONS.items():
        metrics["all", metric] = (correlation(similarities, gold), len(gold))
        for name in names if len(names) > 1 else ():
            rows = subsets == name
            metrics[name, metric] = (correlation(similarities[rows], gold[rows]), int(rows.sum()))
    return metrics
