"""How long a user waits for the first word: fresh interpreters, imports and --help."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.material import Bench
from benchmarks.measure import Side, Work

ROOT = Path(__file__).parents[2]


def works(bench: Bench) -> Iterator[Work]:
    """Yield --help, and imports beside the peers'."""
    rounds = [1] * bench.rounds
    yield Work(
        "run_multitask.py --help", "runs", rounds, [_side("minbert", "run_multitask.py", "--help")]
    )
    sides = [
        _side("minbert", "-c", "from minbert import SentenceEncoder"),
        _side(
            "sentence-transformers", "-c", "from sentence_transformers import SentenceTransformer"
        ),
        _side("transformers", "-c", "from transformers import BertModel"),
    ]
    yield Work("import of the encoder", "runs", rounds, sides)


def _side(name: str, *argv: str) -> Side:
    def run(number: int) -> None:
        subprocess.run([sys.executable, *argv], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)

    return Side(name, run)
