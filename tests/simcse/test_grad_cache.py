"""Gradient caching: a batch in chunks has the loss, gradients and dropout of a whole one."""

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from killable import encoder_of
from tuning import trainer

from simcse import train
from simcse.config import SimCSEConfig
from simcse.grad_cache import backward
from simcse.views import unsupervised

BATCH = np.arange(24)


def first_words_masked(batch, specials, mask_id, vocab_size, probability):
    """Mask the first word of each sequence: no draw, so that chunks and whole batch agree."""
    labels = torch.full_like(batch.input_ids, -100)
    first = batch.cu_seqlens[:-1] + 1
    labels[first] = batch.input_ids[first]
    return batch, labels


def gradients(checkpoint, config):
    """Return the loss, the in-batch accuracy and all gradients of one batch."""
    run = trainer(encoder_of(checkpoint), config)
    run.trained.eval()  # without dropout
    loss, accuracy = run.add_gradients(BATCH)
    named = {name: p.grad for name, p in run.trained.named_parameters() if p.grad is not None}
    return loss.item(), accuracy.item(), named


@pytest.mark.parametrize(
    ("chunk_tokens", "settings"),
    [(1, {"pooling": "cls"}), (60, {"pooling": "avg", "symmetric": True})],
)
def test_chunks_have_the_gradients_of_the_whole_batch(settings, chunk_tokens, tiny_checkpoint):
    whole = gradients(tiny_checkpoint, SimCSEConfig(**settings))
    cut = gradients(tiny_checkpoint, SimCSEConfig(**settings, chunk_tokens=chunk_tokens))
    torch.testing.assert_close(cut, whole, rtol=1e-5, atol=1e-5)
    assert max(gradient.abs().max() for gradient in whole[2].values()) > 1e-3


def test_masked_language_modelling_is_chunked_too(tiny_checkpoint, monkeypatch):
    monkeypatch.setattr(train, "mask_tokens", first_words_masked)
    whole = gradients(tiny_checkpoint, SimCSEConfig(mlm_weight=0.5))
    cut = gradients(tiny_checkpoint, SimCSEConfig(mlm_weight=0.5, chunk_tokens=60))
    torch.testing.assert_close(cut, whole, rtol=1e-5, atol=1e-5)
    assert whole[0] > gradients(tiny_checkpoint, SimCSEConfig())[0] + 0.5


@pytest.mark.parametrize(
    ("count", "at_once", "passes"), [(1, False, 1), (3, False, 6), (3, True, 3)]
)
def test_only_what_does_not_fit_at_once_is_encoded_twice(count, at_once, passes):
    weight, calls = torch.ones(2, requires_grad=True), []

    def embed(chunk):
        calls.append(chunk)
        return chunk * weight

    chunks = [torch.full((2, 2), float(k + 1)) for k in range(count)]
    loss, other = backward(embed, chunks, lambda all: (all.sum(), all.detach().max()), at_once)
    assert len(calls) == passes and other == count
    assert loss.item() == 2 * weight.grad.sum().item() / 2 == 4 * count * (count + 1) / 2


def test_both_encodings_of_a_chunk_drop_the_same(tiny_encoder):
    """With dropout, gradients by autograd through all chunks at once, with the same draws."""
    tiny_encoder.model.train()
    data = unsupervised(toy_sentences(20), tiny_encoder.tokenizer, 32)
    chunks = [data.sequences.pack(np.arange(start, start + 5)) for start in range(0, 20, 5)]

    def objective(embeddings):
        return (embeddings.softmax(dim=0) @ embeddings.T).square().sum(), embeddings.detach()[0, 0]

    def collected():
        gradients = [p.grad for p in tiny_encoder.model.parameters() if p.grad is not None]
        tiny_encoder.model.zero_grad()  # sets none of these tensors to 0: it lets go of them
        return gradients

    torch.manual_seed(5)
    loss, _ = backward(tiny_encoder.embed, chunks, objective)
    cached = collected()
    torch.manual_seed(5)
    direct = objective(torch.cat([tiny_encoder.embed(chunk) for chunk in chunks]))[0]
    direct.backward()
    assert loss.item() == pytest.approx(direct.item(), rel=1e-5)
    for found, wanted in zip(cached, collected(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5 * wanted.abs().max().item())
    # Random numbers go on: the next step drops others.
    torch.manual_seed(5)
    steps = [backward(tiny_encoder.embed, chunks, objective)[0].item() for _ in range(2)]
    assert steps[0] == loss.item() != steps[1]
