"""BERT-flow: invertible, with the determinant it states, and trained by likelihood."""

import numpy as np
import pytest
import torch

from baselines.embedder import Embedder
from baselines.flow import Flow, FlowConfig, fit_flow, flowed
from runtime.errors import TrainingError

SMALL = FlowConfig(learning_rate=1e-2, num_steps=150, batch_size=64)


def vectors(count: int, size: int = 9, seed: int = 0) -> np.ndarray:
    """Return draws of a distribution that no linear map makes normal."""
    draw = np.random.default_rng(seed)
    plain = draw.normal(size=(count, size))
    plain[:, 1] = plain[:, 0] ** 2 + 0.1 * plain[:, 1]
    return (plain + 5).astype(np.float32)


def random_flow(size: int) -> Flow:
    """Return a flow with every parameter away from where it starts, in float64."""
    torch.manual_seed(0)
    flow = Flow(size, FlowConfig(width=8)).double()
    for parameter in flow.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return flow


@pytest.mark.parametrize("size", [1, 2, 3, 8, 13])
def test_inverse_undoes_forward(size):
    flow = random_flow(size)
    x = torch.randn(20, size, dtype=torch.float64)
    z, _ = flow(x)
    assert z.shape == x.shape
    torch.testing.assert_close(flow.inverse(z), x)
    if size > 1:
        assert (z - x).abs().max() > 0.1


@pytest.mark.parametrize("size", [2, 5, 8])
def test_the_log_determinant_is_that_of_the_jacobian(size):
    flow = random_flow(size)
    x = torch.randn(size, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda row: flow(row[None])[0][0], x)
    _, expected = torch.linalg.slogdet(jacobian)
    torch.testing.assert_close(flow(x[None])[1], expected)


def test_the_likelihood_of_one_step_is_the_normal_densitys():
    """Actnorm alone, as the flow starts: independent normals with the data's mean and spread."""
    x = torch.from_numpy(vectors(200)).double()
    flow = Flow(9, FlowConfig(levels=1, depth=1)).double()
    flow(x, start=True)
    normal = torch.distributions.Normal(x.mean(0), x.std(0, correction=0))
    torch.testing.assert_close(flow.log_likelihood(x), normal.log_prob(x).sum(1))


def test_training_raises_the_likelihood_of_vectors_that_it_did_not_see():
    held_out = torch.from_numpy(vectors(300, seed=1))
    before = fit_flow(vectors(600), FlowConfig(num_steps=0))
    after = fit_flow(vectors(600), SMALL)
    gain = (after.log_likelihood(held_out) - before.log_likelihood(held_out)).mean()
    # In nats; before, the flow knows the mean and the spread of each number by itself.
    assert gain > 0.5


def test_a_flow_is_seeded_and_leaves_the_common_generator_alone():
    few = FlowConfig(width=8, num_steps=5)
    torch.manual_seed(3)
    first = fit_flow(vectors(50), few).state_dict()
    drawn = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(1), drawn)
    second = fit_flow(vectors(50), few).state_dict()
    assert all(torch.equal(first[name], tensor) for name, tensor in second.items())


def test_a_number_that_never_varies_does_no_harm():
    flat = vectors(60)
    flat[:, 4] = 2.0
    z, _ = fit_flow(flat, FlowConfig(width=8, num_steps=20))(torch.from_numpy(flat))
    assert z.isfinite().all()


@pytest.mark.parametrize("few", [vectors(1), np.ones((5, 4), np.float32)])
def test_nothing_to_learn_is_refused(few):
    with pytest.raises(TrainingError, match="two or more different vectors"):
        fit_flow(few)


def test_the_embedder_maps_by_a_flow_of_the_sentences_it_is_given():
    table = vectors(40)
    base = Embedder("base", lambda texts: table[[int(text) for text in texts]])
    texts = [str(row) for row in range(40)]
    config = FlowConfig(width=8, num_steps=5)
    unfitted = flowed(base, config)
    assert unfitted.name == "base, flow" and np.array_equal(unfitted.embed(texts), table)
    found = unfitted.adapt(texts * 2).embed(texts)
    expected, _ = fit_flow(table, config)(torch.from_numpy(table))
    assert np.array_equal(found, expected.numpy())
