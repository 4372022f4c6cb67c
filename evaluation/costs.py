"""What a bi-encoder and a cross-encoder cost: a pair, a search, and where one becomes the cheaper.

A bi-encoder reads every text once and then compares vectors, by a head or by the bare cosine. A
cross-encoder reads every pair. Both are functions here; nothing in this file knows an encoder.
Work of growing sizes is timed until a budget of seconds ends, and larger work is projected from
there. `costs.json` of a run folder holds the numbers, and `cost_lines` puts them into words.

Legend: N texts or pairs, H the size of an embedding.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from evaluation.table import markdown
from heads.config import READERS

FIRST = 16  # the smallest size that is measured
FACTOR = 4  # from one size to the next: all the smaller ones together cost a third of the largest
ALONE = 9  # pieces of work that are timed one by one
SIZES = (1_000, 10_000, 100_000)  # texts to search among
STORY = 10_000  # sentences: Reimers & Gurevych 2019, section 1
SAMPLE = 512  # distinct texts whose vectors are compared; the values do not matter to the speed
HEAD_BLOCK = 4096  # pairs that a head compares at a time
BLOCK = 1024  # rows of the (N, N) cosines at a time
MIB = 2**20
# Durations below so many seconds are written in a unit of so many.
UNITS = ((1e-3, 1e-6, "µs"), (1, 1e-3, "ms"), (120, 1, "s"), (7200, 60, "min"))

Texts = tuple[str, ...]


# Timing: measured up to where the budget ends, projected from there.


@dataclass(frozen=True)
class Duration:
    """Seconds that work of one size takes, and whether they were measured or projected."""

    seconds: float
    measured: bool

    def __add__(self, other: "Duration") -> "Duration":
        """Return the duration of one after the other, measured only if both were."""
        return Duration(self.seconds + other.seconds, self.measured and other.measured)


@dataclass(frozen=True)
class Timing:
    """What work of some sizes took, and therefore what it would take at others.

    Attributes:
        seconds: of every size that was measured.
        growth: work of a size, in any unit; projections are in proportion to it.
    """

    seconds: dict[int, float]
    growth: Callable[[int], float]

    def of(self, size: int) -> Duration:
        """Return the duration of a size: measured, or projected from the largest measured one."""
        if size in self.seconds:
            return Duration(self.seconds[size], True)
        return Duration(self.growth(size) / self.rate, False)

    @property
    def rate(self) -> float:
        """Return units of work per second, by the largest measured size."""
        largest = max(self.seconds)
        return self.growth(largest) / self.seconds[largest]


def measure_growing(
    run: Callable[[int], object],
    sizes: Sequence[int],
    budget: float,
    growth: Callable[[int], float] = float,
) -> Timing:
    """Time `run` at growing sizes until the next one would take longer than is left.

    Args:
        run: does work of a size; called once before anything is timed.
        sizes: to measure if the budget allows; smaller ones are measured on the way.
        budget: seconds; the smallest size is measured even if it takes longer.
        growth: see Timing.
    """
    started = time.perf_counter()
    steps = {FIRST}
    while FACTOR * max(steps) < max(sizes):
        steps.add(FACTOR * max(steps))
    run(FIRST)
    timing = Timing({}, growth)
    for size in sorted(steps | set(sizes)):
        left = budget - (time.perf_counter() - started)
        if timing.seconds and timing.of(size).seconds > left:
            break
        begun = time.perf_counter()
        run(size)
        # A clock may stand still during the smallest work.
        timing.seconds[size] = max(time.perf_counter() - begun, 1e-9)
    return timing


def seconds_alone(run: Callable[[int], object]) -> float:
    """Return the median seconds of `run(1)`, `run(2)`, ... after `run(0)`, a few pieces of work."""
    run(0)
    taken = []
    for number in range(1, ALONE + 1):
        begun = time.perf_counter()
        run(number)
        taken.append(time.perf_counter() - begun)
    return median(taken)


# The searches that a bi-encoder's vectors serve, exactly, by matrix products.


def nearest(embeddings: np.ndarray, query: np.ndarray) -> int:
    """Return the row of `embeddings` (N, H) with the largest cosine with `query` (H,)."""
    return int((embeddings @ query).argmax())


def closest_pair(embeddings: np.ndarray) -> tuple[int, int]:
    """Return the two rows, i < j, of `embeddings` (N, H), N at least 2, with the largest cosine.

    Half of the (N, N) cosines are computed, a block of rows at a time.
    """
    _, i, j = max(_closest_from(embeddings, start) for start in range(0, len(embeddings), BLOCK))
    return i, j


def _closest_from(embeddings: np.ndarray, start: int) -> tuple[float, int, int]:
    """Return the largest cosine of a row of the block at `start` with a later row, and both."""
    # Rows of this block with those from its first one on: earlier pairs are done.
    cosines = embeddings[start : start + BLOCK] @ embeddings[start:].T
    # A row with itself, and with the earlier ones of its block, is no pair of its own.
    cosines[:, : len(cosines)][np.tri(len(cosines), dtype=bool)] = -np.inf
    row, column = divmod(int(cosines.argmax()), cosines.shape[1])
    return float(cosines[row, column]), start + row, start + column


# Costs of one head on one encoder.


@dataclass(frozen=True)
class Reader:
    """A head on its encoder as functions; the last two only where each text is encoded alone.

    Attributes:
        name: `bi`, `late` or `cross`.
        passes: of the encoder, per example.
        tokens: per example, on average.
        flops: per example, encoder and head.
        score: N examples, as their texts, -> logits.
        encode: N texts -> what is kept of them: (N, H) float32, or of each its tokens' (T, H).
        compare: what is kept of the first texts of N pairs, and of the second -> logits (N,).
    """

    name: str
    passes: int
    tokens: float
    flops: float
    score: Callable[[Sequence[Texts]], np.ndarray]
    encode: Callable[[Sequence[str]], Any] | None = None
    compare: Callable[[Any, Any], np.ndarray] | None = None


@dataclass(frozen=True)
class Search:
    """One search among n texts; every duration says whether it was measured or projected.

    Attributes:
        work: "query", one text against n; or "pair", the most similar two of n.
        by: "cosine" or "head" of a bi-encoder, "late" or "cross".
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
        texts_per_second: that are encoded alone; None for a cross-encoder.
        comparisons_per_second: of what is kept of such texts, by the head; None likewise.
        searches: none where an example is one text.
        bytes_per_text: that are kept of it; None likewise.
    """

    encoder: str
    passes: int
    tokens: float
    flops: float
    milliseconds: float
    examples_per_second: float
    texts_per_second: float | None = None
    comparisons_per_second: float | None = None
    searches: tuple[Search, ...] = ()
    bytes_per_text: float | None = None

    def search(self, work: str, by: str, n: int) -> Search:
        """Return one of the searches; KeyError where there is none."""
        for search in self.searches:
            if (search.work, search.by, search.n) == (work, by, n):
                return search
        raise KeyError((work, by, n))


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
    is_pair = len(examples[0]) == 2
    alone_too = is_pair and reader.encode is not None
    # The pairs that queries and searches for pairs compare.
    amounts = sorted({*sizes, *map(_pairs, sizes)})
    share = 0.25 if alone_too else 1.0  # of the budget
    scored = measure_growing(lambda n: reader.score(_cycled(examples, n)), amounts, share * budget)
    about = reader.name, reader.passes, reader.tokens, reader.flops, 1000 * alone, scored.rate
    if alone_too:
        return Cost(*about, *_searches(reader, examples, 0.75 * budget, sizes, amounts))
    searches = []
    for n in sizes if is_pair else ():
        # Of a query's scores all are held, of all pairs' scores the best alone.
        searches.append(Search("query", "cross", n, n, None, scored.of(n), 4 * n / MIB))
        pairs = _pairs(n)
        searches.append(Search("pair", "cross", n, pairs, None, scored.of(pairs), 4 / MIB))
    return Cost(*about, searches=tuple(searches))


def _searches(
    reader: Reader,
    examples: Sequence[Texts],
    budget: float,
    sizes: Sequence[int],
    amounts: Sequence[int],
) -> tuple[float, float, tuple[Search, ...], float]:
    """Return texts encoded and pairs compared per second, the searches, and bytes per text."""
    assert reader.encode is not None and reader.compare is not None
    encode, compare = reader.encode, reader.compare
    texts = [text for pair in examples for text in pair]
    encoded = measure_growing(lambda n: encode(_cycled(texts, n)), sizes, budget / 2)
    # A sample, repeated: products of equal rows take as long as any others.
    kept = encode(texts[:SAMPLE])
    each = sum(text.nbytes for text in kept) / len(kept)
    block: Any = _cycled(kept, min(HEAD_BLOCK, max(sizes)))
    if isinstance(kept, np.ndarray):
        block = np.stack(block)

    def judge(count: int) -> None:
        for start in range(0, count, len(block)):
            part = block[: count - start]
            compare(part, part)

    judged = measure_growing(judge, amounts, budget / 8)
    # Of a query, and of all pairs, by size.
    ways = {"late": (judged.of, lambda n: judged.of(_pairs(n)))}
    if isinstance(kept, np.ndarray):
        kept /= np.linalg.norm(kept, axis=1, keepdims=True).clip(1e-12)
        many = np.resize(kept, (max(sizes), kept.shape[1]))
        queried = measure_growing(lambda n: nearest(many[:n], many[0]), sizes, budget / 8)
        paired = measure_growing(lambda n: closest_pair(many[:n]), sizes, budget / 4, _pairs)
        ways = {"cosine": (queried.of, paired.of), "head": ways["late"]}
    own = Duration(seconds_alone(lambda n: encode([texts[n % len(texts)]])), True)  # a query's
    searches = []
    for n in sizes:
        once, held = encoded.of(n), each * n
        for by, (query, pair) in ways.items():
            one, all_of_block = (held + 4 * n) / MIB, (held + 4 * n * min(n, BLOCK)) / MIB
            searches.append(Search("query", by, n, n + 1, once, own + query(n), one))
            searches.append(Search("pair", by, n, n, once, pair(n), all_of_block))
    return encoded.rate, judged.rate, tuple(searches), each


def _pairs(n: int) -> int:
    """Return the number of pairs among n."""
    return n * (n - 1) // 2


def _cycled(items: Sequence[Any], count: int) -> list[Any]:
    """Return `count` items, from the first again after the last."""
    return [items[place % len(items)] for place in range(count)]


# What the costs of both come to.


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


def story(bi: Cost, cross: Cost) -> str:
    """Return the classic comparison, on this machine, in one sentence."""
    slow, quick = cross.search("pair", "cross", STORY), bi.search("pair", "cosine", STORY)
    took = [
        f"{in_words(total.seconds)} ({'measured' if total.measured else 'projected'})"
        for total in (slow.total, quick.total)
    ]
    return (
        f"The most similar two of {STORY:,} sentences: the cross-encoder reads {slow.passes:,} "
        f"pairs in {took[0]}, the bi-encoder reads {quick.passes:,} sentences and compares "
        f"them by cosine in {took[1]}; for BERT on a V100 Reimers & Gurevych (2019) "
        "report 65 hours and 5 seconds."
    )


def in_words(seconds: float) -> str:
    """Return a duration in words: `40 µs`, `3.2 ms`, `5.0 s`, `12 min`, `65 h`, `90 days`."""
    for limit, unit, name in UNITS:
        if seconds < limit:
            return f"{seconds / unit:.{1 if seconds < 10 * unit else 0}f} {name}"
    hours = seconds / 3600
    return f"{hours:.0f} h" if hours < 100 else f"{hours / 24:,.0f} days"


# costs.json in words.


def cost_lines(costs: dict[str, Any]) -> list[str]:
    """Return the tables and sentences about the costs of a run, the content of its costs.json."""
    header = "cell,passes,tokens,MFLOP,ms for one,per second,texts/s,compared/s,bytes/text"
    rows = []
    for cell in costs["cells"]:
        cost = cell["cost"]
        rates = ("examples_per_second", "texts_per_second", "comparisons_per_second")
        numbers = [str(cost["passes"]), f"{cost['tokens']:.1f}", f"{cost['flops'] / 1e6:,.1f}"]
        numbers.append(f"{cost['milliseconds']:.1f}")
        more = [*(cost[name] for name in rates), cost.get("bytes_per_text")]  # since 0.15.0
        numbers += ["-" if number is None else f"{number:,.0f}" for number in more]
        rows.append([cell["cell"], *numbers])
    lines = [f"machine   {measured_on(costs)}\n", markdown(header.split(","), rows)]
    for task, pairs in costs["break_even"].items():
        lines += ["", f"{task}: {_cheaper(pairs)}", "", _search_table(costs, task)]
    if costs["story"]:
        lines += ["", costs["story"]]
    return lines


def cost_sentences(costs: dict[str, Any]) -> list[str]:
    """Return what each encoder costs, a sentence for each task that has the most of them.

    Raises:
        KeyError: it is not a run's costs.
    """
    tasks: dict[str, list[dict[str, Any]]] = {}
    for cell in costs["cells"]:
        tasks.setdefault(cell["task"], []).append(cell["cost"])
    most = max(map(len, tasks.values()), default=0)
    sentences = []
    for task, own in tasks.items():
        if len(own) < most:
            continue
        names = " and ".join(f"the {READERS[cost['encoder']]}" for cost in own)
        alone = " and ".join(in_words(cost["milliseconds"] / 1000) for cost in own)
        batched = " and ".join(f"{cost['examples_per_second']:,.0f}" for cost in own)
        words = [f"one alone takes {names} {alone}", f"in batches {batched} are read in a second"]
        if task in costs["break_even"]:
            searches = [marked(one["then"]) for cost in own if (one := query_search(cost))]
            words.append(
                f"a search among {STORY:,} texts, whose embeddings the bi-encoder has, takes "
                f"{' and '.join(searches)}"
            )
            words.append(_cheaper(costs["break_even"][task]))
        sentences.append(f"Costs of {task}: {'; '.join(words)}.")
    return sentences


def query_search(cost: dict[str, Any]) -> dict[str, Any] | None:
    """Return the search for one text among STORY, by what predicts and not by the bare cosine."""
    for search in cost["searches"]:
        if (search["work"], search["n"]) == ("query", STORY) and search["by"] != "cosine":
            return dict(search)
    return None


def _cheaper(pairs: float | None) -> str:
    """Return from how many pairs per text the bi-encoder takes less time."""
    if pairs is None:
        return (
            "the bi-encoder is never the cheaper one: its head alone takes as long as the "
            "cross-encoder"
        )
    return f"the bi-encoder is the cheaper one where a text is in {pairs:.1f} pairs or more"


def measured_on(costs: dict[str, Any]) -> str:
    """Return on what machine, beside what load, and for how long costs.json was measured.

    Raises:
        KeyError: it does not say so.
    """
    machine = costs["machine"]
    about = "{name}: {device}, {precision} products, {threads} thread(s)".format(**machine)
    if machine["load"] is not None:
        about += f", load of the minute before {machine['load']:.1f} on {machine['cores']} cores"
    return f"{about}; about {costs['budget']:.3g} s per head"


def marked(duration: dict[str, Any]) -> str:
    """Return a duration of costs.json in words, with a ~ if it was projected."""
    return f"{'' if duration['measured'] else '~'}{in_words(duration['seconds'])}"


def _search_table(costs: dict[str, Any], task: str) -> str:
    """Return both encoders' searches side by side."""
    header = "search,N,encoding N,by cosine,by the head,MiB,cross,passes".split(",")
    works = {"query": "one text against N", "pair": "most similar two of N"}
    searches = {
        (search["work"], search["n"], search["by"]): search
        for cell in costs["cells"]
        for search in (cell["cost"]["searches"] if cell["task"] == task else ())
    }
    rows = []
    for (work, n, by), cross in searches.items():
        if by == "cross":
            cosine, head = searches[work, n, "cosine"], searches[work, n, "head"]
            durations = map(marked, (cosine["once"], cosine["then"], head["then"]))
            own = [works[work], f"{n:,}", *durations, f"{cosine['memory_mib']:,.1f}"]
            own += [marked(cross["then"]), f"{cross['passes']:,}"]
            if late := searches.get((work, n, "late")):
                own += [marked(late["then"]), f"{late['memory_mib']:,.1f}"]
            rows.append(own)
    late_too = rows and len(rows[0]) > len(header)
    return markdown([*header, *(["late", "its MiB"] if late_too else [])], rows)
