"""Where the time of encoding and of scoring pairs goes, on one thread, by PyTorch's profiler.

It counts each operation of PyTorch without those that it calls, and slows short ones down a little.
What it does not see, Python and NumPy, is the rest.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any
from unittest.mock import patch

import torch
from torch.autograd.profiler_legacy import profile  # the newer one prints lines of its own

from benchmarks.encoding import score, tokenize
from benchmarks.engine import Figure, once
from benchmarks.inputs import Bench, bert_base, minilm
from minbert.encoder import SentenceEncoder
from minbert.fast.linear import Intermediate
from minbert.hub import MINI

# Words in the names of a part's operations; the first part that has one counts.
PARTS = {
    "linear products": ("linear", "addmm", "aten::mm"),
    "attention": ("bmm", "softmax", "attention", "aten::mul_"),
    "normalisation, residuals": ("layer_norm", "aten::add_"),
    "packing, copies, other operations": ("::",),
}
COUNT = 600  # a fifth of them is read
PRODUCTS = next(iter(PARTS))
GELU, TOKENS, REST = "GELU, inside a product", "tokenization", "rest: Python, NumPy"


def shares(bench: Bench) -> Iterator[list[Figure]]:
    """Yield the parts of each: bert-base's shape, MiniLM, mini, and a cross-encoder of MiniLM."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so that no batch is computed by a thread that is not profiled
    texts = bench.parts_in_turn(bench.texts[:COUNT])[0]
    pairs = list(zip(texts, reversed(texts), strict=True))
    try:
        named = {"bert-base shape": bert_base(bench), "MiniLM": minilm(bench), "mini": MINI}
        for name, folder in named.items():
            encoder = SentenceEncoder.from_pretrained(str(folder), device="cpu")
            run, split = partial(encoder.encode, texts), partial(encoder.tokenize, texts)
            yield _parts(f"encode, {name}", "sentences", len(texts), run, split, bench.rounds)
        encoder = SentenceEncoder.from_pretrained(str(minilm(bench)), "cls", "cpu").freeze()
        classifier = torch.nn.Linear(encoder.model.config.hidden_size, 1)
        run, split = partial(score, encoder, pairs, classifier), partial(tokenize, encoder, pairs)
        title = "cross-encoder scoring, MiniLM"
        yield _parts(title, "pairs", len(pairs), run, split, bench.rounds)
    finally:
        torch.set_num_threads(threads)


def _parts(
    title: str,
    unit: str,
    amount: int,
    run: Callable[[], Any],
    split: Callable[[], Any],
    rounds: int,
) -> list[Figure]:
    """Return a figure per part; its share stands where another figure's quality does."""
    run()  # the first one reorders weights
    taken: list[dict[str, float]] = []
    for _ in range(rounds):
        parts = profiled(run)
        with without_gelu():
            parts[GELU] = max(0.0, parts[PRODUCTS] - profiled(run)[PRODUCTS])
        parts[PRODUCTS] -= parts[GELU]
        started = time.perf_counter()
        split()
        parts[TOKENS] = time.perf_counter() - started
        parts[REST] = max(0.0, parts[REST] - parts[TOKENS])
        taken.append(parts)
    order = sorted(taken[0], key=[PRODUCTS, GELU, *PARTS, TOKENS, REST].index)
    seconds = {part: median(parts[part] for parts in taken) for part in order}
    whole = sum(seconds.values())
    notes = {part: f"{s / whole:.1%} of the time" for part, s in seconds.items()}
    return once(f"{title}, one thread: where the time goes", unit, amount, seconds, notes, rounds)


def profiled(run: Callable[[], Any]) -> dict[str, float]:
    """Return the seconds of each part of a call, and of the rest."""
    with profile() as profiler:
        started = time.perf_counter()
        run()
        whole = time.perf_counter() - started
    parts = dict.fromkeys(PARTS, 0.0)
    for event in profiler.key_averages():
        known = [part for part, words in PARTS.items() if any(w in event.key for w in words)]
        if known:
            parts[known[0]] += event.self_cpu_time_total / 1e6
    return {**parts, REST: max(0.0, whole - sum(parts.values()))}


@contextmanager
def without_gelu() -> Iterator[None]:
    """Leave the GELU out of the product that it is fused into."""

    def forward(self: Intermediate, hidden_states: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.dense(hidden_states)
        return states

    with patch.object(Intermediate, "forward", forward):
        yield
