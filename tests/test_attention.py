"""The three forms of attention compute the same sums, gradients included."""

import math

import pytest
import torch
from conftest import toy_sentences

from minbert import model
from minbert.attention import (
    attention_by_length,
    attention_reference,
    attention_varlen,
    packed_attention,
)

LENGTHS = (1, 4, 4, 4, 2, 7, 7, 1)


def inputs(dtype=torch.float64, heads: int = 3, size: int = 8):
    torch.manual_seed(0)
    shape = (sum(LENGTHS), heads, size)
    tensors = [torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(3)]
    borders = torch.tensor([0, *LENGTHS]).cumsum(0)
    return tensors, borders


def by_formula(query, key, value):
    """Attention by loops over sequences, heads and tokens."""
    result = torch.zeros_like(query)
    start = 0
    for length in LENGTHS:
        for head in range(query.shape[1]):
            for i in range(start, start + length):
                scores = [
                    (query[i, head] @ key[j, head]).item() / math.sqrt(query.shape[2])
                    for j in range(start, start + length)
                ]
                total = sum(math.exp(score) for score in scores)
                for j, score in enumerate(scores):
                    result[i, head] += math.exp(score) / total * value[start + j, head]
        start += length
    return result


def test_reference_equals_the_formula():
    (q, k, v), _ = inputs()
    with torch.no_grad():
        torch.testing.assert_close(attention_reference(q, k, v, LENGTHS), by_formula(q, k, v))


@pytest.mark.parametrize("form", ["by_length", "by_length_without_gradient", "varlen"])
def test_fast_forms_equal_the_reference(form):
    (q, k, v), borders = inputs()
    expected = attention_reference(q, k, v, LENGTHS)
    if form == "varlen":
        found = attention_varlen(q, k, v, borders, LENGTHS)
    elif form == "by_length":
        found = attention_by_length(q, k, v, LENGTHS)
    else:
        with torch.no_grad():
            found = attention_by_length(q, k, v, LENGTHS)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("form", ["by_length", "varlen"])
def test_gradients_of_fast_forms_equal_the_reference(form):
    (q, k, v), borders = inputs()
    weights = torch.randn_like(q)
    expected = torch.autograd.grad(
        (attention_reference(q, k, v, LENGTHS) * weights).sum(), (q, k, v)
    )
    if form == "varlen":
        found = attention_varlen(q, k, v, borders, LENGTHS)
    else:
        found = attention_by_length(q, k, v, LENGTHS)
    gradients = torch.autograd.grad((found * weights).sum(), (q, k, v))
    for mine, theirs in zip(gradients, expected, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("form", [attention_reference, attention_by_length])
def test_dropout_keeps_the_mean_and_drops_its_share(form):
    torch.manual_seed(0)
    lengths = (64,) * 8
    q = torch.zeros(512, 2, 4, requires_grad=True)  # uniform attention
    v = torch.ones(512, 2, 4)
    context = form(q, q, v, lengths, 0.25)[:, :, 0]
    assert context.mean().item() == pytest.approx(1.0, abs=0.01)
    # Sum of 64 probabilities of 1/64, each kept with 3/4 and scaled by 4/3: variance 1/3 / 64.
    assert context.var().item() == pytest.approx(1 / 3 / 64, rel=0.15)


def test_no_dropout_in_evaluation_is_exact_and_repeats():
    (q, k, v), borders = inputs()
    with torch.no_grad():
        first = packed_attention(q, k, v, borders, LENGTHS, 0.0)
        assert torch.equal(first, packed_attention(q, k, v, borders, LENGTHS, 0.0))


def test_a_sequence_never_sees_its_neighbours():
    (q, k, v), borders = inputs()
    with torch.no_grad():
        before = packed_attention(q, k, v, borders, LENGTHS)
        k[1:5] += 3.0  # the second sequence
        v[1:5] -= 2.0
        after = packed_attention(q, k, v, borders, LENGTHS)
    changed = (before != after).flatten(1).any(dim=1)
    assert changed[1:5].all()
    assert not changed[:1].any() and not changed[5:].any()


def test_the_gpu_form_carries_the_whole_encoder(tiny_encoder, monkeypatch):
    texts = toy_sentences(9)
    expected = tiny_encoder.encode(texts)
    monkeypatch.setattr(model, "packed_attention", attention_varlen)
    assert abs(tiny_encoder.encode(texts) - expected).max() < 1e-5
    batch = tiny_encoder.tokenize(texts).pack(range(9))
    tiny_encoder.model.train()
    first, second = tiny_encoder.embed(batch), tiny_encoder.embed(batch)
    assert not torch.equal(first, second)  # dropout
    first.sum().backward()
    assert tiny_encoder.model.encoder.layer[0].attention.self.query.weight.grad.any()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cuda_kernel_equals_the_float64_reference(dtype):
    (q, k, v), borders = inputs(heads=2, size=32)
    with torch.no_grad():
        expected = attention_reference(q, k, v, LENGTHS)
        on_gpu = [x.to("cuda", dtype) for x in (q, k, v)]
        found = packed_attention(*on_gpu, borders.cuda(), LENGTHS)
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(found.cpu().double(), expected, atol=tolerance, rtol=0)
