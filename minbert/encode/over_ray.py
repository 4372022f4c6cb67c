"""The same shards on a Ray cluster, or on the processors of one machine.

One task per file reads it and hands out its shards; workers, each with an encoder of its own,
encode and write them. Only texts and records travel. Ray replaces workers that die and gives their
shard to another one; files appear whole, so nothing is left of the first attempt.
All machines must see this project and the files under the same paths.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from minbert.encode.options import Options
from minbert.encode.shards import RECORDS, Record, ShardEncoder, Source, Text, optional
from runtime.errors import MachineError, UserError

# Workers that may die of a shard. Ray would try for ever; there are texts that take all memory.
MOST_DEATHS = 3
TRIES = ".tries"
Row = dict[str, Any]


class Worker:
    """An encoder in a process of Ray's, called with one shard after another."""

    def __init__(self, options: Options):
        # An error here would look to Ray like a worker that died: the first shard reports it.
        self.error, self.out = "", options.out
        try:
            self.encode = ShardEncoder(options)
        except (UserError, OSError) as error:
            self.error = str(error)

    def __call__(self, shard: Row) -> Row:
        """Return the record of a shard as a row, or a row with an error."""
        error = self.error or shard["error"]
        if not error:
            try:
                return {"error": "", **asdict(self._encode(shard))}
            except (UserError, OSError) as raised:
                error = str(raised)
        return {"error": error, **asdict(Record("", 0, "", "", "", 0.0))}

    def _encode(self, shard: Row) -> Record:
        # One byte for every try; the file goes when the shard is complete.
        tries = self.out / RECORDS / f".{shard['name']}{TRIES}"
        tries.parent.mkdir(exist_ok=True)
        with tries.open("ab") as file:
            file.write(b".")
            if file.tell() > MOST_DEATHS:
                raise MachineError(
                    f"{shard['name']}: {MOST_DEATHS} workers died of it; look for an endless line, "
                    "or give fewer --shard-rows"
                )
        texts = [Text(*row) for row in zip(shard["ids"], shard["texts"], strict=True)]
        record = self.encode(shard["name"], texts)
        tries.unlink(missing_ok=True)
        return record


def shards_of(file: Row, options: Options) -> Iterator[Row]:
    """Yield the shards of a file as rows, the last one with an error if it cannot be read."""
    source = Source(Path(file["path"]), options.column, options.id_column)
    try:
        for number, shard in enumerate(source.shards(options.shard_rows)):
            ids, texts = zip(*shard, strict=True)
            yield {
                "name": source.shard_name(number),
                "ids": list(ids),
                "texts": list(texts),
                "error": "",
            }
    except UserError as error:
        yield {"name": "", "ids": [""], "texts": [""], "error": str(error)}


def encode_on_ray(options: Options) -> Iterator[Record]:
    """Yield the records of all shards of the files, as they are done.

    Raises:
        MachineError: Ray is not installed, has too few processors, or gave up a shard.
        UserError: what a worker or a reader raised.
    """
    ray = optional("ray", "ray.data", "--ray")
    options = _from_anywhere(options)
    for path in options.out.glob(f"{RECORDS}/.*{TRIES}"):  # of an earlier command
        path.unlink()
    with _running(ray):
        workers, each = _share_out(options, ray.cluster_resources())
        options = replace(options, threads=each["num_cpus"])
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.target_max_block_size = 1  # byte: no two shards travel together
        files = [{"path": str(path)} for path in options.files]
        # The reading tasks take no processor: the workers may hold all of them.
        records = (
            ray.data.from_items(files, override_num_blocks=len(files))
            .flat_map(shards_of, fn_kwargs={"options": options}, num_cpus=0)
            .map(
                Worker,
                fn_constructor_args=(options,),
                compute=ray.data.ActorPoolStrategy(size=workers),
                **each,
            )
        )
        try:
            for row in records.iter_rows():
                if error := row.pop("error"):
                    raise UserError(error)
                yield Record(**row)
        except ray.exceptions.RayError as error:
            reason = " ".join(str(error).split())[:300]
            raise MachineError(f"--ray: stopped; the same command goes on ({reason})") from None


@contextmanager
def _running(ray: Any) -> Iterator[None]:
    """Hold a connection to the cluster that RAY_ADDRESS names, else one on this machine."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Plans and progress of Ray's own would stand between our bar and our last line.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # a cluster that does not start is a bare Exception of Ray's
        reason = " ".join(str(error).split())[:300]
        raise MachineError(f"--ray: no cluster ({reason}); check RAY_ADDRESS") from None
    try:
        yield
    finally:
        ray.shutdown()


def _share_out(options: Options, cluster: dict[str, float]) -> tuple[int, dict[str, Any]]:
    """Return the number of workers, and what each takes: processors, and a GPU if there are any.

    Raises:
        MachineError: the cluster does not have enough of them.
    """
    threads = options.threads or 1
    most = int(cluster.get("CPU", 0)) // threads
    each: dict[str, Any] = {"num_cpus": threads}
    gpus = 0 if options.device == "cpu" else int(cluster.get("GPU", 0))
    if gpus or options.device == "cuda":
        most, each["num_gpus"] = min(most, gpus), 1
    if most < (options.workers or 1):
        raise MachineError(
            f"--ray: the cluster has room for {most} worker(s) of {threads} thread(s); give fewer "
            "--workers or --threads"
        )
    return options.workers or most, each


def _from_anywhere(options: Options) -> Options:
    """Return the options with absolute paths, which processes in other folders can use."""
    backbone = Path(options.backbone).expanduser()
    return replace(
        options,
        files=tuple(path.resolve() for path in options.files),
        out=options.out.resolve(),
        backbone=str(backbone.resolve()) if backbone.is_dir() else options.backbone,
    )
