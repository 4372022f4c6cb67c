"""Costs follow from what was timed: passes, projections, memory, break-even, the classic story."""

import json
import tracemalloc

import numpy as np
import pytest

from evaluation import cost
from evaluation.closest import closest_pair
from evaluation.cost import Cost, Reader, Search, break_even, measure_cost, story, told
from evaluation.timing import Duration

PAIRS = [(f"text {n}", f"other {n}") for n in range(7)]


def bi(**changes) -> Reader:
    return Reader(**{
        "name": "bi", "passes": 2, "tokens": 20.0, "flops": 1e6,
        "score": lambda pairs: np.zeros(len(pairs)),
        "encode": lambda texts: np.ones((len(texts), 4), np.float32),
        "compare": lambda first, second: first[:, 0] * second[:, 0],
        **changes,
    })  # fmt: skip


def cross(**changes) -> Reader:
    nothing = {"encode": None, "compare": None}
    return bi(**{"name": "cross", "passes": 1, **nothing, **changes})


def made(texts=None, compared=None, examples=1.0, searches=()) -> Cost:
    return Cost("made", 1, 1.0, 1.0, 1.0, examples, texts, compared, searches)


def test_a_bi_encoder_reads_each_text_once_and_a_cross_encoder_each_pair():
    sizes = (10, 100)
    found = measure_cost(bi(), PAIRS, 0.2, sizes)
    other = measure_cost(cross(), PAIRS, 0.2, sizes)
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


def test_small_searches_are_measured_and_large_ones_projected():
    found = measure_cost(bi(), PAIRS, 0.2, (20, 10_000_000))
    small, large = (found.search("pair", "head", n) for n in (20, 10_000_000))
    assert small.total.measured and small.total.seconds == small.once.seconds + small.then.seconds
    assert not large.then.measured
    # Ten million texts, all with all, at the rate of the head.
    pairs = 10_000_000 * 9_999_999 / 2
    assert large.then.seconds == pytest.approx(pairs / found.comparisons_per_second)


def test_readers_are_given_typical_examples_again_and_again():
    seen = []

    def score(pairs):
        seen.append([*pairs])
        return np.zeros(len(pairs))

    measure_cost(cross(score=score), PAIRS, 0.01, (10,))
    assert [batch[0] for batch in seen[:9]] == (PAIRS * 2)[:9]  # one by one, each another
    assert max(seen, key=len)[:14] == PAIRS * 2
    assert all(pair in PAIRS for batch in seen for pair in batch)


def test_single_texts_have_a_cost_and_no_searches():
    found = measure_cost(bi(passes=1), [("a text",), ("b",)], 0.01, (10,))
    assert found.searches == () and found.texts_per_second is None
    assert found.examples_per_second > 0 and found.milliseconds >= 0


def test_memory_of_a_search_is_what_numpy_holds():
    found = measure_cost(bi(), PAIRS, 0.01, (4000,)).search("pair", "cosine", 4000)
    rows = np.random.default_rng(0).normal(size=(4000, 4)).astype(np.float32)
    tracemalloc.start()
    vectors = rows.copy()
    closest_pair(vectors)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert found.memory_mib == pytest.approx(peak, rel=0.6)


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


def test_costs_are_plain_json():
    found = measure_cost(bi(), PAIRS, 0.01, (10,)).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == json.loads(json.dumps(found))
    assert found["searches"][0]["then"].keys() == {"seconds", "measured"}
    assert cost.SIZES == (1_000, 10_000, 100_000)
