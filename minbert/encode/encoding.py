"""One shard after another through one encoder, in this process or in one of Ray's.

Reads: texts, shards, the encoder. Feeds: folder, over_ray.
"""

import time

import numpy as np
import torch

from minbert.config import CheckpointError
from minbert.encode.extras import has_pyarrow
from minbert.encode.options import Options
from minbert.encode.shards import (
    VECTORS,
    Record,
    complete,
    made_of,
    write_record,
    write_shard,
)
from minbert.encode.texts import Text
from minbert.encoder import SentenceEncoder
from runtime.device import release_memory


class ShardEncoder:
    """The encoder of a command line; called with a shard, it leaves its file and record.

    Attributes:
        encoder: the encoder.
        fingerprint: its own, which takes a moment.
    """

    def __init__(self, options: Options):
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
            self.encoder.tokenize([""], max_length=options.max_length)  # refuses what does not fit
            self.encoder.max_length = options.max_length
        self.fingerprint = self.encoder.fingerprint()

    def __call__(self, name: str, texts: list[Text]) -> Record:
        """Encode a shard unless it is there, complete and undamaged; return its record.

        Args:
            name: of the shard.
            texts: n of them.

        Raises:
            CheckpointError: the encoder gives vectors that are not finite.
            OSError: the folder cannot be written.
        """
        options = self.options
        settings = {**vars(options), "format": format_of(options)}
        digest = made_of(texts, self.fingerprint, settings)
        # A shard that is there was made of the same texts, encoder and settings, or is made again.
        if found := complete(options.out, name, digest):
            return found
        began = time.perf_counter()
        vectors = self._vectors([text.text for text in texts])
        file = f"{name}.{format_of(options)}"
        sha256 = write_shard(options.out / VECTORS / file, [text.id for text in texts], vectors)
        seconds = round(time.perf_counter() - began, 3)
        record = Record(file, len(texts), digest, sha256, self.fingerprint, seconds)
        write_record(options.out, name, record)
        release_memory()
        return record

    def _vectors(self, texts: list[str]) -> np.ndarray:
        """Return (n, H) float32 or float16."""
        vectors: np.ndarray = self.encoder.encode(
            texts,
            self.options.batch_tokens,
            show_progress=False,
            normalize_embeddings=self.options.normalize,
        )
        # Half the space; a number beyond 65,504 becomes infinite, which is refused below.
        if self.options.float16:
            with np.errstate(over="ignore"):
                vectors = vectors.astype(np.float16)
        if not np.isfinite(vectors).all():
            raise CheckpointError(
                f"{self.options.backbone}: gives vectors that are not finite in {vectors.dtype}"
            )
        return vectors


def format_of(options: Options) -> str:
    """Return the format of shards: parquet or npz."""
    if options.format != "auto":
        return options.format
    return "parquet" if has_pyarrow() else "npz"
