"""The geometry of embeddings, on the texts of an STS set."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path

import numpy as np
from scipy.sparse import issparse

from evaluation.geometry import pair_geometry
from evaluation.metrics import PartMetrics
from evaluation.suites import sts
from evaluation.suites.measured import LoadedSet, Model, results_of, whole
from evaluation.suites.results import Result

# SimCSE draws its alignment and uniformity on STS-B's dev set (figure 2).
SETS = ("STSBenchmark-dev", "synthetic-sts")


def read(folders: Sequence[Path], name: str) -> LoadedSet:
    return replace(sts.read(folders, name), suite="geometry", subsets=None)


def measure(model: Model, loaded: LoadedSet) -> list[Result]:
    """Return alignment, uniformity and the rest, on the texts of an STS set."""
    pairs, embed = loaded.scored, model.embedder.embed
    # A bag of words has thousands of columns, so its sphere is not comparable.
    if embed is None or issparse(embed([pairs[0].texts[0]])):
        return []

    def metrics(rows: np.ndarray) -> PartMetrics:
        return whole(
            rows, pair_geometry(lambda texts: np.asarray(embed(texts)), list(compress(pairs, rows)))
        )

    results = results_of(model, loaded, metrics)
    # The majority class has only zero vectors.
    return results if any(result.value is not None for result in results) else []
