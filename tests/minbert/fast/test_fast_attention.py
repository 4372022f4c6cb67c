"""Both fast forms of attention compute the same sums as the plain one, gradients included."""

import pytest
import torch
from conftest import toy_sentences

from minbert.attention import attention
from minbert.fast.attention import (
    SelfAttention,
    attention_by_length,
    attention_by_run,
    attention_varlen,
)
from minbert.packing import PackedBatch

LENGTHS = (1, 4, 4, 4, 2, 7, 7, 1)
ATTENTION = {
    "by_length": lambda q, k, v, batch, p: attention_by_length(q, k, v, batch.lengths, p),
    "varlen": attention_varlen,
}
FORMS = sorted(ATTENTION)


def joint_of(q, k, v):
    """Queries, keys and values as one product gives them, (total_tokens, 3, N, D) bfloat16."""
    return torch.stack([q, k, v], dim=1).detach().bfloat16()


# As close as rounding allows.
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-6}


def batch_of(lengths) -> PackedBatch:
    """A batch of these lengths, whose tokens are never looked at."""
    ids = torch.zeros(sum(lengths), dtype=torch.long)
    borders = torch.tensor([0, *lengths]).cumsum(0)
    return PackedBatch(ids, ids, ids, borders, tuple(lengths))


def inputs(dtype=torch.float64, lengths=LENGTHS, heads: int = 3, size: int = 8):
    torch.manual_seed(0)
    shape = (sum(lengths), heads, size)
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(3)]


def assert_near(found, expected):
    bound = TOLERANCES[expected.dtype] * max(1.0, expected.abs().max().item())
    torch.testing.assert_close(found, expected, atol=bound, rtol=0)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("lengths", [LENGTHS, (6, 6, 6)], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_values_and_gradients_equal_the_plain_form(form, lengths, dtype):
    q, k, v = inputs(dtype, lengths)
    weights = torch.randn_like(q)
    expected = attention(q, k, v, lengths)
    found = ATTENTION[form](q, k, v, batch_of(lengths), 0.0)
    assert_near(found.detach(), expected.detach())
    mine, theirs = (
        torch.autograd.grad((context * weights).sum(), (q, k, v)) for context in (found, expected)
    )
    for one, other in zip(mine, theirs, strict=True):
        assert_near(one, other)
    with torch.inference_mode():  # by_length takes a kernel of PyTorch's for this in float32
        q, k, v = (x.clone() for x in (q, k, v))  # as in the encoder: made in this mode
        assert_near(ATTENTION[form](q, k, v, batch_of(lengths), 0.0), expected)


@pytest.mark.parametrize("size", [8, 32])
@pytest.mark.parametrize("lengths", [LENGTHS, (31, 32, 33, 33), (100, 1)], ids=str)
def test_the_encoders_form_equals_the_plain_one_rounded(lengths, size):
    joint = joint_of(*inputs(lengths=lengths, size=size))
    found = attention_by_run(joint, lengths)
    assert found.dtype == torch.bfloat16
    # Scores, probabilities and sums are each rounded to eight bits.
    torch.testing.assert_close(
        found.double(), attention(*joint.double().unbind(1), lengths), atol=0.03, rtol=0.03
    )


def test_dropout_keeps_the_mean_and_drops_its_share():
    torch.manual_seed(0)
    q = torch.zeros(512, 2, 4, requires_grad=True)  # uniform attention
    v = torch.ones(512, 2, 4)
    for form in FORMS:
        context = ATTENTION[form](q, q, v, batch_of((64,) * 8), 0.25)[:, :, 0]
        assert context.mean().item() == pytest.approx(1.0, abs=0.01)
        # Sum of 64 probabilities of 1/64, each kept with 3/4, scaled by 4/3: variance 1/3 / 64.
        assert context.var().item() == pytest.approx(1 / 3 / 64, rel=0.15)


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


@pytest.mark.parametrize("training", [False, True])
def test_attention_drops_while_training_only(training, tiny_encoder):
    layer = tiny_encoder.model.encoder.layer[0].attention.self.train(training)
    assert isinstance(layer, SelfAttention) and layer.dropout.p > 0
    q, k, v = inputs(torch.float32, heads=4)
    first, second = (layer.attend(q, k, v, batch_of(LENGTHS)) for _ in range(2))
    assert torch.equal(first, second) != training


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cuda_kernel_equals_the_plain_form_in_float64(dtype, tiny_config):
    q, k, v = inputs(heads=2, size=32)
    layer = SelfAttention(tiny_config).eval()
    with torch.no_grad():
        expected = attention(q, k, v, LENGTHS)
        on_gpu = [x.to("cuda", dtype) for x in (q, k, v)]
        found = layer.attend(*on_gpu, batch_of(LENGTHS).to("cuda"))
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(found.cpu().double(), expected, atol=tolerance, rtol=0)
