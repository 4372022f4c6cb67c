"""A process that is forked while another thread encodes can encode, too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 120  # a child that waits for a lock, or for threads that it has not, waits for good

# Forks after encoding, and while a thread encodes; the child gives equal embeddings.
PROGRAM = """
import os, sys, threading, time
import numpy as np, torch
from minbert.encoder import SentenceEncoder

torch.set_num_threads(2)
encoder = SentenceEncoder.from_pretrained(sys.argv[1], device="cpu", precision="float32")
texts = [f"the old cat sees a {'red ' * (i % 9)}boat" for i in range(400)]
expected = encoder.encode(texts)
torch.nn.functional.gelu(torch.randn(2000, 2000))  # OpenMP's threads are there
begun, step = threading.Event(), encoder.embed
def slow(batch):
    begun.set()
    time.sleep(0.3)
    return step(batch)
encoder.embed = slow
threading.Thread(target=encoder.encode, args=(texts,)).start()
begun.wait()
child = os.fork()
if child == 0:
    torch.nn.functional.gelu(torch.randn(2000, 2000))
    difference = np.abs(encoder.encode(texts) - expected).max()
    os._exit(0 if difference < 1e-5 else 3)
_, status = os.waitpid(child, 0)
assert np.allclose(encoder.encode(texts), expected, atol=1e-5)  # the parent goes on
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_encodes(tiny_checkpoint):
    """The thread that encodes holds what the child would wait for."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tiny_checkpoint)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
