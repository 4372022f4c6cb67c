"""Shards of texts encoded and kept on disk (`runtime.store`), in this process or on a Ray cluster.

With Ray this process reads the files, and workers with an encoder each encode shards and keep them.
Only texts are sent. If a worker dies, Ray retries its shard. Folders appear whole, so nothing of
the first attempt is left. All machines must see this project and the folder under the same paths.

Legend: n texts, H hidden_size.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from runtime.cut import CUT
from runtime.device import release_memory
from runtime.errors import MachineError, UserError
from runtime.files import file_digest, texts_digest
from runtime.store import Work, kept

VECTORS = "vectors"
# Retries of a shard whose worker died; limited, since some texts take all memory.
RETRIES = 3


class ShardEncoder:
    """The encoder of a command line; each call encodes a shard into its folder."""

    def __init__(self, options: EncodeOptions):
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
        """Encode a shard unless its folder exists; return its entry in the manifest.

        Raises:
            CheckpointError: the encoder gives vectors that are not finite.
            OSError: the folder cannot be written.
        """
        options, ending = self.options, format_of(self.options)
        file = f"vectors.{ending}"
        # Settings that change no number, such as batch size and threads, are left out.
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
        # Otherwise memory left over from batches of all sizes would grow from shard to shard.
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


def format_of(options: EncodeOptions) -> str:
    """Return the format of shards: parquet or npz."""
    if options.format != "auto":
        return options.format
    return "parquet" if find_spec("pyarrow") else "npz"


def write_vectors(path: Path, ids: list[str], vectors: np.ndarray) -> None:
    """Write ids and vectors (n, H) as .parquet, or as .npz with the arrays `id` and `vector`."""
    if path.suffix == ".npz":
        np.savez(path, id=np.array(ids), vector=vectors)
        return
    parquet, pa = optional("pyarrow.parquet", "--format parquet"), optional("pyarrow", "")
    # On disk, a column of n lists of H numbers is the flattened (n, H) array: no copy.
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    table = pa.table({"id": ids, "vector": lists})
    # Vectors hardly repeat and hardly compress: trying costs time and saves no space.
    parquet.write_table(table, path, compression="none", use_dictionary=False)


class Worker:
    """An encoder in a Ray process."""

    def __init__(self, options: EncodeOptions):
        self.options = options
        self.encoder: ShardEncoder | None = None

    def encode(self, shard: Shard) -> dict[str, Any]:
        """Encode as `ShardEncoder` does; also return which texts were cut."""
        # An error in __init__ would look to Ray like a worker that died.
        self.encoder = self.encoder or ShardEncoder(self.options)
        return {**self.encoder(shard), "cut": CUT.take()}


def encode_on_ray(options: EncodeOptions, shards: Iterable[Shard]) -> Iterator[dict[str, Any]]:
    """Encode shards, one per worker at a time; yield their manifest entries in order.

    Raises:
        MachineError: Ray is not installed, has too few processors, or gave up a shard.
        UserError: raised by a worker.
    """
    ray = _connected()
    workers, resources = _share_out(options, ray.cluster_resources())
    remote = ray.remote(max_restarts=-1, max_task_retries=RETRIES, **resources)(Worker)
    # Processes in other folders need absolute paths.
    backbone = Path(options.backbone).expanduser()
    name = str(backbone.resolve()) if backbone.is_dir() else options.backbone
    threads = resources["num_cpus"]
    options = replace(options, out=options.out.absolute(), backbone=name, threads=threads)
    free = [remote.remote(options) for _ in range(workers)]
    busy: dict[Any, Any] = {}  # {future result: its worker}
    results: deque[Any] = deque()  # in order
    try:
        for shard in shards:
            if not free:
                (done,), _ = ray.wait(list(busy))
                free.append(busy.pop(done))
            worker = free.pop()
            results.append(worker.encode.remote(shard))
            busy[results[-1]] = worker
            while results[0] not in busy:
                yield _joined(ray.get(results.popleft()))
        for result in results:
            yield _joined(ray.get(result))
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)  # of an error that a worker raised
        if isinstance(cause, UserError | OSError):
            raise cause from None
        reason = " ".join(str(error).split())[:300]
        raise MachineError(
            f"--ray: stopped; run the same command again to continue ({reason})"
        ) from None


def _joined(result: dict[str, Any]) -> dict[str, Any]:
    """Return a worker's manifest entry of a shard; count the texts that it cut."""
    CUT.join(result.pop("cut"))
    return result


def _connected() -> Any:
    """Return Ray, connected to the cluster that RAY_ADDRESS names, else to one on this machine."""
    ray = optional("ray", "--ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # a cluster that does not start is a bare Exception of Ray's
        reason = " ".join(str(error).split())[:300]
        raise MachineError(f"--ray: no cluster ({reason}); check RAY_ADDRESS") from None
    return ray


def _share_out(options: EncodeOptions, cluster: dict[str, float]) -> tuple[int, dict[str, int]]:
    """Return the number of workers, and what each takes: processors, and a GPU if there are any."""
    threads = options.threads or 1
    resources, room = {"num_cpus": threads}, int(cluster.get("CPU", 0)) // threads
    gpus = 0 if options.device == "cpu" else int(cluster.get("GPU", 0))
    if gpus or options.device == "cuda":
        resources["num_gpus"], room = 1, min(room, gpus)
    if room < (options.workers or 1):
        raise MachineError(
            f"--ray: the cluster has room for {room} worker(s) of {threads} thread(s); give fewer "
            "--workers or --threads"
        )
    return options.workers or room, resources
