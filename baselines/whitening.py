"""BERT-whitening: sentence vectors turned so that all directions vary alike (Su et al. 2021).

Vectors of BERT crowd into a narrow cone, where all cosines are high. A linear map that gives them
mean 0 and covariance I spreads them over all directions; no training is needed.
Legend: N vectors, D numbers of each, K of them kept. Reads: embedder. Feeds: table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from baselines.embedder import Embedder
from runtime.errors import TrainingError

# Below this share of the largest variance a direction holds rounding errors only.
NO_VARIANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Whitening:
    """The map x -> (x - mean) W."""

    mean: np.ndarray  # (D,) float64
    matrix: np.ndarray  # (D, K) float64, the W of the paper

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """Return whitened float32 vectors, (N, K)."""
        return ((vectors - self.mean) @ self.matrix).astype(np.float32)


def fit_whitening(vectors: np.ndarray, size: int | None = None) -> Whitening:
    """Return the whitening of `vectors`, (N, D).

    With the covariance U S U^T, W = U sqrt(1/S) gives W^T U S U^T W = I (paper, equations 5 to 7).
    The first K columns belong to the largest variances, so keeping only those loses least.

    Args:
        vectors: of the sentences to adapt to.
        size: K; None keeps every direction in which the vectors vary at all.

    Raises:
        TrainingError: fewer than two vectors.
    """
    if len(vectors) < 2:
        raise TrainingError(f"whitening needs two or more vectors, got {len(vectors)}")
    # Small differences of large sums, hence float64.
    wide = vectors.astype(np.float64)
    mean = wide.mean(axis=0)
    covariance = np.atleast_2d(np.cov(wide, rowvar=False))  # (D, D)
    # Symmetric, so its singular vectors are its eigenvectors, largest variance first.
    directions, variances, _ = np.linalg.svd(covariance)
    # N vectors span N - 1 directions at most; 1/S of the others would be noise without bound.
    varying = variances > NO_VARIANCE * max(variances[0], np.finfo(np.float64).tiny)
    kept = min(int(varying.sum()), size or len(varying))
    return Whitening(mean, directions[:, :kept] / np.sqrt(variances[:kept]))


def whitened(base: Embedder, size: int | None = None) -> Embedder:
    """Return an Embedder whose `adapt` whitens the vectors of `base` on the sentences given.

    Before that it gives the vectors of `base` as they are.
    """
    name = f"{base.name}, whitening" + (f" {size}" if size else "")
    embed = base.embed
    assert embed is not None, "whitening needs vectors"

    def adapt(texts: Sequence[str]) -> Embedder:
        # A sentence that many pairs share counts once.
        whitening = fit_whitening(np.asarray(embed(list(dict.fromkeys(texts)))), size)
        return replace(unfitted, embed=lambda texts: whitening(np.asarray(embed(texts))))

    unfitted = Embedder(name, embed, None, adapt)
    return unfitted
