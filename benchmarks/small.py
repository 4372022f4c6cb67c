"""Texts to token ids, and how long a user waits for the first word."""

import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from benchmarks.engine import Side, Work, expect
from benchmarks.inputs import Bench, minilm
from minbert.tokenizer import BertTokenizer

LINES = 1_000_000
ROOT = Path(__file__).parents[1]


def tokenization(bench: Bench) -> Iterator[Work]:
    """Yield sentences per second beside transformers, and a stream in constant memory."""
    from transformers import AutoTokenizer

    ours = BertTokenizer.from_pretrained(minilm(bench))
    peer = AutoTokenizer.from_pretrained(minilm(bench))
    texts = list(bench.texts) * 4
    same = np.concatenate(peer(texts)["input_ids"]).tolist() == ours(texts).ids.tolist()
    expect(same, "token ids")
    sides = [
        Side("minbert", lambda r: ours(texts)),
        Side("transformers, fast tokenizer", lambda r: peer(texts)),
    ]
    yield Work("tokenization", "sentences", [len(texts)] * bench.rounds, sides)
    stream = Side("minbert", lambda r: ours(islice(cycle(bench.texts), LINES), max_length=32))
    yield Work("tokenization of a stream of a million lines", "sentences", [LINES], [stream])


def startup(bench: Bench) -> Iterator[Work]:
    """Yield --help, and imports beside the peers', in fresh interpreters."""
    rounds = [1] * bench.rounds
    help_side = _program("minbert", "run_multitask.py", "--help")
    yield Work("run_multitask.py --help", "runs", rounds, [help_side])
    sides, skipped = [], []
    for name, statement in {
        "minbert": "from minbert import SentenceEncoder",
        "sentence-transformers": "from sentence_transformers import SentenceTransformer",
        "transformers": "from transformers import BertModel",
    }.items():
        side = _program(name, "-c", statement)
        try:
            side.run(0)
            sides.append(side)
        except subprocess.CalledProcessError:  # such as a torchvision built for another torch
            skipped.append(f"{name}: cannot be imported by itself")
    yield Work("import of the encoder", "runs", rounds, sides, skipped=skipped)


def _program(name: str, *argv: str) -> Side:
    command = [sys.executable, *argv]
    return Side(name, lambda r: subprocess.run(command, cwd=ROOT, check=True, capture_output=True))
