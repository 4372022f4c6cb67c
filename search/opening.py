"""The encoders of the command line: of an index, and of a run's cross-encoder.

Reads: minbert, heads. Feeds: the command line.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from baselines.isbert import load_tuned
from data.examples import DataError, SentencePair
from heads.loading import OpenedHead, SavedHead
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.hub import find_checkpoint
from search.index import Index


def open_encoder(name: str, pooling: str | None, device: str, precision: str) -> SentenceEncoder:
    """Return the encoder of a checkpoint, IS-BERT's included.

    Raises:
        CheckpointError: it is not found, or cannot be pooled so.
    """
    folder = find_checkpoint(name)
    if pooling is None:
        return load_tuned(folder, device, precision).freeze()
    return SentenceEncoder.from_pretrained(str(folder), pooling, device, precision).freeze()


def identity(encoder: SentenceEncoder) -> str:
    """Return a SHA-256 of what decides the embeddings, rounding left aside.

    So an index that was made on a GPU can be asked on a CPU, and in another precision.
    """
    plain = copy.copy(encoder)
    plain.device, plain.dtype = torch.device("cpu"), torch.float32
    return plain.fingerprint()


def encoder_of(index: Index, device: str, precision: str) -> SentenceEncoder:
    """Return the encoder that made an index.

    Raises:
        CheckpointError: it is not found, or is another by now.
    """
    meta = index.meta
    encoder = open_encoder(meta.backbone, meta.pooling, device, precision)
    if identity(encoder) != meta.encoder:
        raise CheckpointError(
            f"{meta.backbone}: not the encoder that made {index.folder}, its files have changed; "
            "index again"
        )
    return encoder


@dataclass(frozen=True)
class CrossEncoder:
    """A run's head on joined pairs, as a judge of how well a text fits a query."""

    opened: OpenedHead
    largest: int  # scores go from 0 to this

    def __call__(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Return a score for each text, (N,) float64."""
        pairs = [SentencePair(str(row), query, text) for row, text in enumerate(texts)]
        return self.largest / (1 + np.exp(-self.opened.logits(pairs).astype(np.float64)))


def open_cross_encoder(run: Path, device: str, precision: str) -> CrossEncoder:
    """Return the cross-encoder of a run folder, or of one file in its heads/.

    Raises:
        DataError: no such folder or file, no cross-encoder in it, or several.
        CheckpointError: the head or the encoder under it is damaged or gone.
    """
    saved = _cross_head(run)
    if saved.task.kind == "classes":
        raise DataError(f"{saved.path}: predicts classes, which have no order to rank by")
    folder = _encoder_folder(saved)
    if not folder.is_dir():
        raise CheckpointError(
            f"{folder}: gone, the encoder under {saved.path.name}; run its command again"
        )
    encoder = load_tuned(folder, device, precision).freeze()
    return CrossEncoder(saved.on(encoder), saved.task.largest)


def _cross_head(run: Path) -> SavedHead:
    """Return the only cross-encoder head of a run, or the one that is named."""
    if run.is_file():
        saved = SavedHead.find(run)
        if saved.kind != "cross":
            raise DataError(f"{run}: a bi-encoder's head; re-ranking needs a cross-encoder's")
        return saved
    if not run.is_dir():
        raise DataError(f"{run}: no such run folder")
    found = [SavedHead.find(path) for path in sorted(run.glob("heads/*.safetensors"))]
    crossed = [saved for saved in found if saved.kind == "cross"]
    if not crossed:
        raise DataError(
            f"{run}: no cross-encoder in its heads/; train one with: "
            "python run_multitask.py --task sts --encoder cross"
        )
    if len(crossed) > 1:
        names = " ".join(str(saved.path) for saved in crossed)
        raise DataError(f"{run}: {len(crossed)} cross-encoders; name one of {names}")
    return crossed[0]


def _encoder_folder(saved: SavedHead) -> Path:
    """Return where a run keeps the encoder under a head, whose file is PRETRAIN-...-SEED."""
    run, name = saved.path.parent.parent, saved.path.stem
    if saved.config.tune == "full":
        return run / "models" / name
    pretrain, seed = name.split("-")[0], name.rsplit("-")[-1]
    return run / "backbones" / (pretrain if pretrain == "none" else f"{pretrain}-{seed}")
