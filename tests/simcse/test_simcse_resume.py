"""Stopped and resumed contrastive training ends with the numbers of undisturbed training."""

import pytest
import torch
from conftest import toy_sentences
from killable import Killed, encoder_of, simcse_trainer

from runtime.errors import StateError
from runtime.sealed import seal
from simcse.config import SimCSEConfig
from simcse.objectives import OBJECTIVES
from simcse.stage import Backbone, TrainingTexts, tune
from simcse.train import SimCSETrainer
from simcse.views import unsupervised


def without_speed(history):
    return [{k: v for k, v in r.items() if k != "sentences_per_second"} for r in history]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("unsup", {"pooling": "cls", "mlp": "training"}),
        ("sup", {"pooling": "cls", "mlm_weight": 0.1}),
        ("sup", {"pooling": "avg", "symmetric": True, "warmup_ratio": 0.2}),
    ],
)
def test_simcse_resumes_to_the_same_weights_and_history(kind, settings, tiny_checkpoint, tmp_path):
    config = SimCSEConfig(batch_size=16, num_epochs=3, eval_steps=3, learning_rate=1e-3, **settings)
    whole = simcse_trainer(tiny_checkpoint, config, kind, tmp_path / "a.pt")
    expected = whole.run()
    killed = simcse_trainer(tiny_checkpoint, config, kind, tmp_path / "b.pt", kill_at=4)
    with pytest.raises(Killed):
        killed.run()
    torch.manual_seed(999)  # whatever happens in between
    resumed = simcse_trainer(tiny_checkpoint, config, kind, tmp_path / "b.pt")
    found = resumed.run(resume=True)
    assert without_speed(found) == without_speed(expected)
    assert resumed.best_score == whole.best_score
    own, reference = resumed.encoder.model.state_dict(), whole.encoder.model.state_dict()
    assert all(torch.equal(own[name], tensor) for name, tensor in reference.items())


def test_without_resume_training_starts_over(tiny_checkpoint, tmp_path):
    config = SimCSEConfig(batch_size=16, num_epochs=1, eval_steps=2)
    first = simcse_trainer(tiny_checkpoint, config, "unsup", tmp_path / "a.pt").run()
    again = simcse_trainer(tiny_checkpoint, config, "unsup", tmp_path / "a.pt").run()
    assert without_speed(first) == without_speed(again)


@pytest.mark.parametrize("damage", ["truncated", "foreign", "other_run"])
def test_a_state_that_cannot_be_used_is_one_clear_line(damage, tiny_checkpoint, tmp_path):
    path = tmp_path / "state.pt"
    config = SimCSEConfig(batch_size=16, eval_steps=2)
    simcse_trainer(tiny_checkpoint, config, "unsup", path).run()
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:1000])
    elif damage == "foreign":
        path.write_text("not a state")
    else:
        torch.save({"trained": {}}, path)
        seal(path, path.name)
    with pytest.raises(StateError, match=r"state\.pt") as error:
        simcse_trainer(tiny_checkpoint, config, "unsup", path).run(resume=True)
    assert "\n" not in str(error.value)


def test_a_failed_save_leaves_the_older_state(tiny_checkpoint, tmp_path, monkeypatch):
    path = tmp_path / "state.pt"
    run = simcse_trainer(tiny_checkpoint, SimCSEConfig(batch_size=16), "unsup", path)
    run._save(path)
    before = path.read_bytes()
    monkeypatch.setattr(torch, "save", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        run._save(path)
    assert path.read_bytes() == before


def test_diverged_training_stops_with_what_to_change(tiny_checkpoint, tmp_path):
    config = SimCSEConfig(batch_size=16, learning_rate=1e9, num_epochs=5, max_grad_norm=1e9)
    run = simcse_trainer(tiny_checkpoint, config, "unsup", None)
    with torch.no_grad():
        run.encoder.model.embeddings.LayerNorm.weight.fill_(float("nan"))
    with pytest.raises(ValueError, match="lower the learning rate"):
        run.run()


@pytest.mark.parametrize("best", [1, 2, 3])
def test_simcse_keeps_the_best_state_wherever_it_was(best, tiny_checkpoint):
    encoder = encoder_of(tiny_checkpoint)
    data = unsupervised(toy_sentences(60), encoder.tokenizer, 32)
    config = SimCSEConfig(batch_size=20, eval_steps=1, learning_rate=1e-3, pooling="cls")
    states = []

    def dev_score() -> float:
        states.append({key: t.clone() for key, t in encoder.model.state_dict().items()})
        return float(len(states) - 1 == best)  # the first call is before training

    trainer = SimCSETrainer(encoder, data, config, dev_score)
    trainer.run()
    assert len(states) == 4 and trainer.best_score == 1.0
    kept = encoder.model.state_dict()
    same = [all(kept[key].equal(t) for key, t in state.items()) for state in states]
    assert same == [number == best for number in range(4)]


def test_the_stage_leaves_a_whole_folder_and_no_state(tiny_checkpoint, toy_data, tmp_path):
    config = SimCSEConfig(batch_size=30, eval_steps=1, pooling="cls")
    folder = tmp_path / "tuned"
    backbone = Backbone(tiny_checkpoint, encoder_of(tiny_checkpoint))
    data = OBJECTIVES["sup"].data(
        toy_data / "nli_for_simcse.csv", backbone.encoder.tokenizer, config.max_length
    )
    texts = TrainingTexts("nli_for_simcse.csv", data, {})
    tune(OBJECTIVES["sup"], backbone, texts, config, folder)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tuned"]
    assert encoder_of(folder).encode(["the cat"]).shape == (1, 32)


def test_a_state_of_another_shape_is_refused(tiny_checkpoint, tmp_path):
    path = tmp_path / "state.pt"
    config = SimCSEConfig(batch_size=16, eval_steps=2, pooling="cls", mlp="training")
    simcse_trainer(tiny_checkpoint, config, "unsup", path).run()
    other = SimCSEConfig(batch_size=16, eval_steps=2, pooling="avg")  # without the projection
    with pytest.raises(StateError, match=r"state\.pt"):
        simcse_trainer(tiny_checkpoint, other, "unsup", path).run(resume=True)


@pytest.mark.parametrize("content", [[1], 3])
def test_a_state_that_is_no_dictionary_is_refused(content, tiny_checkpoint, tmp_path):
    path = tmp_path / "state.pt"
    torch.save(content, path)
    with pytest.raises(StateError):
        simcse_trainer(tiny_checkpoint, SimCSEConfig(), "unsup", path).run(resume=True)


def test_resumed_simcse_takes_only_the_steps_that_were_missing(
    tiny_checkpoint, tmp_path, monkeypatch
):
    config = SimCSEConfig(batch_size=20, num_epochs=3, eval_steps=3, pooling="cls")
    killed = simcse_trainer(tiny_checkpoint, config, "unsup", tmp_path / "a.pt", kill_at=4)
    with pytest.raises(Killed):
        killed.run()  # at step 9, the state being that of step 6
    steps = []
    train_step = SimCSETrainer._train_step

    def counted(trainer):
        steps.append(trainer.step)
        return train_step(trainer)

    monkeypatch.setattr(SimCSETrainer, "_train_step", counted)
    simcse_trainer(tiny_checkpoint, config, "unsup", tmp_path / "a.pt").run(resume=True)
    assert steps == [6, 7, 8]
