"""The encoders of the command line: the encoder of an index, and a run's head for re-ranking."""

import copy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from baselines.isbert import load_tuned
from data.examples import DataError
from heads.saved import find_cell, load_head, read_head
from minbert.encoder import SentenceEncoder
from minbert.hub import find_checkpoint


def open_encoder(name: str, pooling: str | None, device: str, precision: str) -> SentenceEncoder:
    """Return the encoder of a checkpoint, IS-BERT's included."""
    return load_tuned(find_checkpoint(name), device, precision, pooling).freeze()


def identity(encoder: SentenceEncoder) -> str:
    """Return a SHA-256 of everything that determines the embeddings, except rounding.

    So an index that was made on a GPU can be queried on a CPU, and in another precision.
    """
    plain = copy.copy(encoder)
    plain.device, plain.dtype = torch.device("cpu"), torch.float32
    return plain.fingerprint()


CrossEncoder = Callable[[str, Sequence[str]], np.ndarray]  # query, N texts -> scores (N,)


def open_cross_encoder(
    run: Path, device: str, precision: str, cell: str | None = None
) -> CrossEncoder:
    """Return the cross-encoder, or late interaction, of a run folder or of one file in its heads/.

    Args:
        run: for a folder, the best head is used, and its name is printed on stderr.
        device, precision: as `load_head` takes them.
        cell: the name of a cell of the run, or of a task.

    Raises:
        DataError: no such folder, file or cell, or none that re-ranks.
        CheckpointError: the head or its encoder is damaged or missing.
    """
    if run.is_file():
        if cell:
            raise DataError(f"--cell {cell}: {run} is one head already; leave out --cell")
        path = run
    else:
        path = find_cell(run, cell, _why_not).path
    if problem := _why_not(path):
        raise DataError(f"{path}: {problem}")
    if path != run:
        print(f"re-ranked by {path.stem}", file=sys.stderr)
    head = load_head(path, device, precision)
    return lambda query, texts: head.soft([(query, text) for text in texts])


def _why_not(path: Path) -> str:
    """Return why a head cannot re-rank, "" if it can."""
    task, reader, _ = read_head(path)
    if task.label_kind == "classes":
        return "predicts classes, which have no order to rank by"
    if reader == "bi":
        return (
            "a bi-encoder's head; re-ranking needs cross or late; train one with: "
            "python run_multitask.py --task sts --encoder cross"
        )
    return ""
