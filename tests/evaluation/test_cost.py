"""Costs follow from what was timed: passes, projections, memory, break-even, the classic story."""

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from evaluation import cost, timing
from evaluation.closest import closest_pair
from evaluation.cost import Cost, Reader, Search, break_even, measure_cost, story, told
from evaluation.timing import Duration

PAIRS = [(f"text {n}", f"other {n}") for n in range(7)]


class Machine:
    """A machine of known speed: its clock goes on only while it works."""

    def __init__(self):
        self.now = 0.0

    def works(self, seconds):
        self.now += seconds

    def score(self, pairs):
        self.works(0.02 * len(pairs))
        return np.zeros(len(pairs))

    def encode(self, texts):
        self.works(0.01 * len(texts))
        return np.ones((len(texts), 4), np.float32)

    def compare(self, first, second):
        self.works(0.001 * len(first))
        return first[:, 0] * second[:, 0]


@pytest.fixture
def machine(monkeypatch):
    machine = Machine()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: machine.now)
    monkeypatch.setattr(cost, "nearest", lambda rows, query: machine.works(1e-6 * len(rows)))
    monkeypatch.setattr(cost, "closest_pair", lambda rows: machine.works(1e-6 * len(rows) ** 2))
    return machine


def bi(machine) -> Reader:
    return Reader("bi", 2, 20.0, 1e6, machine.score, machine.encode, machine.compare)


def cross(machine) -> Reader:
    return Reader("cross", 1, 20.0, 1e6, machine.score)


def made(texts=None, compared=None, examples=1.0, searches=()) -> Cost:
    return Cost("made", 1, 1.0, 1.0, 1.0, examples, texts, compared, searches)


def test_a_bi_encoder_reads_each_text_once_and_a_cross_encoder_each_pair(machine):
    sizes = (10, 100)
    found = measure_cost(bi(machine), PAIRS, 5.0, sizes)
    other = measure_cost(cross(machine), PAIRS, 5.0, sizes)
    for n in sizes:
        for by in ("cosine", "head"):
            assert found.search("query", by, n).passes == n + 1
            assert found.search("pair", by, n).passes == n
        assert other.search("query", "cross", n).passes == n
        assert other.search("pair", "cross", n).passes == n * (n - 1) // 2
        assert other.search("pair", "cross", n).once is None
    assert len(found.searches) == 8 and len(other.searches) == 4
    assert other.texts_per_second is None and other.comparisons_per_second is None
    with pytest.raises(KeyError):
        other.search("pair", "cosine", 10)


def test_speeds_are_those_of_the_machine(machine):
    found = measure_cost(bi(machine), PAIRS, 10.0, (10, 100))
    rates = found.examples_per_second, found.texts_per_second, found.comparisons_per_second
    assert rates == pytest.approx((50, 100, 1000)) and found.milliseconds == pytest.approx(20)
    query, pair = (found.search(work, "cosine", 100) for work in ("query", "pair"))
    assert query.once.seconds == pytest.approx(1.0) and query.once.measured
    assert query.then.seconds == pytest.approx(0.01 + 1e-4)  # encoded and compared
    assert pair.then.seconds == pytest.approx(0.01)
    assert pair.total.seconds == pytest.approx(1.01) and pair.total.measured


def test_what_exceeds_the_budget_is_projected_from_these_speeds(machine):
    n = 1_000_000
    pairs = n * (n - 1) / 2
    found = measure_cost(bi(machine), PAIRS, 5.0, (10, n))
    other = measure_cost(cross(machine), PAIRS, 5.0, (10, n))
    assert machine.now < 20
    expected = {
        "cosine": 1e-6 * n * (n - 1),  # in proportion to the number of pairs
        "head": 0.001 * pairs,
    }
    for by, seconds in expected.items():
        large = found.search("pair", by, n)
        assert not large.once.measured and large.once.seconds == pytest.approx(0.01 * n)
        assert not large.then.measured and large.then.seconds == pytest.approx(seconds, rel=0.1)
    large = other.search("pair", "cross", n)
    assert not large.total.measured and large.total.seconds == pytest.approx(0.02 * pairs)
    assert other.search("query", "cross", 10).total.measured


def test_readers_are_given_typical_examples_again_and_again(machine):
    seen = []

    def score(pairs):
        seen.append([*pairs])
        return machine.score(pairs)

    measure_cost(replace(cross(machine), score=score), PAIRS, 5.0, (10,))
    # One by one, each another, then in batches.
    assert [batch[0] for batch in seen[:9]] == (PAIRS * 2)[:9]
    assert max(seen, key=len)[:14] == PAIRS * 2


def test_single_texts_have_a_cost_and_no_searches(machine):
    found = measure_cost(replace(bi(machine), passes=1), [("a text",), ("b",)], 5.0, (10,))
    assert found.searches == () and found.texts_per_second is None
    assert found.examples_per_second == pytest.approx(50)


def test_memory_of_a_search_is_what_numpy_holds(machine):
    found = measure_cost(bi(machine), PAIRS, 5.0, (4000,)).search("pair", "cosine", 4000)
    rows = np.random.default_rng(0).normal(size=(4000, 4)).astype(np.float32)
    tracemalloc.start()
    vectors = rows.copy()
    closest_pair(vectors)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert found.memory_mib == pytest.approx(peak, rel=0.2)


def test_the_break_even_point_is_where_both_take_the_same_time():
    # 100 texts a second, a million comparisons, 20 pairs a second.
    quick, slow = made(100.0, 1e6), made(examples=20.0)
    pairs_per_text = break_even(quick, slow)
    texts = 1000
    pairs = texts * pairs_per_text / 2
    assert texts / 100 + pairs / 1e6 == pytest.approx(pairs / 20)
    assert break_even(quick, made(examples=2e6)) is None  # the head alone is slower
    with pytest.raises(ValueError, match="no bi-encoder"):
        break_even(slow, quick)


def test_the_story_is_one_sentence_and_says_what_was_projected():
    quick = Search("pair", "cosine", 10_000, 10_000, Duration(4, True), Duration(1, True), 1.0)
    slow = Search("pair", "cross", 10_000, 49_995_000, None, Duration(65 * 3600, False), 1.0)
    text = story(made(searches=(quick,)), made(searches=(slow,)))
    assert "reads 49,995,000 pairs in 65 h (projected)" in text
    assert "reads 10,000 sentences and compares them by cosine in 5.0 s (measured)" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (4e-6, "4.0 µs"), (0.0012, "1.2 ms"), (0.25, "250 ms"), (1, "1.0 s"), (5, "5.0 s"),
        (119, "119 s"),
        (150, "2.5 min"), (1200, "20 min"), (65 * 3600, "65 h"), (240 * 3600, "10 days"),
        (2400 * 86400, "2,400 days"),
    ],
)  # fmt: skip
def test_durations_in_words(seconds, words):
    assert told(seconds) == words


def test_costs_are_plain_json(machine):
    found = measure_cost(bi(machine), PAIRS, 5.0, (10,)).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == json.loads(json.dumps(found))
    assert found["searches"][0]["then"].keys() == {"seconds", "measured"}
    assert cost.SIZES == (1_000, 10_000, 100_000)
