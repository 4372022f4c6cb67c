"""The contrastive loop: what is refused, what a step does, which state is kept."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import toy_sentences
from killable import assert_same_weights
from tuning import QUICK, trainer, triplets

from runtime.errors import TrainingError
from simcse.config import SimCSEConfig
from simcse.train import SimCSETrainer
from simcse.views import supervised, unsupervised


def test_what_cannot_be_trained_is_refused(tiny_encoder):
    with pytest.raises(TrainingError, match="64 positions"):
        trainer(tiny_encoder, replace(QUICK, max_length=65))
    data = unsupervised(toy_sentences(5), tiny_encoder.tokenizer, 32)
    with pytest.raises(TrainingError, match="without negatives"):
        trainer(tiny_encoder, SimCSEConfig(batch_size=1), data)
    trainer(tiny_encoder, SimCSEConfig(batch_size=1))  # a hard negative is one


@pytest.mark.parametrize(("kind", "symmetric"), [("unsup", False), ("sup", True)])
def test_training_raises_in_batch_accuracy(kind, symmetric, tiny_encoder):
    data = supervised(triplets(64), tiny_encoder.tokenizer, 32)
    if kind == "unsup":
        data = unsupervised(toy_sentences(64), tiny_encoder.tokenizer, 32)
    config = replace(QUICK, symmetric=symmetric, num_epochs=10, eval_steps=4)
    history = SimCSETrainer(tiny_encoder, data, config).run()
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1]["accuracy"] > history[0]["accuracy"]
    assert history[-1]["step"] == 10 * 4


def test_geometry_is_measured_every_few_steps_and_changes_nothing(tiny_encoder):
    plain, measured = (tiny_encoder.clone(), tiny_encoder.clone())
    trainer(plain, QUICK).run()
    calls = iter(range(100))
    config = replace(QUICK, geometry_steps=3)
    history = trainer(measured, config, geometry=lambda: {"uniformity": -float(next(calls))}).run()
    points = {r["step"]: r["uniformity"] for r in history if "uniformity" in r}
    steps = history[-1]["step"]
    assert list(points) == list(range(0, steps + 1, 3))
    assert list(points.values()) == [-float(number) for number in range(len(points))]
    assert_same_weights(measured.model, plain.model)


def test_mlm_adds_its_weighted_loss(tiny_encoder):
    with_mlm = trainer(tiny_encoder, SimCSEConfig(mlm_weight=1.0, batch_size=16))
    rows = np.arange(16)
    tiny_encoder.model.eval()  # no dropout: the two differ by the MLM term alone
    total, _ = with_mlm.add_gradients(rows)
    contrastive, _ = trainer(tiny_encoder, SimCSEConfig(batch_size=16)).add_gradients(rows)
    assert total.item() > contrastive.item() + 1.0
    assert with_mlm.trained["encoder"].head.bias.grad is not None


def test_max_steps_ends_the_schedule_too(tiny_encoder):
    run = trainer(tiny_encoder, SimCSEConfig(batch_size=16, num_epochs=9, max_steps=4))
    run.run()
    assert run.step == 4
    assert run.schedule.get_last_lr()[0] == 0.0


def test_weight_decay_reaches_matrices_and_words_only(tiny_encoder):
    run = trainer(tiny_encoder, replace(QUICK, weight_decay=0.1))
    named = {id(p): name for name, p in tiny_encoder.model.named_parameters()}
    decays = {
        named[id(p)]: group["weight_decay"]
        for group in run.optimizer.param_groups
        for p in group["params"]
    }
    assert decays.keys() == set(named.values())
    for name, decay in decays.items():
        spared = ("bias", "LayerNorm", "position", "token_type")
        assert decay == (0.0 if any(part in name for part in spared) else 0.1), name


def test_equal_texts_of_a_batch_are_no_negatives_unless_kept(tiny_encoder):
    sentences = list(dict.fromkeys(toy_sentences(24)))[:12]

    def loss(texts, **settings) -> float:
        data = unsupervised(texts, tiny_encoder.tokenizer, 32)
        run = trainer(tiny_encoder, SimCSEConfig(pooling="avg", **settings), data)
        run.trained.eval()
        return run.add_gradients(np.arange(len(texts)))[0].item()

    # Twice as many candidates of each kind raise a loss by log 2; its own copy is the nearest.
    once = loss(sentences)
    assert loss(sentences * 2, keep_duplicates=True) == pytest.approx(once + math.log(2), rel=1e-5)
    assert once < loss(sentences * 2) < once + math.log(2) - 0.1
    assert once == loss(sentences, keep_duplicates=True)
    cut = unsupervised(["a cat", "a cat .", "a dog"], tiny_encoder.tokenizer, 4)
    assert cut.texts(np.array([2, 0, 1])).tolist() == [[0, 1, 1]] * 2
