"""BERT-whitening: the covariance it leaves, and scikit-learn's form of it."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from baselines.embedder import Embedder, cosines
from baselines.whitening import fit_whitening, whitened
from runtime.errors import TrainingError


def narrow_cone(count: int = 400, size: int = 12) -> np.ndarray:
    """Return vectors as BERT's are: of one sign in a few numbers, and correlated."""
    draw = np.random.default_rng(0)
    mixed = draw.normal(size=(count, size)) @ draw.normal(size=(size, size))
    return (mixed + 10 * draw.normal(size=size)).astype(np.float32)


@pytest.mark.parametrize("size", [None, 5])
def test_whitened_vectors_have_mean_0_and_covariance_1(size):
    vectors = narrow_cone()
    white = fit_whitening(vectors, size)(vectors)
    assert white.shape == (400, size or 12) and white.dtype == np.float32
    assert white.mean(axis=0) == pytest.approx(np.zeros(size or 12), abs=1e-4)
    assert np.cov(white, rowvar=False) == pytest.approx(np.eye(size or 12), abs=1e-4)


@pytest.mark.parametrize("size", [None, 5])
def test_cosines_are_those_of_scikit_learns_whitening(size):
    """Both are the same up to the signs of directions, which cosines do not see."""
    vectors, others = narrow_cone(), narrow_cone(100) + 1
    library = PCA(size, whiten=True, svd_solver="full").fit(vectors.astype(np.float64))
    whitening = fit_whitening(vectors, size)
    expected = cosines(library.transform(others[:50]), library.transform(others[50:]))
    assert cosines(whitening(others[:50]), whitening(others[50:])) == pytest.approx(
        expected, abs=1e-4
    )


def test_directions_without_variance_are_left_out():
    few = narrow_cone(4)  # span three directions
    flat = np.hstack([narrow_cone(), np.ones((400, 3), np.float32)])
    assert fit_whitening(few)(few).shape == (4, 3)
    assert fit_whitening(flat)(flat).shape == (400, 12)
    assert np.isfinite(fit_whitening(flat)(flat)).all()


def test_a_single_vector_cannot_be_whitened():
    with pytest.raises(TrainingError, match="two or more"):
        fit_whitening(narrow_cone(1))


def test_the_embedder_is_fitted_on_the_distinct_sentences_it_is_given():
    table = narrow_cone(30)
    base = Embedder("base", lambda texts: table[[int(text) for text in texts]])
    texts = [str(row) for row in range(30)]
    unfitted = whitened(base, 5)
    assert unfitted.name == "base, whitening 5"
    assert np.array_equal(unfitted.embed(texts), table)
    found = unfitted.adapt([*texts, *texts[:9]]).embed(texts)
    assert np.array_equal(found, fit_whitening(table, 5)(table))
