"""Residuals and densities by band: known values, all rows once, a density from its definition."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import gaussian_kde, norm

from evaluation.ratings import MOST_EXACT, POINTS, band_of, cosine_densities, residuals

DRAW = np.random.default_rng(0)
LABELS = DRAW.uniform(0, 5, 300)
COSINES = np.clip(LABELS / 5 + DRAW.normal(0, 0.1, 300), -1, 1)


@pytest.mark.parametrize(
    ("rating", "band"),
    [
        (0, "0 to 1"),
        (0.2, "0 to 1"),
        (1, "0 to 1"),
        (1.001, "1 to 2"),
        (4, "3 to 4"),
        (5, "4 to 5"),
    ],
)
def test_a_band_holds_its_upper_end(rating, band):
    assert band_of(rating, 5) == band


def test_residuals_of_known_rows():
    found = residuals(np.array([1.0, 0.0, 5.0]), np.array([0.5, 0.5, 4.5]), 5)
    assert [band.n for band in found] == [2, 0, 0, 0, 1]
    assert (found[0].mean, found[0].spread, found[0].absolute) == (0.0, 0.5, 0.5)
    assert (found[1].mean, found[1].spread, found[1].absolute) == (None, None, None)
    assert (found[4].mean, found[4].spread, found[4].absolute) == (0.5, 0.0, 0.5)


def test_bands_together_are_all_rows():
    found = residuals(5 * COSINES, LABELS, 5)
    assert sum(band.n for band in found) == 300
    total = sum(band.n * band.mean for band in found)
    assert total == pytest.approx((5 * COSINES - LABELS).sum())


def test_a_density_is_the_mean_of_normal_curves_of_scotts_width():
    band = cosine_densities(COSINES, LABELS, 5)[2]
    own = COSINES[(LABELS > 2) & (LABELS <= 3)]
    width = own.std(ddof=1) * len(own) ** -0.2
    expected = norm.pdf(np.array(band.cosines)[:, None], own, width).mean(axis=1)
    np.testing.assert_allclose(band.density, expected, rtol=1e-9)


def test_a_density_of_many_cosines_is_that_of_all_but_for_their_bins():
    many = np.random.default_rng(0).beta(5, 2, MOST_EXACT + 1)
    band = cosine_densities(many, np.full(len(many), 0.5), 5)[0]
    exact = gaussian_kde(many)(band.cosines)
    np.testing.assert_allclose(band.density, exact, atol=0.01 * exact.max())


def test_densities_share_their_points_and_integrate_to_one():
    found = cosine_densities(COSINES, LABELS, 5)
    assert [band.band for band in found] == [f"{n} to {n + 1}" for n in range(5)]
    assert all(band.cosines == found[0].cosines and len(band.cosines) == POINTS for band in found)
    inner = found[2]
    assert trapezoid(inner.density, inner.cosines) == pytest.approx(1, abs=0.01)
    peaks = [band.cosines[int(np.argmax(band.density))] for band in found]
    assert peaks == sorted(peaks)  # cosines made from ratings


def test_a_band_without_two_different_cosines_has_no_density():
    found = cosine_densities(np.array([0.5, 0.5, 0.9, 0.1]), np.array([0.1, 0.2, 1.5, 4.5]), 5)
    assert [band.density for band in found] == [None] * 5
    same = cosine_densities(np.full(9, 0.5), np.linspace(0, 5, 9), 5)
    assert all(band.density is None for band in same)


def test_all_of_it_is_json():
    found = [*residuals(5 * COSINES, LABELS, 5), *cosine_densities(COSINES, LABELS, 5)]
    json.dumps([asdict(one) for one in found], allow_nan=False)
