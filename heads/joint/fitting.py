"""One encoder and the heads of several tasks, trained jointly and applied.

Reads: the heads, inputs, training. Feeds: experiment, with what `heads.fitting.fit_head` returns.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from data.tasks import TASKS, Splits
from heads.config import HeadConfig
from heads.features import FEATURES
from heads.fitting import SPEED_ROWS, FittedHead, build_head, reading_speed
from heads.inputs import Inputs, LiveInputs
from heads.joint.config import JointConfig
from heads.joint.training import JointTrainer, Learner
from heads.training import Score
from minbert.encoder import SentenceEncoder
from runtime.seeds import set_seed


@dataclass(frozen=True)
class Pupil:
    """A task of a joint training: its examples, how they are read, and by what they are scored.

    `kind` is `bi` or `cross`; a single text is always read by `bi`.
    """

    splits: Splits
    kind: str
    config: HeadConfig
    dev_score: Score
    taught: np.ndarray | None = None  # what a teacher's head decides by, of the training split


def fit_joint(
    encoder: SentenceEncoder,
    pupils: Mapping[str, Pupil],
    config: JointConfig,
    state_path: Path | None = None,
    resume: bool = False,
) -> dict[str, FittedHead]:
    """Train an encoder in place, with a head for each task, and predict dev and test.

    Args:
        encoder: trained in place.
        pupils: by task, in the order in which they are learnt.
        config: the schedule and remedies.
        state_path: of the resumable state; the caller deletes it once the results are written.
        resume: continue from that state.

    Returns:
        By task; `seconds` are those of the whole training in each.
    """
    started = time.perf_counter()
    # Every learner reads its texts with the same encoder, so training one changes all.
    learners = {task: _learner(encoder, task, pupil) for task, pupil in pupils.items()}
    trainer = JointTrainer(encoder, learners, config, state_path)
    trainer.run(resume)
    found = {
        task: {s: trainer.predict(task, i) for s, i in learner.inputs.items() if s != "train"}
        for task, learner in learners.items()
    }
    seconds = time.perf_counter() - started
    return {
        task: _fitted(trainer, encoder, task, pupils[task], own, seconds)
        for task, own in found.items()
    }


def _learner(encoder: SentenceEncoder, task: str, pupil: Pupil) -> Learner:
    splits, config = pupil.splits, pupil.config
    features = FEATURES[pupil.kind](config.features)
    named = {"train": splits.train, "dev": splits.dev}
    named |= {"test": splits.test} if splits.test else {}
    inputs: dict[str, Inputs] = {
        name: LiveInputs(encoder, rows, features) for name, rows in named.items()
    }
    # The initial weights are those of the task's head in a training of its own.
    set_seed(config.seed)
    head = build_head(TASKS[task], pupil.kind, encoder.model.config.hidden_size, config)
    labels = torch.tensor([example.label for example in splits.train]).float()
    taught = None if pupil.taught is None else torch.from_numpy(pupil.taught).float()
    about = (pupil.dev_score, config, TASKS[task], taught)
    return Learner(head.to(encoder.device), inputs, labels, *about)


def _fitted(
    trainer: JointTrainer,
    encoder: SentenceEncoder,
    task: str,
    pupil: Pupil,
    found: dict[str, np.ndarray],
    seconds: float,
) -> FittedHead:
    learner, features = trainer.learners[task], FEATURES[pupil.kind](pupil.config.features)
    before = {s: tensor.numpy() for s, tensor in trainer.before.get(task, {}).items()}
    rows = pupil.splits.dev[:SPEED_ROWS]
    speed = reading_speed(lambda i: trainer.predict(task, i), encoder, rows, features)
    inputs = dict(learner.inputs)
    return FittedHead(learner.head, found, inputs, trainer.history[task], seconds, speed, before)
