"""Stopped and resumed training ends with the same numbers as undisturbed training."""

import numpy as np
import pytest
import torch
from conftest import toy_sentences

from data.cs224n import read_task
from data.examples import Triplet
from heads.config import HeadConfig
from heads.experiment import train_cell
from heads.train import HeadTrainer
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from simcse.config import SimCSEConfig
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


def without_speed(history):
    return [{k: v for k, v in r.items() if k != "sentences_per_second"} for r in history]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("unsup", {"pooling": "cls", "mlp_only_train": True}),
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


def head_result(checkpoint, data, folder, resume=False):
    config = HeadConfig(tune="full", backbone_learning_rate=1e-3, num_epochs=4)
    encoder = encoder_of(checkpoint)
    splits = read_task(data, "sts")
    result = train_cell(
        encoder, splits, "sts", "cross", config, lambda p: float(p[0]), folder / "cache",
        folder / "state.pt", resume,
    )  # fmt: skip
    return result, encoder


def test_full_tuning_resumes_to_the_same_predictions(
    tiny_checkpoint, toy_data, tmp_path, monkeypatch
):
    whole, encoder = head_result(tiny_checkpoint, toy_data, tmp_path / "a")
    train_epoch = HeadTrainer._train_epoch

    def killed(trainer, tick):
        if trainer.epoch == 2:
            raise Killed
        return train_epoch(trainer, tick)

    monkeypatch.setattr(HeadTrainer, "_train_epoch", killed)
    with pytest.raises(Killed):
        head_result(tiny_checkpoint, toy_data, tmp_path / "b")
    assert (tmp_path / "b" / "state.pt").is_file()
    monkeypatch.setattr(HeadTrainer, "_train_epoch", train_epoch)
    resumed, other = head_result(tiny_checkpoint, toy_data, tmp_path / "b", resume=True)
    assert resumed.history == whole.history
    assert np.array_equal(resumed.predictions["dev"], whole.predictions["dev"])
    own, reference = other.model.state_dict(), encoder.model.state_dict()
    assert all(torch.equal(own[name], tensor) for name, tensor in reference.items())
    assert not (tmp_path / "b" / "state.pt").exists()


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
    with pytest.raises(CheckpointError, match=r"state\.pt") as error:
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
