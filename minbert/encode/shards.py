"""Shards of texts encoded, and kept on disk (`runtime.store`).

    DIR/vectors/wiki.txt-00003-DIGEST/vectors.parquet    id: string, vector: list of H numbers

Legend: n texts, H hidden_size.
"""

from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

from minbert.config import CheckpointError
from minbert.encode.options import EncodeOptions
from minbert.encode.texts import Shard, optional
from minbert.encoder import SentenceEncoder
from runtime.device import release_memory
from runtime.files import file_digest, texts_digest
from runtime.store import Work, kept

VECTORS = "vectors"


class ShardEncoder:
    """The encoder of a command line; called with a shard, it leaves its folder."""

    def __init__(self, options: EncodeOptions):
        """Open the encoder.

        Raises:
            CheckpointError: it is not found, damaged, or cannot be pooled so.
            MachineError: no such device.
            UserError: it has no positions for that many tokens.
        """
        self.options = options
        if options.threads:
            torch.set_num_threads(options.threads)
        self.encoder = SentenceEncoder.from_pretrained(
            options.backbone, options.pooling, options.device, options.precision
        ).freeze()
        if options.max_length is not None:
            # Refuses more tokens than there are positions, before anything is encoded.
            self.encoder.tokenize([""], max_length=options.max_length)
            self.encoder.max_length = options.max_length
        self.fingerprint = self.encoder.fingerprint()

    def __call__(self, shard: Shard) -> dict[str, Any]:
        """Encode a shard unless it is there; return what the manifest says of it.

        Raises:
            CheckpointError: the encoder gives vectors that are not finite.
            OSError: the folder cannot be written.
        """
        options, ending = self.options, format_of(self.options)
        file = f"vectors.{ending}"
        # What changes no number, such as the size of batches or the device's threads, is left out.
        made_of = {
            "encoder": self.fingerprint,
            "normalize": options.normalize,
            "float16": options.float16,
            "format": ending,
            "texts": texts_digest("", chain(shard.ids, shard.texts)),
        }

        def make(work: Work) -> None:
            write_vectors(work.folder / file, shard.ids, self._vectors(shard.texts))

        folder = kept("vectors", made_of, make, options.out / VECTORS, name=shard.name)
        # What batches of all sizes leave behind would otherwise grow from shard to shard.
        release_memory()
        return {
            "file": f"{folder.name}/{file}",
            "rows": len(shard.ids),
            "sha256": file_digest(folder / file),
            "encoder": self.fingerprint,
        }

    def _vectors(self, texts: list[str]) -> np.ndarray:
        """Return (n, H) float32 or float16."""
        options = self.options
        vectors: np.ndarray = self.encoder.encode(
            texts,
            options.batch_tokens,
            show_progress=False,
            normalize_embeddings=options.normalize,
        )
        # Half the space; a number beyond 65,504 becomes infinite, which is refused below.
        if options.float16:
            with np.errstate(over="ignore"):
                vectors = vectors.astype(np.float16)
        if not np.isfinite(vectors).all():
            raise CheckpointError(
                f"{options.backbone}: gives vectors that are not finite in {vectors.dtype}"
            )
        return vectors


def write_vectors(path: Path, ids: list[str], vectors: np.ndarray) -> None:
    """Write the file of a shard.

    Args:
        path: .parquet, or .npz, of which np.load gives the arrays `id` and `vector`.
        ids: n of them.
        vectors: (n, H).
    """
    if path.suffix == ".npz":
        np.savez(path, id=np.array(ids), vector=vectors)
        return
    parquet, pa = optional("pyarrow.parquet", "--format parquet"), optional("pyarrow", "")
    # (n, H) end to end is what a column of n lists of H numbers is on disk: no copy.
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    table = pa.table({"id": ids, "vector": lists})
    # Vectors hardly repeat and hardly compress: trying costs time and saves no space.
    parquet.write_table(table, path, compression="none", use_dictionary=False)


def format_of(options: EncodeOptions) -> str:
    """Return the format of shards: parquet or npz."""
    if options.format != "auto":
        return options.format
    return "parquet" if find_spec("pyarrow") else "npz"
