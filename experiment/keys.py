"""Hashes of everything that decides a cell's numbers. Feeds: cells."""

from dataclasses import asdict
from typing import Any

import minbert
from data.tasks import TASKS
from experiment.grid import Training
from experiment.inputs import Inputs
from heads.config import HeadConfig
from minbert.encoder import SentenceEncoder
from report.cell import Coordinates
from runtime.digests import digest
from runtime.processes import world_size


def cell_key(
    head: Coordinates,
    encoder: SentenceEncoder,
    fingerprint: str,
    config: HeadConfig,
    inputs: Inputs,
) -> str:
    """Return the key under which the results of a head are stored.

    Args:
        head: which one.
        encoder: the one under it, before the head is trained.
        fingerprint: of the encoder.
        config: the head's settings.
        inputs: the data; what was seen in tuning decides the scores on unseen rows.
    """
    model = asdict(encoder.model.config)  # dropout too, unless frozen
    made_of: list[Any] = [fingerprint, model, asdict(config), head.task, head.encoder]
    made_of.append(inputs.digests[head.task])
    if head.pretrain != "none":
        made_of += [inputs.digests[name] for name in (head.pretrain, "selection")]
    return digest([*made_of, minbert.__version__, world_size()])[:16]


def joint_keys(
    training: Training, encoder: SentenceEncoder, fingerprint: str, inputs: Inputs
) -> list[str]:
    """Return the keys of the heads of a joint training: each depends on all tasks, in their order.

    Args:
        training: the heads, and how they are trained jointly.
        encoder: the one under them, before the training.
        fingerprint: of the encoder.
        inputs: the data.
    """
    assert training.joint is not None

    def key(head: Coordinates, tune: str) -> str:
        config = inputs.settings.head_config(head.task, tune, head.seed)
        return cell_key(head, encoder, fingerprint, config, inputs)

    own = [key(head, "joint") for head in training.heads]
    shared = [asdict(training.joint), *own]
    return [digest([one, *shared])[:16] for one in own]


def kind_of(head: Coordinates) -> str:
    """Return how a head's texts are read: a single text by `bi`, whatever reads the pairs."""
    return head.encoder if TASKS[head.task].is_pair else "bi"
