"""Whitening leaves unit covariance, as scikit-learn's; a flow's determinant is its Jacobian's."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from baselines.embedder import Embedder, cosines
from baselines.isotropy import Flow, FlowConfig, fit_flow, fit_whitening, flowed, whitened
from runtime.errors import TrainingError


def narrow_cone(count: int = 400, size: int = 12) -> np.ndarray:
    """Return vectors as BERT's are: of one sign in a few numbers, and correlated."""
    draw = np.random.default_rng(0)
    mixed = draw.normal(size=(count, size)) @ draw.normal(size=(size, size))
    return (mixed + 10 * draw.normal(size=size)).astype(np.float32)


def curved(count: int, size: int = 9) -> np.ndarray:
    """Return draws of a distribution that no linear map makes normal."""
    plain = np.random.default_rng(0).normal(size=(count, size))
    plain[:, 1] = plain[:, 0] ** 2 + 0.1 * plain[:, 1]
    return (plain + 5).astype(np.float32)


@pytest.mark.parametrize("size", [None, 5])
def test_whitening_is_that_of_scikit_learn(size):
    """Up to the signs of directions, which cosines do not see."""
    vectors, others = narrow_cone(), narrow_cone(100) + 1
    whitening = fit_whitening(vectors, size)
    white = whitening(vectors)
    assert white.shape == (400, size or 12) and white.dtype == np.float32
    assert white.mean(axis=0) == pytest.approx(np.zeros(size or 12), abs=1e-4)
    assert np.cov(white, rowvar=False) == pytest.approx(np.eye(size or 12), abs=1e-4)
    library = PCA(size, whiten=True, svd_solver="full").fit(vectors.astype(np.float64))
    expected = cosines(library.transform(others[:50]), library.transform(others[50:]))
    found = cosines(whitening(others[:50]), whitening(others[50:]))
    assert found == pytest.approx(expected, abs=1e-4)


def test_directions_without_variance_are_left_out():
    few = narrow_cone(4)  # span three directions
    flat = np.hstack([narrow_cone(), np.ones((400, 3), np.float32)])
    assert fit_whitening(few)(few).shape == (4, 3)
    assert fit_whitening(flat)(flat).shape == (400, 12)
    assert np.isfinite(fit_whitening(flat)(flat)).all()


@pytest.mark.parametrize("size", [1, 2, 13])
def test_the_log_determinant_is_that_of_the_jacobian(size):
    torch.manual_seed(0)
    flow = Flow(size, FlowConfig(width=8)).double()
    for parameter in flow.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # away from where it starts
    x = torch.randn(size, dtype=torch.float64)
    z, log_det = flow(x[None])
    jacobian = torch.autograd.functional.jacobian(lambda row: flow(row[None])[0][0], x)
    torch.testing.assert_close(log_det, torch.linalg.slogdet(jacobian)[1])
    assert z.shape == (1, size) and (size == 1 or (z - x).abs().max() > 0.1)


def test_the_likelihood_of_one_step_is_the_normal_densitys():
    """Actnorm alone, as the flow starts: independent normals with the data's mean and spread."""
    x = torch.from_numpy(curved(200)).double()
    flow = Flow(9, FlowConfig(levels=1, depth=1)).double()
    flow(x, start=True)
    normal = torch.distributions.Normal(x.mean(0), x.std(0, correction=0))
    torch.testing.assert_close(flow.log_likelihood(x), normal.log_prob(x).sum(1))


def test_a_flow_learns_is_seeded_and_leaves_the_common_generator_alone():
    few = FlowConfig(width=8, num_steps=20, learning_rate=1e-2)
    flat = curved(50)
    flat[:, 4] = 2.0  # a number that never varies does no harm
    torch.manual_seed(3)
    first = fit_flow(flat, few)
    drawn = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(1), drawn)
    second = fit_flow(flat, few).state_dict()
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.state_dict().items())
    given = torch.from_numpy(flat)
    assert first(given)[0].isfinite().all()
    untrained = fit_flow(flat, FlowConfig(width=8, num_steps=0))
    assert first.log_likelihood(given).mean() > untrained.log_likelihood(given).mean() + 0.1


@pytest.mark.parametrize(
    ("fit", "few"),
    [(fit_whitening, narrow_cone(1)), (fit_flow, curved(1)), (fit_flow, np.ones((5, 4)))],
)
def test_too_few_vectors_are_refused(fit, few):
    with pytest.raises(TrainingError, match="two or more"):
        fit(few)


def test_embedders_are_fitted_on_the_distinct_sentences_they_are_given():
    table, config = narrow_cone(30), FlowConfig(width=8, num_steps=5)
    base = Embedder("base", lambda texts: table[[int(text) for text in texts]])
    texts = [str(row) for row in range(30)]
    flow = fit_flow(table, config)(torch.from_numpy(table))[0].numpy()
    for unfitted, name, expected in (
        (whitened(base, 5), "base, whitening 5", fit_whitening(table, 5)(table)),
        (flowed(base, config), "base, flow", flow),
    ):
        assert unfitted.name == name
        assert np.array_equal(unfitted.embed(texts), table)
        adapted = unfitted.adapt([*texts, *texts[:9]])
        assert adapted.name == name and np.array_equal(adapted.embed(texts), expected)
