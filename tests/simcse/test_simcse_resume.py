"""Stopped and resumed contrastive training ends with the numbers of undisturbed training."""

import pytest
import torch
from conftest import toy_sentences
from killable import Killed, assert_same_weights, encoder_of, simcse_trainer, weights_of

from runtime.errors import StateError
from simcse.config import SimCSEConfig
from simcse.train import SimCSETrainer
from simcse.views import unsupervised


def without_speed(history):
    return [{k: v for k, v in r.items() if k != "sentences_per_second"} for r in history]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("unsup", {"mlp": "training"}), ("sup", {"mlm_weight": 0.1, "warmup_ratio": 0.2})],
)
def test_simcse_resumes_to_the_same_weights_and_history(
    kind, settings, tiny_checkpoint, tmp_path, monkeypatch
):
    config = SimCSEConfig(
        batch_size=16, num_epochs=2, eval_steps=3, learning_rate=1e-3, pooling="cls", **settings
    )
    whole = simcse_trainer(tiny_checkpoint, config, kind, tmp_path / "a.pt")
    expected = whole.run()
    killed = simcse_trainer(tiny_checkpoint, config, kind, tmp_path / "b.pt", kill_at=3)
    with pytest.raises(Killed):
        killed.run()  # at step 6, the state being that of step 3
    torch.manual_seed(999)  # whatever happens in between
    resumed = simcse_trainer(tiny_checkpoint, config, kind, tmp_path / "b.pt")
    steps, train_step = [], SimCSETrainer._train_step
    monkeypatch.setattr(
        SimCSETrainer, "_train_step", lambda self: steps.append(self.step) or train_step(self)
    )
    found = resumed.run(resume=True)
    assert steps == [3, 4, 5, 6, 7]
    assert without_speed(found) == without_speed(expected)
    assert resumed.best_score == whole.best_score
    assert_same_weights(resumed.encoder.model, whole.encoder.model)


def test_a_state_of_another_shape_is_refused_and_left_alone_without_resume(
    tiny_checkpoint, tmp_path
):
    path = tmp_path / "state.pt"
    config = SimCSEConfig(batch_size=16, eval_steps=2, pooling="cls", mlp="training")
    first = simcse_trainer(tiny_checkpoint, config, "unsup", path).run()
    other = SimCSEConfig(batch_size=16, eval_steps=2, pooling="avg")  # without the projection
    with pytest.raises(StateError, match=r"state\.pt"):
        simcse_trainer(tiny_checkpoint, other, "unsup", path).run(resume=True)
    again = simcse_trainer(tiny_checkpoint, config, "unsup", path).run()
    assert without_speed(first) == without_speed(again)


def test_diverged_training_stops_with_what_to_change(tiny_checkpoint):
    run = simcse_trainer(tiny_checkpoint, SimCSEConfig(batch_size=16), "unsup", None)
    with torch.no_grad():
        run.encoder.model.embeddings.LayerNorm.weight.fill_(float("nan"))
    with pytest.raises(ValueError, match="lower the learning rate"):
        run.run()


@pytest.mark.parametrize(("scores", "best"), [([0.9, 0.7, 0.2, 0.7], 1), ([0.9, 0.2, 0.7, 0.7], 2)])
def test_simcse_keeps_the_first_best_state_but_not_that_before_training(
    scores, best, tiny_checkpoint
):
    encoder = encoder_of(tiny_checkpoint)
    data = unsupervised(toy_sentences(60), encoder.tokenizer, 32)
    config = SimCSEConfig(batch_size=20, eval_steps=1, learning_rate=1e-3, pooling="cls")
    states = []

    def dev_score() -> float:
        states.append(weights_of(encoder.model))
        return scores[len(states) - 1]

    trainer = SimCSETrainer(encoder, data, config, dev_score)
    assert [record["dev_score"] for record in trainer.run()] == scores
    assert trainer.best_score == 0.7
    kept = encoder.model.state_dict()
    same = [all(kept[key].equal(t) for key, t in state.items()) for state in states]
    assert same == [number == best for number in range(4)]
