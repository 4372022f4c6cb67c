"""Tasks to learn jointly, of toy rows, and a crash."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from data.tasks import read_task
from heads.config import HeadConfig
from heads.joint.fitting import Pupil
from heads.joint.training import JointTrainer

FULL = HeadConfig(
    tune="full", backbone_learning_rate=1e-3, num_epochs=2, batch_size=16, warmup_ratio=0.1
)


class Killed(Exception):
    """Stands for a crash in the middle of training."""


def score(found):
    return float(found.mean())


def pupils(data, *tasks, kind="bi"):
    config = replace(FULL, tune="joint")
    kinds = {"sst": "bi"}
    return {t: Pupil(read_task(data, t), kinds.get(t, kind), config, score) for t in tasks}


@contextmanager
def killed(monkeypatch):
    """Let a joint training inside crash before its last batch but one."""
    train_step = JointTrainer._train_step

    def killed_step(trainer, step):
        if step == len(trainer.batches) - 2:
            raise Killed
        return train_step(trainer, step)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(JointTrainer, "_train_step", killed_step)
        yield
