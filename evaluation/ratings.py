"""Similarity by rating band: where predictions are off, and where cosines lie.

Legend: N pairs, L the largest rating; band i holds the ratings from i (not included, except 0) to
i + 1. Reads: arrays. Feeds: slices, report.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

POINTS = 201  # of a density
MOST_EXACT = 10_000  # cosines of a band; more are counted in bins first
BINS = 1000
MARGIN = 0.05  # of the cosines' range, drawn on both sides of it


@dataclass(frozen=True)
class Residuals:
    """How far predictions are from the ratings of one band, in ratings; all None without pairs.

    Attributes:
        band: such as "0 to 1".
        n: pairs.
        mean: of prediction - rating: above 0 where the model overrates.
        spread: the standard deviation of these.
        absolute: the mean distance.
    """

    band: str
    n: int
    mean: float | None
    spread: float | None
    absolute: float | None


@dataclass(frozen=True)
class Density:
    """The density of the cosines of one band's pairs.

    Attributes:
        band, n: as in Residuals.
        cosines: where it was computed, the same for all bands.
        density: at each of these; None where there are fewer than two different cosines.
    """

    band: str
    n: int
    cosines: list[float]
    density: list[float] | None


def band_of(rating: float, largest: int) -> str:
    """Return the name of a rating's band, from "0 to 1" to "L-1 to L"."""
    low = min(max(int(np.ceil(rating)) - 1, 0), largest - 1)
    return f"{low} to {low + 1}"


def residuals(predictions: np.ndarray, labels: np.ndarray, largest: int) -> list[Residuals]:
    """Return the residuals of every band, in order.

    Args:
        predictions, labels: (N,) each, from 0 to `largest`.
        largest: L.
    """
    found = []
    for band, rows in _bands(labels, largest):
        off = predictions[rows] - labels[rows]
        values = (off.mean(), off.std(), np.abs(off).mean()) if rows.any() else (None,) * 3
        found.append(Residuals(band, len(off), *(v if v is None else float(v) for v in values)))
    return found


def cosine_densities(cosines: np.ndarray, labels: np.ndarray, largest: int) -> list[Density]:
    """Return a Gaussian kernel density of the cosines for every band of ratings, in order.

    As in figure 3 of SimCSE (Gao et al. 2021), for STS-B's five bands: good embeddings keep them
    apart. The kernels' width is Scott's rule. They reach beyond a cosine of 1, so that a density
    that is high there integrates to less than 1.

    Args:
        cosines, labels: (N,) each, N at least 1.
        largest: L.
    """
    margin = MARGIN * max(float(np.ptp(cosines)), 1e-3)
    grid = np.linspace(max(-1.0, cosines.min() - margin), min(1.0, cosines.max() + margin), POINTS)
    found = []
    for band, rows in _bands(labels, largest):
        own = cosines[rows]
        varied = len(own) > 1 and np.ptp(own) > 1e-9
        density = _kernels(own)(grid).tolist() if varied else None
        found.append(Density(band, len(own), grid.tolist(), density))
    return found


def _kernels(values: np.ndarray) -> "scipy.stats.gaussian_kde":
    """Return the kernels of n values, or of n in bins, whose number does not grow with n."""
    if len(values) <= MOST_EXACT:
        return scipy.stats.gaussian_kde(values)
    counts, edges = np.histogram(values, BINS)
    centres = (edges[1:] + edges[:-1]) / 2
    scott = len(values) ** -0.2  # his rule
    return scipy.stats.gaussian_kde(centres, bw_method=scott, weights=counts)


def _bands(labels: np.ndarray, largest: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each band's name and its rows, (N,) bool."""
    lows = np.clip(np.ceil(labels) - 1, 0, largest - 1)
    for low in range(largest):
        yield f"{low} to {low + 1}", lows == low
