"""Triplets, settings and a trainer that several test files here share."""

from conftest import toy_sentences

from data.examples import Triplet
from minbert.encoder import SentenceEncoder
from simcse.config import SimCSEConfig
from simcse.train import SimCSETrainer
from simcse.views import supervised

QUICK = SimCSEConfig(batch_size=16, learning_rate=1e-3, num_epochs=3, eval_steps=5)


def triplets(count: int = 40) -> list[Triplet]:
    a, c = toy_sentences(count, 1), toy_sentences(count, 2)
    return [Triplet(x, x.replace("the", "a"), z) for x, z in zip(a, c, strict=True)]


def trainer(encoder: SentenceEncoder, config=QUICK, data=None, **more) -> SimCSETrainer:
    """Return a trainer, on the triplets unless other data are given."""
    data = data or supervised(triplets(), encoder.tokenizer, 32)
    return SimCSETrainer(encoder, data, config, **more)
