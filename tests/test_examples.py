"""The file that shows one run in 120 lines does what the trainers do: SimCSE to the last digit."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from killable import encoder_of

from data.examples import SentencePair, Triplet
from data.tasks import Splits
from examples import simcse_in_120_lines as example
from heads.config import HeadConfig
from heads.train import HeadTask, fit_heads
from simcse.config import SUP_QUICK
from simcse.train import SimCSETrainer
from simcse.views import supervised


def pairs(count, seed):
    texts = toy_sentences(2 * count, seed)
    return [SentencePair(str(k), texts[k], texts[k + count], k % 6) for k in range(count)]


@pytest.mark.parametrize("pooling", ["cls", "avg"])
def test_an_encoder_is_tuned_as_by_the_trainer(pooling, tiny_checkpoint):
    texts = toy_sentences(90)
    # A repeated text: as a candidate of its own anchor it is left out.
    triplets = [Triplet(texts[k], texts[k // 2], texts[k + 60]) for k in range(30)]
    config = replace(SUP_QUICK, batch_size=8, pooling=pooling, max_steps=3, eval_steps=1)
    plain, trained = (encoder_of(tiny_checkpoint) for _ in range(2))
    data = supervised(triplets, plain.tokenizer, config.max_length)
    losses = example.tune(plain, data, config)
    history = SimCSETrainer(trained, data, config).run()
    assert losses == [record["loss"] for record in history] and len(losses) == 3
    wanted = trained.model.state_dict()
    for name, value in plain.model.state_dict().items():
        assert torch.equal(value, wanted[name]), name


def test_a_head_learns_as_by_the_trainer(tiny_checkpoint, tmp_path):
    encoder, train, dev = encoder_of(tiny_checkpoint).freeze(), pairs(40, 1), pairs(12, 7)
    config = HeadConfig(num_epochs=3, batch_size=16)
    task = HeadTask("sts", "bi", config, Splits(train, dev, []), lambda scores: 0.0)
    (fitted,) = fit_heads(encoder, [task], tmp_path, epoch=3)
    labels = torch.tensor([pair.label for pair in train]).float()
    size = encoder.embedding_size
    head = example.fit_head(example.features_of(encoder, train), labels, config, size)
    with torch.inference_mode():
        scores = head.predict(head(example.features_of(encoder, dev))).numpy()
    assert np.abs(scores - fitted.predictions["dev"]).max() < 1e-6
