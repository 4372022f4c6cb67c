"""Attention in buckets is the plain attention: same values, same gradients, dropout as often."""

import copy
import math

import numpy as np
import pytest
import torch
from conftest import toy_sentences

from minbert.attention import attention
from minbert.fast import attention as fast_attention
from minbert.fast.attention import WIDTH, attention_in_buckets, lay_out

LENGTHS = {
    "unsorted": (1, 4, 40, 4, 2, 17, 7, 1),
    "one that fills its bucket": (WIDTH,),
    "very different": (2, 3, 200, 1),
    "at the borders": (WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH, 1),
}
TOLERANCES = {torch.float64: 1e-12, torch.float32: 2e-6}


def inputs(dtype, lengths, heads: int = 3, size: int = 8):
    torch.manual_seed(0)
    shape = (sum(lengths), heads, size)
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(3)]


def test_rows_behind_the_last_sequence_stay_zero_and_pass_no_gradient_on():
    lengths = LENGTHS["unsorted"]
    q, k, v = inputs(torch.float64, lengths)
    joint = torch.stack([q, k, v], dim=1).detach()
    longer = torch.cat([joint, torch.ones_like(joint[:5])]).requires_grad_()
    context = attention_in_buckets(longer, lengths, 0.0)
    assert torch.equal(context[:-5], attention_in_buckets(joint, lengths, 0.0))
    assert not context[-5:].any()
    context.square().sum().backward()
    assert longer.grad[:-5].any() and not longer.grad[-5:].any()


def in_buckets(q, k, v, lengths, dropout_prob=0.0):
    return attention_in_buckets(
        torch.stack([q / math.sqrt(q.shape[-1]), k, v], dim=1), lengths, dropout_prob
    )


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_values_and_gradients_equal_the_plain_form(lengths, dtype):
    q, k, v = inputs(dtype, lengths)
    weights = torch.randn_like(q)
    contexts = [form(q, k, v, lengths) for form in (in_buckets, attention)]
    found, expected = (
        (context.detach(), *torch.autograd.grad((context * weights).sum(), (q, k, v)))
        for context in contexts
    )
    for mine, theirs in zip(found, expected, strict=True):
        bound = TOLERANCES[dtype] * max(1.0, theirs.abs().max().item())
        torch.testing.assert_close(mine, theirs, atol=bound, rtol=0)


def test_the_gradient_is_that_of_finite_differences_with_dropout():
    lengths = (3, 1, 2)
    q, k, v = inputs(torch.float64, lengths, heads=2, size=4)

    def seeded(q, k, v):
        torch.manual_seed(5)
        return in_buckets(q, k, v, lengths, 0.3)

    assert torch.autograd.gradcheck(seeded, (q, k, v))


def test_dropout_keeps_the_mean_and_drops_its_share():
    torch.manual_seed(0)
    lengths = (62,) * 9  # two keys of each bucket are added ones
    q = torch.zeros(sum(lengths), 2, 4, requires_grad=True)  # uniform attention
    context = in_buckets(q, q, torch.ones_like(q), lengths, 0.25)[:, :, 0]
    assert context.mean().item() == pytest.approx(1.0, abs=0.01)
    # Sum of 62 probabilities of 1/62, each kept with 3/4, scaled by 4/3: variance 1/3 / 62.
    assert context.var().item() == pytest.approx(1 / 3 / 62, rel=0.15)


def test_a_batch_of_many_lengths_is_a_few_products():
    lengths = tuple(range(5, 31)) * 3
    layout = lay_out(lengths, 4)
    assert [bucket.shape for bucket in layout.buckets] == [(40, 4, 16), (48, 4, 32)]
    # Every token of every head is read from a place of its own.
    assert len(np.unique(layout.outward)) == 4 * sum(lengths)


def bfloat16_step(encoder, batch):
    """Return the embeddings of a training step in bfloat16, after its backward pass."""
    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16):
        states = encoder.model.packed(batch).last_hidden_state
    states.square().mean().backward()
    return states.detach()


@pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    reason="no bfloat16 in oneDNN here",
)
def test_training_in_bfloat16_takes_this_form_and_has_the_plain_ones_gradients(
    tiny_encoder, monkeypatch
):
    encoder, calls = tiny_encoder, []
    exact = copy.deepcopy(encoder)
    for model in (encoder.model, exact.model):
        model.train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
    batch = encoder.tokenize(toy_sentences(20)).pack(range(20))

    def counted(*arguments):
        calls.append(arguments)
        return attention_in_buckets(*arguments)

    monkeypatch.setattr(fast_attention, "attention_in_buckets", counted)
    exact.model.packed(batch).last_hidden_state.square().mean().backward()
    assert not calls  # float32 keeps one product per length
    found = bfloat16_step(encoder, batch)
    assert len(calls) == encoder.model.config.num_hidden_layers
    with torch.inference_mode():
        expected = exact.model.packed(batch).last_hidden_state
    assert (found - expected).abs().max() < 0.1
    for (name, mine), theirs in zip(
        encoder.model.named_parameters(), exact.model.parameters(), strict=True
    ):
        if theirs.grad is not None and "key.bias" not in name:
            cosine = torch.cosine_similarity(mine.grad.ravel(), theirs.grad.ravel(), dim=0)
            assert cosine > 0.98, name
