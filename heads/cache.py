"""Frozen embeddings on disk: the encoder reads each distinct text (or pair) only once.

A file is named by the SHA-256 of what decides its content: weights, tokenizer, pooling,
precision, texts. It is written whole, ends with a seal, and is read through a memory map; one that
is damaged, or has another's content, is made again. Feeds: inputs.
"""

import os
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

import minbert
from heads.features import Features, Item
from minbert.encoder import SentenceEncoder
from runtime.digests import texts_digest
from runtime.files import sweep, whole_file
from runtime.processes import barrier, is_main, main_decides
from runtime.sealed import is_sealed, seal


def frozen_embeddings(
    encoder: SentenceEncoder,
    fingerprint: str,
    features: Features,
    items: list[Item],
    folder: Path,
    show_progress: bool | None = None,
) -> np.ndarray:
    """Return the frozen embeddings of distinct items, from the cache if they are there.

    Args:
        encoder: in evaluation mode, with all gradients off.
        fingerprint: `encoder.fingerprint()`, which takes a moment and is therefore passed in.
        features: how the encoder reads an item.
        items: n texts `(a,)` or n pairs `(a, b)`.
        folder: where the cache is.

    Returns:
        Memory-mapped float32: (n, H) for texts, (n, 3, H) for pairs.
    """
    about = f"{minbert.__version__} {fingerprint} {len(items[0])} {len(items)}"
    path = folder / f"{texts_digest(about, chain(*items))}.npy"
    # The first process encodes, the others wait.
    if is_main():
        sweep(folder)
    if main_decides(is_main() and not is_sealed(path)):
        if is_main():
            folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as temporary:
                _encode_to(temporary, encoder, features, items, show_progress)
                seal(temporary, path.name)
        barrier()
    return np.asanyarray(np.load(path, mmap_mode="r"))


def _encode_to(
    path: Path,
    encoder: SentenceEncoder,
    features: Features,
    items: list[Item],
    show_progress: bool | None,
) -> None:
    """Encode all items in evaluation mode into a new .npy file."""
    sequences = features.tokenize(encoder, items)
    shape = (len(items), *features.parts, encoder.model.config.hidden_size)
    embeddings = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    if hasattr(os, "posix_fallocate"):  # a full disk is an error now, not a crash later
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    encoder.embed_all(
        sequences,
        embeddings,
        partial(features.embed, encoder),
        label=f"encode {'pairs' if features.parts else 'texts'}",
        show_progress=show_progress,
    )
    embeddings.flush()
