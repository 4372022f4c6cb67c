"""Hashes of everything that decides a cell's numbers. Feeds: cells."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import minbert
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
    silver: Sequence[Any] = (),
) -> str:
    """Return the key under which the results of a head are stored.

    Args:
        head: which one.
        encoder: the one under it, before the head is trained.
        fingerprint: of the encoder.
        config: the head's settings.
        inputs: the data; what was seen in tuning decides the scores on unseen rows.
        silver: what decides the unlabelled pairs; only of a distilled head.
    """
    model = asdict(encoder.model.config)  # dropout too, unless frozen
    made_of: list[Any] = [fingerprint, model, asdict(config), head.task, head.encoder]
    made_of.append(inputs.digests[head.task])
    if head.pretrain != "none":
        made_of += [inputs.digests[name] for name in (head.pretrain, "selection")]
    if head.encoder == "distilled":
        teacher = replace(head, encoder="cross")
        made_of += [cell_key(teacher, encoder, fingerprint, config, inputs), *silver]
    return digest([*made_of, minbert.__version__, world_size()])[:16]
