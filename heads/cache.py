"""Frozen vectors on disk: the encoder reads each distinct text (or pair) once, ever.

A file is named by the SHA-256 of all that decides its content: weights, tokenizer, pooling,
precision, texts. It is written whole and read through a memory map. Feeds: inputs.
"""

import hashlib
import os
from itertools import chain
from pathlib import Path

import numpy as np
import torch

import minbert
from heads.features import embed_pairs
from minbert.distributed import barrier, gather_objects, is_main, main_decides, share, world_size
from minbert.encoder import SentenceEncoder
from minbert.packing import PackedBatch, batches_by_tokens
from minbert.runtime import progress

Item = tuple[str, ...]  # one text, or the two of a pair


def frozen_vectors(
    encoder: SentenceEncoder,
    fingerprint: str,
    items: list[Item],
    folder: Path,
    show_progress: bool | None = None,
) -> np.ndarray:
    """Return the frozen vectors of distinct texts or pairs, from the cache if they are there.

    Args:
        encoder: in evaluation mode, all its gradients off.
        fingerprint: `encoder.fingerprint()`, which takes a moment and is therefore passed in.
        items: n texts `(a,)` or n pairs `(a, b)`.
        folder: where the cache lies.

    Returns:
        Memory-mapped float32: (n, H) pooled texts, or (n, 3, H) parts of pairs.
    """
    path = folder / f"{_key(fingerprint, items)}.npy"
    if main_decides(_load(path) is None):
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            _encode_to(temporary, encoder, items, show_progress)
            if is_main():
                os.replace(temporary, path)
            barrier()
        finally:
            if is_main():
                temporary.unlink(missing_ok=True)
    vectors = _load(path)
    assert vectors is not None
    return vectors


def _load(path: Path) -> np.ndarray | None:
    """Return the memory-mapped array, or None where there is none or a damaged one."""
    try:
        return np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError):
        return None


def _key(fingerprint: str, items: list[Item]) -> str:
    about = f"{minbert.__version__} {fingerprint} {len(items[0])} {len(items)}"
    digest = hashlib.sha256(about.encode())
    for item in items:
        for text in item:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def _encode_to(
    path: Path, encoder: SentenceEncoder, items: list[Item], show_progress: bool | None
) -> None:
    """Encode all items in evaluation mode into a new .npy file."""
    assert not encoder.model.training, "frozen vectors need the encoder in evaluation mode"
    paired = len(items[0]) == 2
    seconds = [item[1] for item in items] if paired else None
    sequences = encoder.tokenize([item[0] for item in items], seconds)
    width = encoder.model.config.hidden_size
    shape = (len(items), 3, width) if paired else (len(items), width)
    label = "encode pairs" if paired else "encode texts"
    if is_main():
        vectors = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        if hasattr(os, "posix_fallocate"):  # a full disk is an error now, not a crash later
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    batches = list(batches_by_tokens(sequences.lengths, encoder.batch_tokens))
    with torch.inference_mode(), progress(label, len(items), "text", show_progress) as bar:
        for start in range(0, len(batches), world_size()):  # a batch for each process, one writes
            own = share(batches[start : start + world_size()])
            parts = [(rows, _embed(encoder, sequences.pack(rows), paired)) for rows in own]
            for rows, part in chain(*gather_objects(parts)):
                if is_main():
                    vectors[rows] = part
                bar.update(len(rows))
    if is_main():
        vectors.flush()


def _embed(encoder: SentenceEncoder, batch: PackedBatch, paired: bool) -> np.ndarray:
    embedded = embed_pairs(encoder, batch) if paired else encoder.embed(batch)
    return np.asarray(embedded.cpu().numpy())
