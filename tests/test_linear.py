"""Kept bfloat16 weights: the same numbers up to rounding, and never stale."""

import copy

import pytest
import torch
import torch.nn.functional as F
from minbert.linear import Linear
from torch import nn

pytestmark = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    reason="no bfloat16 in oneDNN here",
)


@pytest.fixture
def layer() -> Linear:
    torch.manual_seed(0)
    return Linear(64, 48).eval()


def encode(layer, x, **more):
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        return layer(x, **more)


X = torch.randn(30, 64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("gelu", [False, True])
def test_bfloat16_encoding_is_the_float32_layer_rounded(gelu, bias):
    layer = Linear(64, 48, bias=bias).eval()
    found = encode(layer, X, gelu=gelu)
    assert layer._packed is not None
    assert found.dtype == torch.bfloat16
    exact = F.linear(X.bfloat16().double(), layer.weight.bfloat16().double())
    exact = exact if layer.bias is None else exact + layer.bias.bfloat16().double()
    exact = F.gelu(exact) if gelu else exact
    torch.testing.assert_close(found.double(), exact, rtol=2**-8, atol=1e-3)


def test_float32_and_training_are_the_plain_layer(layer):
    plain = F.linear(X, layer.weight, layer.bias)
    with torch.inference_mode():
        assert torch.equal(layer(X), plain)
        assert torch.equal(layer(X, gelu=True), F.gelu(plain))
    assert torch.equal(layer.train()(X), plain)
    assert layer(X).requires_grad
    assert layer._packed is None


def rewritten_by_an_optimizer(layer):
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1, fused=True)
    layer(X).sum().backward()  # it is this pass that tells: a fused step leaves no trace
    optimizer.step()


def rewritten_by_loading(layer):
    layer.load_state_dict({key: value + 1 for key, value in layer.state_dict().items()})


def replaced_by_loading(layer):
    state = {key: value + 1 for key, value in layer.state_dict().items()}
    layer.load_state_dict(state, assign=True)


def rewritten_in_place(layer):
    with torch.no_grad():
        layer.bias.add_(1)


@pytest.mark.parametrize(
    "rewrite",
    [rewritten_by_an_optimizer, rewritten_by_loading, replaced_by_loading, rewritten_in_place],
)
def test_changed_weights_are_packed_anew(rewrite, layer):
    before = encode(layer, X)
    rewrite(layer)
    after = encode(layer, X)
    assert (before.float() - after.float()).abs().max() > 0.05
    fresh = Linear(64, 48).eval()
    fresh.load_state_dict(layer.state_dict())
    assert torch.equal(after, encode(fresh, X))


def test_training_lets_the_copies_go(layer):
    encode(layer, X)
    layer.train()(X)
    assert layer._packed is None


def test_copies_and_state_are_those_of_a_plain_layer(layer):
    encode(layer, X)
    twin = copy.deepcopy(layer)
    assert torch.equal(encode(twin, X), encode(layer, X))
    assert layer.state_dict().keys() == nn.Linear(64, 48).state_dict().keys()
