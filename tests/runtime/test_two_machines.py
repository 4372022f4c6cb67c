"""Two machines, as two launchers that share nothing but the network and a folder."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLED = Path(__file__).with_name("killed_rank.py")
# What a process may take to notice that another one is gone.
NOTICED = 60  # seconds


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def launchers(nodes: int, *words) -> list[subprocess.Popen]:
    """Start two processes on one machine or on two; return their launchers."""
    port, started = free_port(), []
    for node in range(nodes):
        line = [sys.executable, "-m", "torch.distributed.run", "--nnodes", nodes]
        line += ["--node_rank", node, "--nproc_per_node", 2 // nodes]
        line += ["--master_addr", "127.0.0.1", "--master_port", port, *words]
        started.append(
            subprocess.Popen(
                list(map(str, line)),
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return started


def numbers(folder: Path) -> tuple[list, dict[str, bytes]]:
    """Return the scores of a run, and the weights of the encoders it has tuned."""
    cells = json.loads((folder / "run" / "results.json").read_text())
    tuned = folder.glob("backbones/*/model.safetensors")
    return [cell["metrics"] for cell in cells], {p.parent.name: p.read_bytes() for p in tuned}


@pytest.fixture
def words(tiny_checkpoint, toy_data):
    """The words of a run of six steps, with a state saved after every second one."""
    given = ["--backbone", str(tiny_checkpoint), "--data", str(toy_data), "--device", "cpu"]
    given += "--precision float32 --pretrain unsup --task sts --encoder bi".split()
    return [*given, *"--simcse-epochs 3 --eval-steps 2 --head-epochs 2 --cost-seconds 0".split()]


def test_two_machines_stop_and_resume_to_the_numbers_of_one(words, tmp_path):
    (one,) = launchers(1, "run_multitask.py", *words, "--run-dir", tmp_path / "one" / "run")
    said, failed = one.communicate(timeout=600)
    assert one.returncode == 0, failed
    assert "2 processes" in said
    scores, weights = numbers(tmp_path / "one")
    assert len(scores) == 1 and len(weights) == 1

    again = [*words, "--run-dir", tmp_path / "two" / "run"]
    first, second = launchers(2, KILLED, 1, 2, *again)
    second.communicate(timeout=600)  # its only process was killed
    said, failed = first.communicate(timeout=NOTICED)
    assert first.returncode and second.returncode
    lines = [line for line in failed.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "another process of this run has ended; start all of them again" in lines[0]
    assert "Traceback" not in failed.split("torch/distributed")[0]
    assert len(list(tmp_path.glob("two/backbones/*.state.pt"))) == 1

    both = launchers(2, "run_multitask.py", *again, "--resume")
    for launcher in both:
        _, failed = launcher.communicate(timeout=600)
        assert launcher.returncode == 0, failed
    assert numbers(tmp_path / "two") == (scores, weights)
