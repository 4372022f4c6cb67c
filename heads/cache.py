"""Frozen embeddings on disk: the encoder reads each distinct text (or pair) only once.

A file is named by the SHA-256 of what decides its content: weights, tokenizer, pooling,
precision, texts. It is written whole, ends with a seal, and is read through a memory map; one that
is damaged, or has another's content, is made again. Feeds: inputs.
"""

import os
from contextlib import nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

import minbert
from heads.features import Features, Item
from minbert.encoder import SentenceEncoder
from minbert.fast.side_by_side import batches_at_once, batches_for_cores, embed_batches
from runtime.digests import texts_digest
from runtime.files import sweep, whole_file
from runtime.processes import (
    barrier,
    gather_objects,
    is_main,
    main_decides,
    share,
    world_size,
)
from runtime.progress import progress
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
    if is_main():
        sweep(folder)
    if main_decides(is_main() and not is_sealed(path)):
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(path) if is_main() else nullcontext(path) as temporary:
            _encode_to(temporary, encoder, features, items, show_progress)
            if is_main():
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
    """Encode all items in evaluation mode; the first process writes them into a new .npy file."""
    sequences = features.tokenize(encoder, items)
    shape = (len(items), *features.parts, encoder.model.config.hidden_size)
    if is_main():
        embeddings = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        if hasattr(os, "posix_fallocate"):  # a full disk is an error now, not a crash later
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    at_once = batches_at_once(encoder.device, encoder.model.config.hidden_size)
    batches = batches_for_cores(sequences.lengths, encoder.batch_tokens, at_once)
    embed = partial(features.embed, encoder)
    label = f"encode {'pairs' if features.parts else 'texts'}"
    with encoder.reading(sequences), progress(label, len(items), "text", show_progress) as bar:
        found = embed_batches(sequences, share(batches), embed, at_once)
        # One batch per process at a time; one process writes them all.
        for _ in range(0, len(batches), world_size()):
            for rows, part in chain(*gather_objects(list(islice(found, 1)))):
                if is_main():
                    embeddings[rows] = part
                bar.update(len(rows))
    if is_main():
        embeddings.flush()
