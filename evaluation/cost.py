"""What a bi-encoder and a cross-encoder cost: a pair, a search, and where one becomes the cheaper.

A bi-encoder reads every text once and then compares vectors, by a head or by the bare cosine. A
cross-encoder reads every pair. Both are functions here; nothing in this file knows an encoder.
Legend: N texts or pairs, H the size of an embedding. Reads: timing, closest. Feeds: report.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluation.closest import BLOCK, closest_pair, nearest
from evaluation.timing import Duration, Timing, measure_growing, seconds_alone

SIZES = (1_000, 10_000, 100_000)
STORY = 10_000  # sentences: Reimers & Gurevych 2019, section 1
MIB = 2**20
SAMPLE = 512  # distinct texts whose vectors are compared; the values do not matter to the speed
HEAD_BLOCK = 4096  # pairs that a head compares at a time
# Durations below so many seconds are told in a unit of so many.
UNITS = ((1e-3, 1e-6, "µs"), (1, 1e-3, "ms"), (120, 1, "s"), (7200, 60, "min"))

Texts = tuple[str, ...]


@dataclass(frozen=True)
class Reader:
    """A head on its encoder as functions; the last two only of a bi-encoder that reads pairs.

    Attributes:
        name: `bi` or `cross`.
        passes: of the encoder, per example.
        tokens: per example, on average.
        flops: per example, encoder and head.
        score: N examples, as their texts, -> logits.
        encode: N texts -> (N, H) float32.
        compare: two (N, H) -> logits (N,).
    """

    name: str
    passes: int
    tokens: float
    flops: float
    score: Callable[[Sequence[Texts]], np.ndarray]
    encode: Callable[[Sequence[str]], np.ndarray] | None = None
    compare: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None


@dataclass(frozen=True)
class Search:
    """One search among n texts; every duration says whether it was measured or projected.

    Attributes:
        work: "query", one text against n; or "pair", the most similar two of n.
        by: "cosine" or "head" of a bi-encoder, or "cross".
        n: texts.
        passes: of the encoder, one per text or pair that it reads.
        once: encoding the n texts, which further searches reuse; None for a cross-encoder.
        then: the search itself, a query's own encoding included.
        memory_mib: of the vectors and scores that are held at once.
    """

    work: str
    by: str
    n: int
    passes: int
    once: Duration | None
    then: Duration
    memory_mib: float

    @property
    def total(self) -> Duration:
        """Return the duration of the first search, measured only if all of it was."""
        return self.then if self.once is None else self.once + self.then


@dataclass(frozen=True)
class Cost:
    """What one head on one encoder costs on this machine, from raw text to prediction.

    Attributes:
        encoder, passes, tokens, flops: as in Reader.
        milliseconds: of one example alone, the median of a few.
        examples_per_second: in batches.
        texts_per_second: that a bi-encoder encodes, None for others.
        comparisons_per_second: of a bi-encoder's head, on vectors; None for others.
        searches: none where an example is one text.
    """

    encoder: str
    passes: int
    tokens: float
    flops: float
    milliseconds: float
    examples_per_second: float
    texts_per_second: float | None
    comparisons_per_second: float | None
    searches: tuple[Search, ...]

    def search(self, work: str, by: str, n: int) -> Search:
        """Return one of the searches; KeyError where there is none."""
        for found in self.searches:
            if (found.work, found.by, found.n) == (work, by, n):
                return found
        raise KeyError((work, by, n))

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        return asdict(self)


def measure_cost(
    reader: Reader, examples: Sequence[Texts], budget: float, sizes: Sequence[int] = SIZES
) -> Cost:
    """Measure a reader for about `budget` seconds.

    Args:
        reader: what to measure.
        examples: typical ones, as their texts, which are read again and again; at least one.
        budget: seconds.
        sizes: texts to search among.
    """
    alone = seconds_alone(lambda number: reader.score([examples[number % len(examples)]]))
    of_bi = reader.encode is not None and reader.compare is not None and len(examples[0]) == 2

    def score(count: int) -> None:
        reader.score(_cycled(examples, count))

    share = 0.25 if of_bi else 1.0  # of the budget
    scored = measure_growing(score, _amounts(sizes), share * budget)
    searches: tuple[Search, ...] = ()
    texts = comparisons = None
    if of_bi:
        searches, texts, comparisons = _bi_searches(reader, examples, 0.75 * budget, sizes)
    elif len(examples[0]) == 2:
        searches = tuple(_cross_searches(scored, sizes))
    return Cost(
        *(reader.name, reader.passes, reader.tokens, reader.flops, 1000 * alone, scored.rate),
        texts_per_second=texts,
        comparisons_per_second=comparisons,
        searches=searches,
    )


def break_even(bi: Cost, cross: Cost) -> float | None:
    """Return in how many pairs a text must be for the bi-encoder to take less time; None if never.

    1 is a text that is in one pair only; among N texts, all with all, it is in N - 1. Encoding
    costs a text once, e seconds; a comparison costs c; the cross-encoder x per pair. With P pairs
    of N texts, each text in 2P/N of them, N e + P c < P x where 2P/N > 2e / (x - c).

    Raises:
        ValueError: `bi` was not measured as a bi-encoder of pairs.
    """
    if bi.texts_per_second is None or bi.comparisons_per_second is None:
        raise ValueError(f"{bi.encoder}: no bi-encoder that reads pairs")
    saved = 1 / cross.examples_per_second - 1 / bi.comparisons_per_second
    return 2 / bi.texts_per_second / saved if saved > 0 else None


def story(bi: Cost, cross: Cost, n: int = STORY) -> str:
    """Return the classic comparison, on this machine, in one sentence."""
    slow, quick = cross.search("pair", "cross", n), bi.search("pair", "cosine", n)
    return (
        f"The most similar two of {n:,} sentences: the cross-encoder reads {slow.passes:,} pairs "
        f"in {_sourced(slow.total)}, the bi-encoder reads {quick.passes:,} sentences and compares "
        f"them by cosine in {_sourced(quick.total)}; for BERT on a V100 Reimers & Gurevych (2019) "
        "have 65 hours and 5 seconds."
    )


def told(seconds: float) -> str:
    """Return a duration in words: `40 µs`, `3.2 ms`, `5.0 s`, `12 min`, `65 h`, `90 days`."""
    for limit, unit, name in UNITS:
        if seconds < limit:
            return f"{seconds / unit:.{1 if seconds < 10 * unit else 0}f} {name}"
    hours = seconds / 3600
    return f"{hours:.0f} h" if hours < 100 else f"{hours / 24:,.0f} days"


def _bi_searches(
    reader: Reader, examples: Sequence[Texts], budget: float, sizes: Sequence[int]
) -> tuple[tuple[Search, ...], float, float]:
    """Return the searches of a bi-encoder, texts encoded and pairs compared per second."""
    assert reader.encode is not None and reader.compare is not None
    encode, compare = reader.encode, reader.compare
    texts = [text for pair in examples for text in pair]
    encoded = measure_growing(lambda n: encode(_cycled(texts, n)), sizes, budget / 2)
    # Vectors of a sample, repeated: products of equal rows take as long as any others.
    vectors = encode(texts[:SAMPLE])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
    many = np.resize(vectors, (max(sizes), vectors.shape[1]))

    def judge(count: int) -> None:
        block = many[:HEAD_BLOCK]
        for start in range(0, count, len(block)):
            part = block[: count - start]
            compare(part, part)

    judged = measure_growing(judge, _amounts(sizes), budget / 8)
    queried = measure_growing(lambda n: nearest(many[:n], many[0]), sizes, budget / 8)
    paired = measure_growing(lambda n: closest_pair(many[:n]), sizes, budget / 4, _pairs)
    one = Duration(seconds_alone(lambda n: encode([texts[n % len(texts)]])), True)  # a query's own
    searches = []
    for n in sizes:
        once, held = encoded.of(n), vectors[0].nbytes * n
        ways = {"cosine": (queried.of(n), paired.of(n)), "head": _of_both(judged, n)}
        for by, (query, pair) in ways.items():
            memory = (held + 4 * n) / MIB, (held + 4 * n * min(n, BLOCK)) / MIB
            searches.append(Search("query", by, n, n + 1, once, one + query, memory[0]))
            searches.append(Search("pair", by, n, n, once, pair, memory[1]))
    return tuple(searches), encoded.rate, judged.rate


def _cross_searches(scored: Timing, sizes: Sequence[int]) -> Iterator[Search]:
    for n in sizes:
        query, pair = _of_both(scored, n)
        # Of a query's scores all are held, of all pairs' scores the best alone.
        yield Search("query", "cross", n, n, None, query, 4 * n / MIB)
        yield Search("pair", "cross", n, int(_pairs(n)), None, pair, 4 / MIB)


def _of_both(timing: Timing, n: int) -> tuple[Duration, Duration]:
    """Return what it takes to compare one text with n, and all n with one another."""
    return timing.of(n), timing.of(int(_pairs(n)))


def _pairs(n: int) -> float:
    """Return the number of pairs among n."""
    return n * (n - 1) / 2


def _amounts(sizes: Sequence[int]) -> list[int]:
    """Return in ascending order the pairs that queries and searches for pairs compare."""
    return sorted({*sizes, *(int(_pairs(n)) for n in sizes)})


def _cycled(items: Sequence[Any], count: int) -> list[Any]:
    """Return `count` items, from the first again after the last."""
    return [items[place % len(items)] for place in range(count)]


def _sourced(duration: Duration) -> str:
    return f"{told(duration.seconds)} ({'measured' if duration.measured else 'projected'})"
