"""Through Ray: the bits of the plain path, whoever dies on the way."""

import os
from pathlib import Path

import pytest
from encoded import command, files_of, manifest, write_lines

from minbert.encode import shards
from minbert.encode.options import EncodeOptions
from minbert.encode.shards import RETRIES, Worker
from runtime.errors import MachineError

pytestmark = pytest.mark.ray
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def cluster():
    """Two processors of Ray's on this machine, or the cluster that RAY_ADDRESS names."""
    hint = "ray is not installed: pip install -e '.[scale]'"
    ray = pytest.importorskip("ray", reason=hint)
    pytest.importorskip("pyarrow", reason=hint)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    local = {} if "RAY_ADDRESS" in os.environ else {"num_cpus": 2, "include_dashboard": False}
    environment = {"env_vars": {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}}
    ray.init(log_to_driver=False, runtime_env=environment, **local)
    yield ray
    ray.shutdown()


def dying(flag: Path, deaths: int) -> type[Worker]:
    """Return a worker of which the first ones die of the second shard."""

    class Dying(Worker):
        def encode(self, shard):
            if shard.name == "t.txt-00001" and len(flag.read_bytes()) < deaths:
                flag.write_bytes(flag.read_bytes() + b".")
                os._exit(1)
            return super().encode(shard)

    flag.touch()
    return Dying


def test_two_workers_one_of_which_dies_write_the_same_bits(
    cluster, tmp_path, tiny_checkpoint, monkeypatch
):
    write_lines(tmp_path / "t.txt", 90)
    write_lines(tmp_path / "u.txt", 10)
    words = [tmp_path / "u.txt", tmp_path / "t.txt", "--backbone", tiny_checkpoint]
    assert command(tmp_path / "plain", *words) == 0
    monkeypatch.setattr(shards, "Worker", dying(tmp_path / "deaths", 1))
    assert command(tmp_path / "ray", *words, "--ray", "--workers", "2") == 0
    assert (tmp_path / "deaths").read_bytes() == b"."
    assert len(files_of(tmp_path / "plain")) == 6
    assert files_of(tmp_path / "ray") == files_of(tmp_path / "plain")
    assert manifest(tmp_path / "ray") == manifest(tmp_path / "plain")


def test_a_shard_that_kills_every_worker_ends_the_command(
    cluster, tmp_path, tiny_checkpoint, monkeypatch, capsys
):
    write_lines(tmp_path / "t.txt", 30)
    monkeypatch.setattr(shards, "Worker", dying(tmp_path / "deaths", 100))
    words = [tmp_path / "t.txt", "--backbone", tiny_checkpoint, "--ray", "--workers", "1"]
    assert command(tmp_path / "o", *words) == 2
    assert (tmp_path / "deaths").read_bytes() == b"." * (1 + RETRIES)
    assert (
        "error: --ray: stopped; run the same command again to continue (" in capsys.readouterr().err
    )
    assert not manifest(tmp_path / "o")["complete"]


@pytest.mark.parametrize(
    ("content", "flags", "said"),
    [
        (b"one\n\xff\n", (), "t.txt:2: byte 0xff"),
        (b"one\n", ("--workers", "99999"), "the cluster has room for"),
        (b"one\n", ("--max-length", "1000"), "max_length is 1000"),
    ],
)
def test_what_a_process_refuses_is_one_line_here(
    content, flags, said, cluster, tmp_path, tiny_checkpoint, capsys
):
    (tmp_path / "t.txt").write_bytes(content)
    words = [tmp_path / "t.txt", "--backbone", tiny_checkpoint, "--ray", "--workers", "1"]
    assert command(tmp_path / "o", *words, *flags) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and said in errors[0]


@pytest.mark.parametrize(
    ("flags", "cluster", "workers", "resources"),
    [
        ({}, {"CPU": 4.0}, 4, {"num_cpus": 1}),
        ({"threads": 3, "workers": 2}, {"CPU": 7.0}, 2, {"num_cpus": 3}),
        ({}, {"CPU": 4.0, "GPU": 2.0}, 2, {"num_cpus": 1, "num_gpus": 1}),
        ({"threads": 4}, {"CPU": 4.0, "GPU": 2.0}, 1, {"num_cpus": 4, "num_gpus": 1}),
        ({"device": "cpu"}, {"CPU": 4.0, "GPU": 2.0}, 4, {"num_cpus": 1}),
        ({"device": "cuda"}, {"CPU": 4.0}, None, "room for 0 worker"),
        ({"threads": 3, "workers": 3}, {"CPU": 8.0}, None, "room for 2 worker.* of 3 thread"),
        ({}, {}, None, "room for 0 worker"),
    ],
)
def test_workers_share_the_cluster_out(flags, cluster, workers, resources):
    options = EncodeOptions(files=(), out=Path("o"), **flags)
    if workers:
        assert shards._share_out(options, cluster) == (workers, resources)
    else:
        with pytest.raises(MachineError, match=resources):
            shards._share_out(options, cluster)
