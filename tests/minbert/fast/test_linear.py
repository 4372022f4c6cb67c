"""Kept bfloat16 weights: the same numbers up to rounding, and there for a block only."""

import pytest
import torch
from conftest import needs_bfloat16

from minbert.fast import linear
from minbert.fast.linear import Keeper, KeptWeights, Linear, kept_weights
from minbert.fast.switch import accelerate
from minbert.model import BertLayer

CPU = torch.device("cpu")
X = torch.randn(30, 64, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def layer() -> Linear:
    torch.manual_seed(0)
    return Linear(64, 48).eval()


def kept_by(module) -> list[bool]:
    return [part.kept is not None for part in module.modules() if isinstance(part, Keeper)]


@pytest.mark.parametrize(
    ("device", "dtype", "supported"),
    [
        ("cpu", torch.float32, True),
        ("cuda", torch.bfloat16, True),
        ("cpu", torch.bfloat16, False),
    ],
)
def test_weights_are_kept_only_where_that_helps(device, dtype, supported, layer, monkeypatch):
    monkeypatch.setattr(linear, "KeptWeights", lambda layer: pytest.fail("kept"))
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: supported)
    with kept_weights(layer, torch.device(device), dtype):
        assert layer.kept is None


@needs_bfloat16
def test_queries_keys_and_values_are_one_product(tiny_config):
    layer = accelerate(BertLayer(tiny_config)).eval().attention.self
    x = X[:, : tiny_config.hidden_size]
    with kept_weights(layer, CPU, torch.bfloat16):
        assert kept_by(layer) == [True, False, False, False]  # the block itself, not its three
        joint = layer.kept(x)
    singly = [KeptWeights(part)(x) for part in (layer.query, layer.key, layer.value)]
    assert torch.equal(joint, torch.cat(singly, dim=1))


@needs_bfloat16
@pytest.mark.parametrize(
    ("name", "what"), [("query", "weight"), ("key", "bias"), ("value", "weight")]
)
def test_the_joint_copies_notice_a_change_in_any_of_the_three(what, name, tiny_config):
    layer = accelerate(BertLayer(tiny_config)).eval().attention.self
    x = X[:, : tiny_config.hidden_size]

    def joint():
        with torch.inference_mode(), kept_weights(layer, CPU, torch.bfloat16):
            return layer.kept(x)

    before, again = joint(), joint()
    assert torch.equal(before, again)
    getattr(getattr(layer, name), what).data.view(-1)[-1] += 1
    changed = (joint() != before).any(dim=0).unflatten(0, (3, -1))
    at = ["query", "key", "value"].index(name)
    assert changed[at, -1] and changed.sum() == 1
