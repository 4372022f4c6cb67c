"""How encoding grows: with the number of sentences, with their length, with threads; mini."""

import random
from collections.abc import Iterator

import torch

from benchmarks.material import Bench, made_sentences
from benchmarks.measure import Side, Work, expect
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops

COUNTS = (1_000, 10_000, 100_000)
LENGTHS = (8, 32, 64, 128)
TOKENS = 32_768  # of every length


def works(bench: Bench) -> Iterator[Work]:
    """Yield one work per point of the three curves.

    A million sentences are ten times a hundred thousand: the rate from 10,000 on says whether.
    """
    encoder = SentenceEncoder.from_pretrained("mini", device=str(bench.device))
    texts = made_sentences(max(COUNTS), random.Random(1))
    for count in COUNTS:
        rounds = bench.rounds if count < 100_000 else 1
        yield _work(f"encode {count:,} sentences, mini", encoder, texts[:count], rounds)
    words = dict.fromkeys(" ".join(texts[:20_000]).split())
    known = [word for word in words if len(encoder.tokenizer([word])[0]) == 3]
    for length in LENGTHS:
        draw = random.Random(length)  # words of one piece each, and the two special tokens
        lines = [" ".join(draw.choices(known, k=length - 2)) for _ in range(TOKENS // length)]
        expect(set(encoder.tokenize(lines).lengths) == {length}, f"lines of {length} tokens")
        yield _work(f"encode, {length} tokens each, mini", encoder, lines, bench.rounds)
    threads = torch.get_num_threads()
    for number in (1, 2):
        torch.set_num_threads(number)
        yield _work(f"encode, {number} threads, mini", encoder, texts[:2_000], bench.rounds)
    torch.set_num_threads(threads)


def _work(title: str, encoder: SentenceEncoder, texts: list[str], rounds: int) -> Work:
    side = Side("minbert", lambda r: encoder.encode(texts), encoder.dtype)
    lengths = encoder.tokenize(list(dict.fromkeys(texts))).lengths
    flops = encoder_flops(lengths, encoder.model.config)
    return Work(title, "sentences", [len(texts)] * rounds, [side], [flops] * rounds)
