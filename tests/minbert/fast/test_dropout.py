"""Our dropout against what dropout is: shares, scale, gradient, independence, reproducibility."""

import pytest
import torch

from minbert.fast.dropout import Dropout, dropout


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_shares_and_scale(probability):
    torch.manual_seed(0)
    x = torch.ones(1000, 999)  # no multiple of four
    dropped = dropout(x, probability)
    share = (dropped == 0).float()
    assert share.mean().item() == pytest.approx(probability, abs=0.002)
    assert dropped.mean().item() == pytest.approx(1, abs=0.005)
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - probability)))


def test_neighbours_are_independent():
    """Four elements share one draw of the generator, and must not share their fate."""
    torch.manual_seed(1)
    gone = (dropout(torch.ones(400_000), 0.5) == 0).view(-1, 4).float()  # (draws, 4)
    correlation = torch.corrcoef(gone.T)
    torch.testing.assert_close(correlation, torch.eye(4), atol=0.01, rtol=0)
    patterns = (gone @ torch.tensor([8.0, 4.0, 2.0, 1.0])).long().bincount(minlength=16)
    assert (patterns / patterns.sum() - 1 / 16).abs().max() < 0.003


def test_gradient_flows_where_the_value_did():
    torch.manual_seed(2)
    x = torch.randn(50, 7, requires_grad=True)
    dropped = dropout(x, 0.25)
    dropped.sum().backward()
    torch.testing.assert_close(x.grad, (dropped != 0).float() / 0.75)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_type_shape_and_seed(dtype):
    x = torch.randn(3, 5, 7, dtype=dtype)
    torch.manual_seed(3)
    first = dropout(x, 0.4)
    torch.manual_seed(3)
    assert torch.equal(dropout(x, 0.4), first)
    assert first.dtype == dtype and first.shape == x.shape
    assert not torch.equal(dropout(x, 0.4), first)


def test_nothing_is_dropped_in_evaluation_or_at_probability_0():
    x = torch.randn(9)
    assert dropout(x, 0.0) is x
    assert Dropout(0.9).eval()(x) is x
    assert dropout(torch.empty(0, 4), 0.1).shape == (0, 4)
