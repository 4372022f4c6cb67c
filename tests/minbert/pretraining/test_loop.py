"""The pre-training loop's validation: always the same question, answered by the present weights."""

import numpy as np
import pytest
import torch
from conftest import needs_bfloat16

from minbert.config import BertConfig
from minbert.fast.linear import keepers
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from minbert.pretraining.corpus import as_sequences
from minbert.pretraining.loop import Pretrainer
from minbert.pretraining.options import PretrainConfig
from runtime.errors import TrainingError

CONFIG = PretrainConfig(tokens=160, length=20, batch_size=4, eval_steps=2, decay_ratio=0.5)
SIZES = BertConfig(
    vocab_size=92,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)


@pytest.fixture
def trainer_of(tiny_encoder, tmp_path):
    """Make a trainer on random rows, with given weights or fresh ones."""

    def make(state=None, precision="float32"):
        torch.manual_seed(0)
        model = BertForMaskedLM(BertModel(SIZES, add_pooling_layer=False))
        if state is not None:
            model.load_state_dict(state)
        rows = np.random.default_rng(0).integers(5, 92, (70, 20)).astype(np.int32)
        data = as_sequences(rows)
        machine = {"folder": tmp_path, "device": "cpu", "precision": precision}
        return Pretrainer(model, tiny_encoder.tokenizer, data, data, CONFIG, **machine)

    return make


def kept(trainer) -> set[bool]:
    found = keepers(trainer.model)
    assert len(found) == 2 * 4
    return {keeper.kept is not None for keeper in found}


def test_validation_repeats_and_leaves_random_numbers_alone(trainer_of):
    trainer = trainer_of()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = trainer.evaluate()
    assert torch.equal(torch.rand(3), expected)
    assert trainer.evaluate() == first


@needs_bfloat16
def test_validation_after_a_step_is_that_of_a_fresh_trainer(trainer_of, monkeypatch):
    trainer, seen, logits = trainer_of(precision="bfloat16"), [], Pretrainer._logits

    def watched(self, *arguments):
        seen.append(kept(self))
        return logits(self, *arguments)

    monkeypatch.setattr(Pretrainer, "_logits", watched)
    before = trainer.evaluate()
    assert seen == [{True}, {True}] and kept(trainer) == {False}
    trainer._train_step()  # by a fused optimizer, which announces nothing
    assert seen[2] == {False}
    after = trainer.evaluate()
    assert after != before
    assert trainer_of(trainer.model.state_dict(), "bfloat16").evaluate() == after


def test_a_diverged_validation_keeps_no_weights_and_no_state(trainer_of, tmp_path):
    trainer = trainer_of(precision="bfloat16")
    with torch.no_grad():
        trainer.model.head.bias.fill_(float("nan"))
    with pytest.raises(TrainingError, match="diverged"):
        trainer.evaluate()
    assert kept(trainer) == {False}
    with pytest.raises(TrainingError, match="diverged to nan at step 1"):
        trainer.run()
    assert not list(tmp_path.iterdir())
