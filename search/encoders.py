"""The encoders of the command line: of an index, and of a run's head that reads pairs."""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from baselines.isbert import load_tuned
from data.examples import DataError
from heads.saved import load_head, read_head
from minbert.encoder import SentenceEncoder
from minbert.hub import find_checkpoint


def open_encoder(name: str, pooling: str | None, device: str, precision: str) -> SentenceEncoder:
    """Return the encoder of a checkpoint, IS-BERT's included."""
    return load_tuned(find_checkpoint(name), device, precision, pooling).freeze()


def identity(encoder: SentenceEncoder) -> str:
    """Return a SHA-256 of what decides the embeddings, rounding left aside.

    So an index that was made on a GPU can be queried on a CPU, and in another precision.
    """
    plain = copy.copy(encoder)
    plain.device, plain.dtype = torch.device("cpu"), torch.float32
    return plain.fingerprint()


CrossEncoder = Callable[[str, Sequence[str]], np.ndarray]  # query, N texts -> scores (N,)


def open_cross_encoder(run: Path, device: str, precision: str) -> CrossEncoder:
    """Return the cross-encoder, or late interaction, of a run folder or of one file in its heads/.

    Raises:
        DataError: no such folder or file, no such head in it, or several.
        CheckpointError: the head or the encoder under it is damaged or gone.
    """
    path = _cross_head(run)
    task, _, _ = read_head(path)
    if task.label_kind == "classes":
        raise DataError(f"{path}: predicts classes, which have no order to rank by")
    head = load_head(path, device, precision)
    return lambda query, texts: head.soft([(query, text) for text in texts])


def _cross_head(run: Path) -> Path:
    """Return the only head of a run that says more than vectors do, or the one that is named."""
    if run.is_file():
        if read_head(run)[1] == "bi":
            raise DataError(f"{run}: a bi-encoder's head; re-ranking needs cross or late")
        return run
    if not run.is_dir():
        raise DataError(f"{run}: no such run folder")
    heads = sorted(run.glob("heads/*.safetensors"))
    crossed = [path for path in heads if read_head(path)[1] != "bi"]
    if not crossed:
        raise DataError(
            f"{run}: no cross-encoder in its heads/, nor late; train one with: "
            "python run_multitask.py --task sts --encoder cross"
        )
    if len(crossed) > 1:
        names = " ".join(map(str, crossed))
        raise DataError(f"{run}: {len(crossed)} heads that re-rank; name one of {names}")
    return crossed[0]
