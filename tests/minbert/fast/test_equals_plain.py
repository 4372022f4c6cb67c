"""Every fast form is the plain one: equal values and gradients in every mode, type and length."""

import copy
import math
import pickle
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from conftest import HAS_BFLOAT16, needs_bfloat16, toy_sentences
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
from minbert.fast.linear import Intermediate, KeptWeights, Linear, kept_weights
from minbert.fast.products import product as trained_product
from minbert.fast.switch import FORMS, accelerate
from minbert.mlm import states_at
from minbert.model import BertModel
from minbert.packing import PackedBatch

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


def near_largest(found, expected):
    """Compare to the tolerance of the found type, relative to the largest number."""
    bound = TOLERANCES[found.dtype] * max(1.0, expected.abs().max().item())
    torch.testing.assert_close(found.to(expected.dtype), expected, atol=bound, rtol=0)


def near(rtol, atol):
    """Return a comparison of every number by itself."""
    return lambda found, expected: torch.testing.assert_close(
        found.to(expected.dtype), expected, rtol=rtol, atol=atol
    )


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


class Pair(NamedTuple):
    """A fast form, the plain one in float64, what both read, and how near they must be.

    Attributes:
        output: type of the fast result.
        value: compares results.
        gradient: compares gradients, None where the fast form has none.
    """

    fast: Callable[..., torch.Tensor]
    plain: Callable[..., torch.Tensor]
    inputs: list[torch.Tensor]
    output: torch.dtype
    value: Callable[[torch.Tensor, torch.Tensor], None]
    gradient: Callable[[torch.Tensor, torch.Tensor], None] | None


def pairs_of_attention() -> dict[str, Pair]:
    """Every form with every type and list of lengths."""
    found = {}
    for name, lengths in LENGTHS.items():
        plain = partial(attention, lengths=lengths)
        for form, dtype in product(ATTENTION, (torch.float64, torch.float32)):
            fast = partial(ATTENTION[form], lengths=lengths)
            given = inputs(dtype, lengths)
            found[f"attention {form}, {dtype}, {name}"] = Pair(
                fast, plain, given, dtype, near_largest, near_largest
            )
        for size in (8, 32):  # that of encoding
            # Queries, keys and values as one product gives them, (total_tokens, 3, N, D).
            joint = torch.stack(inputs(lengths=lengths, size=size), dim=1).detach().bfloat16()
            found[f"attention by run, {size}, {name}"] = Pair(
                partial(attention_by_run, lengths=lengths),
                lambda joint, lengths=lengths: attention(*joint.unbind(1), lengths),
                [joint],
                torch.bfloat16,
                near_largest,
                None,
            )
    return found


def exact_layer(layer, gelu):
    """Return a layer in float64 with weights rounded to bfloat16."""

    def layer_of(x):
        bias = None if layer.bias is None else layer.bias.detach().bfloat16().double()
        y = F.linear(x, layer.weight.detach().bfloat16().double(), bias)
        return F.gelu(y) if gelu else y

    return layer_of


def pairs_of_products() -> dict[str, Pair]:
    """Training in bfloat16, and kept weights, with inputs that bfloat16 holds."""
    torch.manual_seed(0)
    x, weight, b = (torch.randn(*shape).bfloat16() for shape in ((30, 64), (48, 64), (48,)))
    rounded = near(2**-8, 1e-3)
    found = {}
    for dtype, bias in ((torch.float32, True), (torch.bfloat16, False)):
        found[f"product, {dtype}"] = Pair(
            trained_product if bias else partial(trained_product, bias=None),
            F.linear,
            [x.to(dtype), weight.float(), b.float()][: 3 if bias else 2],
            torch.bfloat16,
            rounded,
            near(2**-7, 1e-2),
        )
    for gelu, bias in ((False, True), (True, False)):
        layer = Linear(64, 48, bias=bias).eval()
        fast, plain = partial(KeptWeights(layer), gelu=gelu), exact_layer(layer, gelu)
        found[f"kept weights, gelu {gelu}"] = Pair(
            fast, plain, [x.float()], torch.bfloat16, rounded, None
        )
    # Where the exact GELU and the one by tanh differ most.
    layer = Linear(64, 64, bias=False)
    torch.nn.init.eye_(layer.weight)
    steep = torch.linspace(-3, -2, 64).bfloat16().expand(30, 64)
    fast = partial(KeptWeights(layer), gelu=True)
    found["exact gelu"] = Pair(fast, F.gelu, [steep], torch.bfloat16, near(2**-8, 0), None)
    return found


PAIRS = pairs_of_attention() | (pairs_of_products() if HAS_BFLOAT16 else {})


@pytest.mark.parametrize("name", PAIRS)
def test_a_fast_form_is_the_plain_one(name):
    pair = PAIRS[name]
    exact = [x.detach().double().requires_grad_() for x in pair.inputs]
    expected = pair.plain(*exact)
    if pair.gradient is not None:
        own = [x.detach().clone().requires_grad_() for x in pair.inputs]
        found = pair.fast(*own)
        pair.value(found, expected)
        weights = torch.randn_like(expected).bfloat16()
        found.backward(weights.to(found.dtype))
        expected.backward(weights.double())
        for mine, theirs in zip(own, exact, strict=True):
            assert mine.grad.dtype == mine.dtype and mine.grad.stride() == mine.stride()
            pair.gradient(mine.grad, theirs.grad)
    with torch.inference_mode():  # by_length takes a kernel of PyTorch's for this in float32
        # As in the encoder: made in this mode.
        found = pair.fast(*(x.detach().clone() for x in pair.inputs))
    assert found.dtype == pair.output
    pair.value(found, expected.detach())


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
            near_largest(mine, theirs)
    for name, theirs in gradients[1].items() if trains else ():
        mine = gradients[0][name]
        # A key bias shifts all scores of a query alike: its true gradient is 0.
        assert theirs.any() or "key.bias" in name, name
        if "bfloat16" not in mode:
            near_largest(mine, theirs)
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
    near_largest(states_at(model, batch, positions).detach(), expected.detach())


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
