"""A model in its fast forms is the plain model: same numbers, same gradients, same parts."""

import copy
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from conftest import toy_sentences
from torch import nn

from minbert.config import BertConfig
from minbert.fast.attention import SelfAttention
from minbert.fast.dropout import Dropout
from minbert.fast.linear import Intermediate, Linear
from minbert.fast.switch import FORMS, accelerate
from minbert.mlm import states_at
from minbert.model import BertModel

ROOT = Path(__file__).parents[3]
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}

# As close as rounding allows, with outputs of size 1.
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-6}


def plain_model(config: BertConfig, **changes) -> BertModel:
    """A model in its plain form, without dropout, in which every parameter matters."""
    torch.manual_seed(0)
    model = BertModel(replace(config, **NO_DROPOUT, **changes))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.1)
    return model.train()


@pytest.fixture
def plain(tiny_config) -> BertModel:
    return plain_model(tiny_config)


@pytest.fixture
def batch(tiny_encoder):
    """Single sentences and pairs of mixed lengths, some equal, sorted by nothing."""
    texts = ["", *toy_sentences(9), "the cat", "a dog", "the cat"]
    return tiny_encoder.tokenize(texts, ["", *toy_sentences(12, 5)]).pack(range(len(texts)))


def assert_near(found, expected):
    """Compare to the tolerance of the type, relative to the largest number."""
    bound = TOLERANCES[expected.dtype] * max(1.0, expected.abs().max().item())
    torch.testing.assert_close(found, expected, atol=bound, rtol=0)


def gradients(model: nn.Module, loss) -> dict[str, torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def forms_in(model: nn.Module) -> set[type]:
    return {type(module) for module in model.modules()}


def test_accelerate_puts_every_fast_form_in_the_place_of_the_plain_one(plain):
    assert set(FORMS) <= forms_in(plain)
    assert accelerate(plain) is plain
    assert forms_in(plain) >= {Linear, Dropout, Intermediate, SelfAttention}
    assert not forms_in(plain) & set(FORMS)


@pytest.mark.parametrize(
    ("how", "dtype"),
    [
        ("training", torch.float64),
        ("evaluation", torch.float32),
        ("inference_mode", torch.float32),
    ],
)
def test_the_fast_model_computes_what_the_plain_one_does(how, dtype, plain, batch):
    plain = plain.to(dtype).train(how == "training")
    fast = accelerate(copy.deepcopy(plain))
    with torch.inference_mode(how == "inference_mode"):
        expected, found = plain.packed(batch), fast.packed(batch)
    assert_near(found.last_hidden_state, expected.last_hidden_state)
    assert_near(found.pooler_output, expected.pooler_output)
    assert len(found.hidden_states) == len(expected.hidden_states) == 4
    for mine, theirs in zip(found.hidden_states, expected.hidden_states, strict=True):
        assert_near(mine, theirs)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_the_fast_model_has_the_gradients_of_the_plain_one(dtype, plain, batch):
    plain = plain.to(dtype)
    fast = accelerate(copy.deepcopy(plain))
    torch.manual_seed(0)
    weights = torch.randn(len(batch.input_ids), plain.config.hidden_size, dtype=dtype)
    found, expected = (
        gradients(
            model,
            (model.packed(batch).last_hidden_state * weights).mean()
            + model.packed(batch).pooler_output.square().mean(),
        )
        for model in (fast, plain)
    )
    assert found.keys() == expected.keys() == dict(plain.named_parameters()).keys()
    for name, gradient in expected.items():
        assert_near(found[name], gradient)
        assert gradient.any() or "key.bias" in name, name


@pytest.mark.parametrize("fast", [False, True])
def test_states_at_some_positions_are_those_of_all(fast, plain, batch):
    model = accelerate(plain) if fast else plain
    positions = torch.tensor([7, 1, 9, 7])
    expected = model.packed(batch).last_hidden_state[positions]
    assert_near(states_at(model, batch, positions).detach(), expected.detach())


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copied_or_pickled_fast_model_is_fast_and_its_own(twin_of, plain, batch):
    accelerate(plain)
    expected = plain.packed(batch).last_hidden_state.detach()
    twin = twin_of(plain)
    assert [type(m) for m in twin.modules()] == [type(m) for m in plain.modules()]
    assert torch.equal(twin.packed(batch).last_hidden_state, expected)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(1)
    assert torch.equal(plain.packed(batch).last_hidden_state, expected)


def test_a_fast_model_drops_where_and_as_often_as_the_plain_one(plain, batch):
    """With dropout both are random; over many passes their means and deviations agree."""
    for module in plain.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.1
    found = []
    for model in (plain, accelerate(copy.deepcopy(plain))):
        torch.manual_seed(0)
        with torch.no_grad():
            passes = torch.stack([model.packed(batch).last_hidden_state for _ in range(50)])
        found.append((passes.mean(0), passes.std(0)))
    (mean, deviation), (other_mean, other_deviation) = found
    # Two means of 50 differ by 0.16 of their deviation, on average.
    assert ((mean - other_mean).abs() / deviation).mean() < 0.21
    assert (other_deviation / deviation).log().mean().abs() < 0.03


@pytest.mark.parametrize("module", ["model", "attention", "mlm", "packing"])
def test_the_plain_form_imports_nothing_of_the_fast_one(module):
    code = (ROOT / "minbert" / f"{module}.py").read_text("utf-8")
    assert not re.search(r"^\s*(from|import) minbert\.fast", code, re.MULTILINE)
