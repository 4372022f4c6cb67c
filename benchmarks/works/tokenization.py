"""Texts to token ids: sentences per second, and a stream of a million lines in constant memory."""

from collections.abc import Iterator
from itertools import cycle, islice

import numpy as np

from benchmarks.material import Bench, minilm
from benchmarks.measure import Side, Work, expect
from minbert.tokenizer import BertTokenizer

LINES = 1_000_000


def works(bench: Bench) -> Iterator[Work]:
    """Yield the comparison and the stream."""
    from transformers import AutoTokenizer

    ours, peer = (
        BertTokenizer.from_pretrained(minilm(bench)),
        AutoTokenizer.from_pretrained(minilm(bench)),
    )
    texts = list(bench.texts) * 4
    expect(
        np.concatenate(peer(texts)["input_ids"]).tolist() == ours(texts).ids.tolist(), "token ids"
    )
    sides = [
        Side("minbert", lambda r: ours(texts)),
        Side("transformers, fast tokenizer", lambda r: peer(texts)),
    ]
    yield Work("tokenization", "sentences", [len(texts)] * bench.rounds, sides)
    stream = Side("minbert", lambda r: ours(islice(cycle(bench.texts), LINES), max_length=32))
    yield Work("tokenization of a stream of a million lines", "sentences", [LINES], [stream])
