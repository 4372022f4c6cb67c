"""A stage of SimCSE and encoding beside busy loops, and on the quiet machine: minbert and a peer.

Each side has a process of its own, because how long idle threads spin is read when PyTorch loads:
ours has what our commands set, the peer what a user's program has. With N loops and T threads on C
cores, a fair share takes (N + T) / C times as long.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Any

import torch

from benchmarks import peers
from benchmarks.engine import Figure, once
from benchmarks.inputs import Bench
from benchmarks.training import (
    LEARNING_RATE,
    MAX_LENGTH,
    contrastive_loss,
    our_trainer,
    training_step,
)
from minbert.encoder import SentenceEncoder
from minbert.hub import MINI
from runtime.commands import SPINS

LOOPS = 6
BATCH = 64  # sentences of a step, and of one call that encodes
STEPS, CALLS = 30, 20
LIMIT = 6.0  # seconds of a work; with more to do, what is left is reckoned from what was done
# A loop that ends with the program that started it, however that ends.
LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(100_000))"

Pieces = list[Callable[[], Any]]  # a step, and a call that encodes


def busy(bench: Bench) -> Iterator[list[Figure]]:
    """Yield the stage's figures and encoding's: both sides, quiet and beside the loops."""
    fair = (LOOPS + torch.get_num_threads()) / (os.cpu_count() or 1)
    stage, encode = f"{STEPS} unsup steps, mini", f"encode {CALLS * BATCH:,} sentences, mini"
    works = {stage: (STEPS, "steps"), encode: (CALLS, "calls")}
    seconds: dict[str, dict[str, float]] = {work: {} for work in works}
    notes: dict[str, dict[str, str]] = {work: {} for work in works}
    for side, pieces, spins in (("minbert", ours, SPINS), ("transformers", theirs, None)):
        with side_process(pieces, bench, spins) as timed:
            for piece, (work, (count, _)) in enumerate(works.items()):
                quiet = seconds[work][side] = timed(piece, count)
                with busy_loops(LOOPS):
                    taken = seconds[work][f"{side}, busy"] = timed(piece, count)
                notes[work][f"{side}, busy"] = f"{taken / (quiet * fair):.2f} x the fair share"
    for work, (count, unit) in works.items():
        title = f"{work}: quiet, and beside {LOOPS} busy loops"
        yield once(title, unit, count, seconds[work], notes[work], 1)


@contextmanager
def busy_loops(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep `count` processes busy for the block."""
    started = [subprocess.Popen([sys.executable, "-S", "-c", LOOP]) for _ in range(count)]
    try:
        time.sleep(1)  # until all run
        yield started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


@contextmanager
def side_process(
    pieces: Callable[[Bench], Pieces], bench: Bench, spins: str | None
) -> Iterator[Callable[[int, int], float]]:
    """Start a side's process; yield what times `count` calls of one of its pieces there."""
    name = "GOMP_SPINCOUNT"
    before = os.environ.pop(name, None)
    # What the user has set holds for both.
    chosen = before if before != SPINS else spins
    if chosen is not None:
        os.environ[name] = chosen
    begun = pieces, bench, torch.get_num_threads()
    try:
        with ProcessPoolExecutor(1, get_context("spawn"), _begin, begun) as pool:
            yield lambda piece, count: pool.submit(_timed, piece, count, LIMIT).result()
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


_pieces: Pieces = []  # of this process, where it is a side's


def _begin(pieces: Callable[[Bench], Pieces], bench: Bench, threads: int) -> None:
    torch.set_num_threads(threads)
    _pieces.extend(pieces(bench))
    for piece in _pieces:
        piece()  # warm


def _timed(piece: int, count: int, limit: float) -> float:
    """Return the seconds of `count` calls; after `limit` seconds what is left is reckoned."""
    taken, done, started = 0.0, 0, time.perf_counter()
    while done < count and taken < limit:
        _pieces[piece]()
        taken, done = time.perf_counter() - started, done + 1
    return taken * count / done


def ours(bench: Bench) -> Pieces:
    """Return a step of our trainer, and a call that encodes a batch."""
    texts = list(bench.texts[:BATCH])
    encoder = SentenceEncoder.from_pretrained("mini", device="cpu")
    return [our_trainer(MINI, [texts], BATCH, bench)._train_step, partial(encoder.encode, texts)]


def theirs(bench: Bench) -> Pieces:
    """Return a step of a plain loop of transformers, and sentence-transformers' encoding."""
    from transformers import AutoModel, AutoTokenizer

    peers.prepare()
    texts = list(bench.texts[:BATCH])
    model = AutoModel.from_pretrained(str(MINI), dtype=torch.float32)
    views = [
        peers.padded(AutoTokenizer.from_pretrained(str(MINI)), texts, MAX_LENGTH, bench.device)
    ] * 2
    loss = partial(contrastive_loss, model, temperature=0.05)
    step = training_step(model, loss, LEARNING_RATE, bench.dtype)
    encoder = peers.sentence_transformer(MINI, bench.device, bench.dtype)
    return [partial(step, views), partial(encoder.encode, texts)]
