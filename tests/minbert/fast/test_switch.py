"""A model in its fast forms is the plain model: same numbers, same gradients, same parts."""

import ast
import copy
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from torch import nn

from minbert.config import BertConfig
from minbert.fast.attention import SelfAttention
from minbert.fast.dropout import Dropout
from minbert.fast.linear import Intermediate, Linear
from minbert.fast.switch import FORMS, accelerate, compile_blocks
from minbert.mlm import BertForMaskedLM, states_at
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


def test_accelerating_twice_changes_nothing_more(plain):
    once = [type(module) for module in accelerate(plain).modules()]
    assert [type(module) for module in accelerate(plain).modules()] == once


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("how", ["training", "evaluation", "inference_mode"])
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


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_masked_language_modelling_is_the_same_loss_and_gradients(dtype, plain, batch):
    torch.manual_seed(0)
    plain_mlm = BertForMaskedLM(plain).to(dtype)
    fast_mlm = copy.deepcopy(plain_mlm)
    accelerate(fast_mlm.bert)
    labels = torch.where(torch.rand(len(batch.input_ids)) < 0.3, batch.input_ids, -100)
    losses = [model.loss(batch, labels) for model in (fast_mlm, plain_mlm)]
    assert_near(losses[0].detach(), losses[1].detach())
    found, expected = (
        gradients(model, loss) for model, loss in zip((fast_mlm, plain_mlm), losses, strict=True)
    )
    assert found.keys() == expected.keys()
    assert {"bert.embeddings.word_embeddings.weight", "head.bias"} <= expected.keys()
    for name, gradient in expected.items():
        assert_near(found[name], gradient)


@pytest.mark.parametrize("fast", [False, True])
def test_states_at_some_positions_are_those_of_all(fast, plain, batch):
    model = accelerate(plain) if fast else plain
    positions = torch.tensor([7, 1, 9, 7])
    expected = model.packed(batch).last_hidden_state[positions]
    assert_near(states_at(model, batch, positions).detach(), expected.detach())


def test_accelerate_keeps_keys_parameters_and_modules(plain):
    state = {key: tensor.clone() for key, tensor in plain.state_dict().items()}
    parameters, modules = dict(plain.named_parameters()), dict(plain.named_modules())
    accelerate(plain)
    assert plain.state_dict().keys() == state.keys()
    assert all(torch.equal(tensor, state[key]) for key, tensor in plain.state_dict().items())
    after = dict(plain.named_parameters())
    assert after.keys() == parameters.keys()
    assert all(after[name] is parameter for name, parameter in parameters.items())
    assert all(module is modules[name] for name, module in plain.named_modules())


def test_plain_and_fast_models_load_each_others_state(plain, batch):
    fast = accelerate(copy.deepcopy(plain))
    other = BertModel(plain.config)
    for source, target in ((fast, other), (other, accelerate(BertModel(plain.config)))):
        target.load_state_dict(source.state_dict(), strict=True)
        assert_near(target.packed(batch).last_hidden_state, plain.packed(batch).last_hidden_state)


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


def test_dropout_rates_are_those_of_the_configuration(tiny_config):
    rates = {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.2}
    model = accelerate(BertModel(replace(tiny_config, **rates)))
    found = {name: m.p for name, m in model.named_modules() if isinstance(m, nn.Dropout)}
    assert {rate for name, rate in found.items() if "self" in name} == {0.2}
    assert {rate for name, rate in found.items() if "self" not in name} == {0.3}


def test_a_fast_model_drops_where_and_as_often_as_the_plain_one(plain, batch):
    """With dropout both are random; over many passes their means and deviations agree."""
    for module in plain.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.1
    found = []
    for model in (plain, accelerate(copy.deepcopy(plain))):
        torch.manual_seed(0)
        with torch.no_grad():
            passes = torch.stack([model.packed(batch).last_hidden_state for _ in range(100)])
        found.append((passes.mean(0), passes.std(0)))
    (mean, deviation), (other_mean, other_deviation) = found
    # Two means of 100 differ by 0.11 of their deviation, on average.
    assert ((mean - other_mean).abs() / deviation).mean() < 0.15
    assert (other_deviation / deviation).log().mean().abs() < 0.03


def imports_of(module: str) -> set[str]:
    """Return the modules of minbert that a module of minbert imports, at any depth of its code."""
    path = ROOT / (module.replace(".", "/") + ".py")
    if not path.is_file():
        path = ROOT / module.replace(".", "/") / "__init__.py"
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.split(".")[0] == "minbert"}


def reached_from(module: str) -> set[str]:
    """Return all modules of minbert that importing one of them loads."""
    reached, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        path = ROOT / name.replace(".", "/")
        if name not in reached and (path.with_suffix(".py").is_file() or path.is_dir()):
            reached.add(name)
            waiting += imports_of(name)
    return reached


@pytest.mark.parametrize("module", ["minbert.model", "minbert.attention", "minbert.mlm"])
def test_the_plain_form_imports_nothing_of_the_fast_one(module):
    assert not {name for name in reached_from(module) if name.startswith("minbert.fast")}


def test_the_rule_would_catch_such_an_import():
    assert "minbert.fast.attention" in reached_from("minbert.encoder")
    assert {"minbert.attention", "minbert.config"} <= reached_from("minbert.mlm")


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_blocks_compute_the_same(tiny_config, tiny_encoder):
    plain = accelerate(plain_model(tiny_config, num_hidden_layers=1))
    compiled = copy.deepcopy(plain)
    compile_blocks(compiled)
    sequences = tiny_encoder.tokenize(toy_sentences(7))
    for rows in ([0, 1, 2], [3, 4, 5, 6]):  # other lengths are no other program
        batch = sequences.pack(rows)
        found = []
        for model in (plain, compiled):
            output = model.packed(batch)
            loss = output.last_hidden_state.square().sum() + output.pooler_output.sum()
            found.append(gradients(model, loss))
        for name, gradient in found[0].items():
            bound = 1e-4 * max(1.0, gradient.abs().max().item())
            torch.testing.assert_close(found[1][name], gradient, rtol=0, atol=bound)
    with torch.inference_mode():
        outputs = (model.eval().packed(batch).last_hidden_state for model in (plain, compiled))
        np.testing.assert_allclose(*(output.numpy() for output in outputs), rtol=1e-5, atol=1e-5)
    blocks = [*compiled.encoder.layer[0].children()][1:]
    assert all(block._compiled_call_impl is not None for block in blocks)
    assert compiled.encoder.layer[0].attention.self._compiled_call_impl is None
