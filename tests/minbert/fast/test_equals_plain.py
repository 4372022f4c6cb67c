"""Every fast form is the plain one: equal values and gradients in every mode, type and length."""

import copy
import math
import pickle
import re
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import needs_bfloat16, toy_sentences
from torch import nn

from minbert.attention import attention
from minbert.fast import attention as fast_attention
from minbert.fast.attention import (
    WIDTH,
    SelfAttention,
    attention_by_length,
    attention_by_run,
    attention_in_buckets,
    attention_varlen,
    lay_out,
)
from minbert.fast.dropout import Dropout, set_dropout
from minbert.fast.linear import Intermediate, Linear, kept_weights
from minbert.fast.switch import FORMS, accelerate
from minbert.mlm import states_at
from minbert.model import BertModel
from minbert.packing import PackedBatch

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
# As close as rounding allows, with outputs of size 1.
TOLERANCES = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 0.03}
LENGTHS = {
    "unsorted": (1, 4, 4, 40, 4, 2, 17, 7, 7, 1),
    "equal": (6, 6, 6),
    "one that fills its bucket": (WIDTH,),
    "at the borders": (WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH, 31, 32, 33, 33, 1),
    "very different": (2, 3, 200, 1),
}


def assert_near(found, expected):
    """Compare to the tolerance of the found type, relative to the largest number."""
    bound = TOLERANCES[found.dtype] * max(1.0, expected.abs().max().item())
    torch.testing.assert_close(found.to(expected.dtype), expected, atol=bound, rtol=0)


def batch_of(lengths) -> PackedBatch:
    """A batch of these lengths, whose tokens are never looked at."""
    ids = torch.zeros(sum(lengths), dtype=torch.long)
    borders = torch.tensor([0, *lengths]).cumsum(0)
    return PackedBatch(ids, ids, ids, borders, tuple(lengths))


def in_buckets(q, k, v, lengths, dropout_prob=0.0):
    joint = torch.stack([q / math.sqrt(q.shape[-1]), k, v], dim=1)
    return attention_in_buckets(joint, lengths, dropout_prob)


ATTENTION = {
    "by length": attention_by_length,
    "varlen": lambda q, k, v, lengths, p=0.0: attention_varlen(q, k, v, batch_of(lengths), p),
    "buckets": in_buckets,
}
ALL_FORMS = pytest.mark.parametrize("form", ATTENTION)


def inputs(dtype=torch.float64, lengths=LENGTHS["unsorted"], heads: int = 3, size: int = 8):
    torch.manual_seed(0)
    shape = (sum(lengths), heads, size)
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(3)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@ALL_FORMS
def test_attention_has_the_plain_values_and_gradients(form, lengths, dtype):
    q, k, v = inputs(dtype, lengths)
    weights = torch.randn_like(q)
    expected, found = (
        (context.detach(), *torch.autograd.grad((context * weights).sum(), (q, k, v)))
        for context in (attention(q, k, v, lengths), ATTENTION[form](q, k, v, lengths))
    )
    for mine, theirs in zip(found, expected, strict=True):
        assert_near(mine, theirs)
    with torch.inference_mode():  # by_length takes a kernel of PyTorch's for this in float32
        q, k, v = (x.clone() for x in (q, k, v))  # as in the encoder: made in this mode
        assert_near(ATTENTION[form](q, k, v, lengths), expected[0])


@pytest.mark.parametrize("size", [8, 32])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_attention_of_encoding_is_the_plain_one_rounded(lengths, size):
    # Queries, keys and values as one product gives them, (total_tokens, 3, N, D) bfloat16.
    joint = torch.stack(inputs(lengths=lengths, size=size), dim=1).detach().bfloat16()
    found = attention_by_run(joint, lengths)
    assert found.dtype == torch.bfloat16
    assert_near(found, attention(*joint.double().unbind(1), lengths))


@ALL_FORMS
def test_dropout_keeps_the_mean_and_drops_its_share(form):
    torch.manual_seed(0)
    lengths = (62,) * 9  # two keys of each bucket are added ones
    q = torch.zeros(sum(lengths), 2, 4, requires_grad=True)  # uniform attention
    context = ATTENTION[form](q, q, torch.ones_like(q), lengths, 0.25)[:, :, 0]
    assert context.mean().item() == pytest.approx(1.0, abs=0.01)
    # Sum of 62 probabilities of 1/62, each kept with 3/4, scaled by 4/3: variance 1/3 / 62.
    assert context.var().item() == pytest.approx(1 / 3 / 62, rel=0.15)


def test_the_gradient_in_buckets_is_that_of_finite_differences_with_dropout():
    lengths = (3, 1, 2)
    q, k, v = inputs(lengths=lengths, heads=2, size=4)

    def seeded(q, k, v):
        torch.manual_seed(5)
        return in_buckets(q, k, v, lengths, 0.3)

    assert torch.autograd.gradcheck(seeded, (q, k, v))


def test_rows_behind_the_last_sequence_stay_zero_and_pass_no_gradient_on():
    lengths = LENGTHS["unsorted"]
    joint = torch.stack(inputs(), dim=1).detach()
    longer = torch.cat([joint, torch.ones_like(joint[:5])]).requires_grad_()
    context = attention_in_buckets(longer, lengths, 0.0)
    assert torch.equal(context[:-5], attention_in_buckets(joint, lengths, 0.0))
    assert not context[-5:].any()
    context.square().sum().backward()
    assert longer.grad[:-5].any() and not longer.grad[-5:].any()


def test_a_batch_of_many_lengths_is_a_few_products():
    lengths = tuple(range(5, 31)) * 3
    layout = lay_out(lengths, 4)
    assert [bucket.shape for bucket in layout.buckets] == [(40, 4, 16), (48, 4, 32)]
    # Every token of every head is read from a place of its own.
    assert len(np.unique(layout.outward)) == 4 * sum(lengths)


@pytest.mark.parametrize("training", [False, True])
def test_attention_drops_while_training_only(training, tiny_encoder):
    layer = tiny_encoder.model.encoder.layer[0].attention.self.train(training)
    assert isinstance(layer, SelfAttention) and layer.dropout.p > 0
    q, k, v = inputs(torch.float32, heads=4)
    first, second = (layer.attend(q, k, v, batch_of(LENGTHS["unsorted"])) for _ in range(2))
    assert torch.equal(first, second) != training


def test_the_gpu_form_carries_the_whole_encoder(tiny_encoder, monkeypatch):
    texts = toy_sentences(9)
    expected = tiny_encoder.encode(texts)

    def attend(self, query, key, value, batch):
        return attention_varlen(query, key, value, batch, self.dropout.p if self.training else 0.0)

    monkeypatch.setattr(SelfAttention, "attend", attend)
    assert abs(tiny_encoder.encode(texts) - expected).max() < 1e-5
    batch = tiny_encoder.tokenize(texts).pack(range(9))
    tiny_encoder.model.train()
    first, second = tiny_encoder.embed(batch), tiny_encoder.embed(batch)
    assert not torch.equal(first, second)  # dropout
    first.sum().backward()
    assert tiny_encoder.model.encoder.layer[0].attention.self.query.weight.grad.any()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cuda_kernel_equals_the_plain_form_in_float64(dtype, tiny_config):
    lengths = LENGTHS["unsorted"]
    q, k, v = inputs(heads=2, size=32)
    layer = SelfAttention(tiny_config).eval()
    with torch.no_grad():
        expected = attention(q, k, v, lengths)
        on_gpu = [x.to("cuda", dtype) for x in (q, k, v)]
        found = layer.attend(*on_gpu, batch_of(lengths).to("cuda"))
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(found.cpu().double(), expected, atol=tolerance, rtol=0)


@pytest.fixture
def plain(tiny_config) -> BertModel:
    """A model in its plain form, without dropout, in which every parameter matters."""
    torch.manual_seed(0)
    model = BertModel(replace(tiny_config, **NO_DROPOUT))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.1)
    return model.train()


@pytest.fixture
def batch(tiny_encoder):
    """Single sentences and pairs of mixed lengths, some equal, sorted by nothing."""
    texts = ["", *toy_sentences(9), "the cat", "a dog", "the cat"]
    return tiny_encoder.tokenize(texts, ["", *toy_sentences(12, 5)]).pack(range(len(texts)))


@contextmanager
def keeping(model, lasting=True):
    kept = kept_weights(model, CPU, torch.bfloat16, lasting)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16), kept:
        yield


# The type and mode of both, and what surrounds the fast one.
MODES = {
    "train, float64": (torch.float64, True, lambda model: nullcontext()),
    "train, float32": (torch.float32, True, lambda model: nullcontext()),
    "train, bfloat16": (torch.float32, True, lambda model: torch.autocast("cpu", torch.bfloat16)),
    "evaluate, float32": (torch.float32, False, lambda model: nullcontext()),
    "encode, float32": (torch.float32, False, lambda model: torch.inference_mode()),
    "encode, bfloat16": (torch.float32, False, keeping),
    "encode few, bfloat16": (torch.float32, False, lambda model: keeping(model, lasting=False)),
}


@pytest.mark.parametrize(
    "mode", [pytest.param(m, marks=needs_bfloat16 if "bfloat16" in m else ()) for m in MODES]
)
def test_a_model_has_the_plain_values_and_gradients(mode, plain, batch):
    dtype, trains, surrounding = MODES[mode]
    plain = plain.to(dtype).train(trains)
    fast = accelerate(copy.deepcopy(plain))
    outside = fast.packed(batch).last_hidden_state
    weights = torch.randn(outside.shape, dtype=dtype)
    values, gradients = [], []
    for model, around in ((fast, surrounding(fast)), (plain, nullcontext())):
        with around:
            output = model.packed(batch)
        values.append([*output.hidden_states, output.pooler_output])
        assert output.last_hidden_state is output.hidden_states[-1]
        if trains:
            loss = (output.last_hidden_state * weights).mean()
            (loss + output.pooler_output.square().mean()).backward()
            gradients.append({name: p.grad for name, p in model.named_parameters()})
    for mine, theirs in zip(*values, strict=True):
        if "bfloat16" in mode:
            torch.testing.assert_close(mine.float(), theirs, atol=0.1, rtol=0.02)
        else:
            assert_near(mine, theirs)
    for name, theirs in gradients[1].items() if trains else ():
        mine = gradients[0][name]
        # A key bias shifts all scores of a query alike: its true gradient is 0.
        assert theirs.any() or "key.bias" in name, name
        if "bfloat16" not in mode:
            assert_near(mine, theirs)
        elif "key.bias" not in name:
            assert torch.cosine_similarity(mine.ravel(), theirs.ravel(), dim=0) > 0.98, name
    assert torch.equal(fast.packed(batch).last_hidden_state, outside)  # nothing is left behind


@needs_bfloat16
def test_training_in_bfloat16_alone_goes_in_buckets(plain, batch, monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return attention_in_buckets(*arguments)

    monkeypatch.setattr(fast_attention, "attention_in_buckets", counted)
    model = accelerate(plain)
    model.packed(batch)
    assert not calls  # float32 keeps one product per length
    with torch.autocast("cpu", torch.bfloat16):
        model.packed(batch)
    assert len(calls) == model.config.num_hidden_layers


@pytest.mark.parametrize("fast", [False, True])
def test_states_at_some_positions_are_those_of_all(fast, plain, batch):
    model = accelerate(plain) if fast else plain
    positions = torch.tensor([7, 1, 9, 7])
    expected = model.packed(batch).last_hidden_state[positions]
    assert_near(states_at(model, batch, positions).detach(), expected.detach())


def test_a_fast_model_drops_where_and_as_often_as_the_plain_one(plain, batch):
    """With dropout both are random; over many passes their means and deviations agree."""
    set_dropout(plain, 0.1)
    moments = []
    for model in (plain, accelerate(copy.deepcopy(plain))):
        torch.manual_seed(0)
        with torch.no_grad():
            passes = torch.stack([model.packed(batch).last_hidden_state for _ in range(50)])
        moments.append((passes.mean(0), passes.std(0)))
    (mean, deviation), (other_mean, other_deviation) = moments
    # Two means of 50 differ by 0.16 of their deviation, on average.
    assert ((mean - other_mean).abs() / deviation).mean() < 0.21
    assert (other_deviation / deviation).log().mean().abs() < 0.03


def forms_in(model: nn.Module) -> set[type]:
    return {type(module) for module in model.modules()}


def test_accelerate_puts_every_fast_form_in_the_place_of_the_plain_one(plain):
    assert set(FORMS) <= forms_in(plain)
    assert accelerate(plain) is plain
    assert forms_in(plain) >= {Linear, Dropout, Intermediate, SelfAttention}
    assert not forms_in(plain) & set(FORMS)


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copied_or_pickled_fast_model_is_fast_and_shares_nothing(twin_of, plain, batch):
    accelerate(plain)
    expected = plain.packed(batch).last_hidden_state.detach()
    twin = twin_of(plain)
    assert [type(m) for m in twin.modules()] == [type(m) for m in plain.modules()]
    assert torch.equal(twin.packed(batch).last_hidden_state, expected)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(1)
    assert torch.equal(plain.packed(batch).last_hidden_state, expected)


@pytest.mark.parametrize("module", ["model", "attention", "mlm", "packing"])
def test_the_plain_form_imports_nothing_of_the_fast_one(module):
    code = (ROOT / "minbert" / f"{module}.py").read_text("utf-8")
    assert not re.search(r"^\s*(from|import) minbert\.fast", code, re.MULTILINE)
