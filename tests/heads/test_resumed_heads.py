"""Stopped and resumed heads end with the numbers of undisturbed training."""

import numpy as np
import pytest
import torch
from killable import Killed, encoder_of

from data.tasks import read_task
from heads.config import HeadConfig
from heads.train import HeadTrainer, fit_head


def head_result(checkpoint, data, folder, resume=False):
    config = HeadConfig(tune="full", backbone_learning_rate=1e-3, num_epochs=4)
    encoder = encoder_of(checkpoint)
    splits = read_task(data, "sts")
    result = fit_head(
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
    assert (tmp_path / "b" / "state.pt").is_file()  # until the results are safe


def test_an_undefined_dev_score_never_wins(tiny_checkpoint, toy_data, tmp_path):
    scores = iter([None, -0.5, None])
    config = HeadConfig(num_epochs=3, learning_rate=1e-2)
    seen = []

    def dev_score(found):
        seen.append(found.copy())
        return next(scores)

    splits = read_task(toy_data, "sts")
    encoder = encoder_of(tiny_checkpoint)
    result = fit_head(encoder, splits, "sts", "bi", config, dev_score, tmp_path)
    assert np.allclose(result.predictions["dev"], seen[1], atol=1e-6)
