"""The same shards on a Ray cluster, or on the processors of one machine.

This process reads the files; workers with an encoder each encode shards and keep them. Only texts
travel. A shard whose worker died is tried again by Ray; folders appear whole, so nothing is left of
the first attempt. All machines must see this project and the folder under the same paths.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from minbert.encode.options import EncodeOptions
from minbert.encode.shards import ShardEncoder
from minbert.encode.texts import Shard, optional
from runtime.errors import MachineError, UserError

# How often a shard is tried again whose worker died: there are texts that take all memory.
RETRIES = 3


class Worker:
    """An encoder in a process of Ray's."""

    def __init__(self, options: EncodeOptions):
        self.options = options
        self.encoder: ShardEncoder | None = None

    def encode(self, shard: Shard) -> dict[str, Any]:
        """Encode a shard unless it is there; return what the manifest says of it."""
        # An error in __init__ would look to Ray like a worker that died.
        self.encoder = self.encoder or ShardEncoder(self.options)
        return self.encoder(shard)


def encode_on_ray(options: EncodeOptions, shards: Iterable[Shard]) -> Iterator[dict[str, Any]]:
    """Encode shards, as many at a time as there are workers; yield in their order what the manifest
    says of each.

    Raises:
        MachineError: Ray is not installed, has too few processors, or gave up a shard.
        UserError: what a worker raised.
    """
    ray = optional("ray", "--ray")
    with _running(ray):
        workers, resources = _share_out(options, ray.cluster_resources())
        remote = ray.remote(max_restarts=-1, max_task_retries=RETRIES, **resources)(Worker)
        options = replace(_from_anywhere(options), threads=resources["num_cpus"])
        free = [remote.remote(options) for _ in range(workers)]
        busy: dict[Any, Any] = {}  # {what will be a result: its worker}
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
                    yield ray.get(results.popleft())
            yield from map(ray.get, results)
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)  # of an error that a worker raised
            if isinstance(cause, UserError | OSError):
                raise cause from None
            reason = " ".join(str(error).split())[:300]
            raise MachineError(f"--ray: stopped; the same command goes on ({reason})") from None


@contextmanager
def _running(ray: Any) -> Iterator[None]:
    """Hold a connection to the cluster that RAY_ADDRESS names, else one on this machine."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # a cluster that does not start is a bare Exception of Ray's
        reason = " ".join(str(error).split())[:300]
        raise MachineError(f"--ray: no cluster ({reason}); check RAY_ADDRESS") from None
    try:
        yield
    finally:
        ray.shutdown()


def _share_out(options: EncodeOptions, cluster: dict[str, float]) -> tuple[int, dict[str, int]]:
    """Return the number of workers, and what each takes: processors, and a GPU if there are any.

    Raises:
        MachineError: the cluster does not have enough of them.
    """
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


def _from_anywhere(options: EncodeOptions) -> EncodeOptions:
    """Return the options with absolute paths, which processes in other folders can use."""
    backbone = Path(options.backbone).expanduser()
    name = str(backbone.resolve()) if backbone.is_dir() else options.backbone
    return replace(options, out=options.out.absolute(), backbone=name)
