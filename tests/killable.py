"""Contrastive training that a test can kill at any dev check, to resume it."""

import torch
from conftest import toy_sentences

from data.examples import Triplet
from minbert.encoder import SentenceEncoder
from simcse.train import SimCSETrainer
from simcse.views import supervised, unsupervised


class Killed(Exception):
    """Stands for a crash in the middle of training."""


def encoder_of(checkpoint) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(checkpoint), device="cpu", precision="float32")


def simcse_trainer(checkpoint, config, kind, state, kill_at=None) -> SimCSETrainer:
    encoder = encoder_of(checkpoint)
    if kind == "unsup":
        data = unsupervised(toy_sentences(60), encoder.tokenizer, 32)
    else:
        texts = toy_sentences(120)
        triplets = [Triplet(a, a.upper(), b) for a, b in zip(texts[:60], texts[60:], strict=True)]
        data = supervised(triplets, encoder.tokenizer, 32)
    calls = [0]

    def dev_score() -> float:
        calls[0] += 1
        if calls[0] == kill_at:
            raise Killed
        return float(encoder.encode_quietly(["the old cat sees a dog ."])[0].sum())

    return SimCSETrainer(encoder, data, config, dev_score, state)


def assert_same_weights(module, other) -> None:
    expected = other if isinstance(other, dict) else other.state_dict()
    found = module.state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in found.items())


def weights_of(module) -> dict[str, torch.Tensor]:
    """Return a copy, which training does not change."""
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def assert_same_gradients(found, expected, inputs, rtol=1e-8, atol=1e-10) -> None:
    """Compare two losses of the same inputs, and what they give these."""
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    for mine, theirs in zip(
        torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs), strict=True
    ):
        torch.testing.assert_close(mine, theirs, rtol=rtol, atol=atol)
