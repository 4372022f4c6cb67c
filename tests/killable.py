"""Contrastive training that a test can kill at any dev check, to resume it."""

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
