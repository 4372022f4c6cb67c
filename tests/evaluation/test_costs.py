"""Costs follow from what was timed: passes, projections, memory, break-even, the classic story."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from evaluation import costs
from evaluation.costs import (
    ALONE,
    Cost,
    Duration,
    Reader,
    Search,
    break_even,
    closest_pair,
    cost_lines,
    in_words,
    measure_cost,
    measure_growing,
    measured_on,
    nearest,
    seconds_alone,
    story,
)
from evaluation.suites.geometry import unit

PAIRS = [(f"text {n}", f"other {n}") for n in range(7)]


class Machine:
    """A machine of known speed: its clock goes on only while it works."""

    def __init__(self):
        self.now, self.sizes = 0.0, []

    def works(self, seconds):
        self.now += seconds

    def run(self, cost):
        """Return work of a size that takes `cost(size)` seconds."""

        def work(size):
            self.sizes.append(size)
            self.works(cost(size))

        return work

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
def clock(monkeypatch):
    machine = Machine()
    monkeypatch.setattr(costs.time, "perf_counter", lambda: machine.now)
    return machine


@pytest.fixture
def machine(clock, monkeypatch):
    monkeypatch.setattr(costs, "nearest", lambda rows, query: clock.works(1e-6 * len(rows)))
    monkeypatch.setattr(costs, "closest_pair", lambda rows: clock.works(1e-6 * len(rows) ** 2))
    return clock


def test_what_fits_the_budget_is_measured_and_the_rest_projected(clock):
    found = measure_growing(clock.run(lambda size: 0.001 * size), [1000, 10_000], budget=5.0)
    # 16 twice, the first time to warm up; 4,096 would fit, 10,000 not.
    assert clock.sizes == [16, 16, 64, 256, 1000, 1024]
    assert found.of(1000) == Duration(pytest.approx(1.0), True)
    assert found.of(10_000) == Duration(pytest.approx(10.0), False)
    assert found.rate == pytest.approx(1000) and clock.now < 5.0
    work = clock.run(lambda size: 0.01 * size**2)
    found = measure_growing(work, [1000], budget=1.0, growth=lambda size: size**2)
    assert max(found.seconds) < 1000
    assert found.of(1000) == Duration(pytest.approx(10_000), False)


def test_the_smallest_size_is_measured_whatever_it_takes_and_a_clock_may_stand_still(clock):
    slow = measure_growing(clock.run(lambda size: 100.0), [8, 1000], budget=1.0)
    assert slow.of(8) == Duration(100.0, True) and not slow.of(1000).measured
    still = measure_growing(clock.run(lambda size: 0.0), [1000], budget=1.0)
    assert still.of(10_000).seconds < 1e-6 and still.rate > 0


def test_pieces_alone_are_different_ones_and_the_first_does_not_count(clock):
    work = clock.run(lambda size: 100.0 if size == 0 else size)
    assert seconds_alone(work) == (ALONE + 1) / 2
    assert clock.sizes == [*range(ALONE + 1)]


@pytest.mark.parametrize(("count", "block"), [(2, 1024), (8, 7), (50, 7)])
def test_nearest_and_closest_equal_the_full_table(count, block, monkeypatch):
    monkeypatch.setattr(costs, "BLOCK", block)
    rows = np.random.default_rng(count).normal(size=(count, 4))
    table = cosine_similarity(rows)
    assert nearest(unit(rows), unit(rows)[1]) == table[1].argmax()
    np.fill_diagonal(table, -2)
    assert closest_pair(unit(rows)) == np.unravel_index(table.argmax(), table.shape)


def bi(machine) -> Reader:
    return Reader("bi", 2, 20.0, 1e6, machine.score, machine.encode, machine.compare)


def cross(machine) -> Reader:
    return Reader("cross", 1, 20.0, 1e6, machine.score)


def late(machine) -> Reader:
    """Return a reader that keeps three tokens of four float32 of each text."""

    def encode(texts):
        return [np.ones((3, 4), np.float32) for _ in machine.encode(texts)]

    def compare(first, second):
        return machine.compare(np.zeros((len(first), 1)), np.zeros((len(second), 1)))

    return Reader("late", 2, 20.0, 1e6, machine.score, encode, compare)


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
        assert other.search("query", "cross", n).memory_mib == 4 * n / 2**20
        # Vectors of four float32, and a row of cosines for each of them.
        assert found.search("pair", "cosine", n).memory_mib == (16 * n + 4 * n * n) / 2**20
    assert len(found.searches) == 8 and len(other.searches) == 4
    assert found.bytes_per_text == 16 and other.bytes_per_text is None
    assert other.texts_per_second is None and other.comparisons_per_second is None
    with pytest.raises(KeyError):
        other.search("pair", "cosine", 10)


def test_late_interaction_keeps_all_tokens_and_has_no_vectors_to_multiply(machine):
    found = measure_cost(late(machine), PAIRS, 10.0, (10, 100))
    assert found.bytes_per_text == 48 and {search.by for search in found.searches} == {"late"}
    assert found.texts_per_second == pytest.approx(100)
    assert found.comparisons_per_second == pytest.approx(1000)
    query = found.search("query", "late", 100)
    assert query.once.seconds == pytest.approx(1.0) and query.memory_mib == 5200 / 2**20
    assert query.then.seconds == pytest.approx(0.01 + 0.1)
    assert found.search("pair", "late", 100).then.seconds == pytest.approx(4.95)


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
    # In proportion to the number of pairs.
    for by, seconds in (("cosine", 1e-6 * n * (n - 1)), ("head", 0.001 * pairs)):
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
    single = measure_cost(replace(bi(machine), passes=1), [("a text",), ("b",)], 5.0, (10,))
    assert single.searches == () and single.texts_per_second is None


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


def test_durations_in_words():
    expected = {4e-6: "4.0 µs", 0.0012: "1.2 ms", 0.25: "250 ms", 1: "1.0 s", 119: "119 s"}
    expected |= {150: "2.5 min", 1200: "20 min", 65 * 3600: "65 h", 240 * 3600: "10 days"}
    assert {seconds: in_words(seconds) for seconds in expected} == expected


def test_the_numbers_of_a_run_in_words(machine):
    both = [measure_cost(reader(machine), PAIRS, 5.0, (10, 10_000)) for reader in (bi, cross)]
    cells = [{"cell": f"{c.encoder} cell", "task": "sts", "cost": asdict(c)} for c in both]
    about = {"name": "m", "cores": 4, "device": "cpu", "precision": "float32", "threads": 1}
    found = {"cells": cells, "machine": about | {"load": 0.25}, "budget": 5.0}
    found |= {"break_even": {"sts": 1.25, "para": None}, "story": "A story."}
    text = "\n".join(cost_lines(found))
    assert measured_on(found) in text and "load of the minute before 0.2 on 4 cores" in text
    assert "| bi cell    | 2      | 20.0   | 1.0   | 20.0       | 50         | 100     |" in text
    assert "sts: the bi-encoder is the cheaper one where a text is in 1.2 pairs or more" in text
    assert "para: the bi-encoder is never the cheaper one" in text and "A story." in text
    (row,) = [line for line in text.splitlines() if "most similar two of N | 10 " in line]
    expected = "100 ms,100 µs,45 ms,0.0,900 ms,45".split(",")
    assert [cell.strip() for cell in row.split("|")[3:-1]] == expected
    assert "| ~12 days" in text  # 49,995,000 pairs in 0.02 s each
    third = measure_cost(late(machine), PAIRS, 5.0, (10, 10_000))
    more = [*cells, {"cell": "late cell", "task": "sts", "cost": asdict(third)}]
    with_late = "\n".join(cost_lines(found | {"cells": more}))
    (row,) = [line for line in with_late.splitlines() if "most similar two of N | 10 " in line]
    assert [cell.strip() for cell in row.split("|")[3:-1]] == [*expected, "45 ms", "0.0"]
