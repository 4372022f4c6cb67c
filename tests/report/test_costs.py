"""Costs follow from what was timed, by a clock that goes on only while there is work."""

import numpy as np
import pytest

from report import costs
from report.costs import (
    break_evens,
    cheaper,
    cost_lines,
    in_words,
    measured_on,
    rates,
    search_seconds,
    search_spread,
    seconds_of_one,
    speeds,
)

PAIRS = [(f"text {n}", f"other {n}") for n in range(7)]


class Machine:
    """A machine of known speed."""

    def __init__(self):
        self.now, self.amounts = 0.0, []

    def run(self, cost):
        """Return work on an amount that takes `cost(amount)` seconds."""

        def work(amount):
            self.amounts.append(amount)
            self.now += cost(amount)

        return work

    def score(self, pairs):
        self.now += 0.02 * len(pairs)
        return np.zeros(len(pairs))

    def encode(self, texts):
        self.now += 0.01 * len(texts)
        return np.ones((len(texts), 4), np.float32)

    def tokens(self, texts):
        """Encode as late interaction does: three tokens of four float32 of each text."""
        return [np.ones((3, 4), np.float32) for _ in self.encode(texts)]

    def compare(self, first, second):
        assert len(first) == len(second) <= costs.BLOCK
        self.now += 0.001 * len(first)
        return np.zeros(len(first))


@pytest.fixture
def machine(monkeypatch):
    machine = Machine()
    monkeypatch.setattr(costs.time, "perf_counter", lambda: machine.now)
    return machine


@pytest.mark.parametrize(
    ("cost", "budget", "amounts", "expected"),
    [
        (lambda n: 0.001 * n, 5.0, [16, 16, 64, 256, 1024, 1024, 1024], 1000),  # 4,096: too many
        (lambda n: 100.0, 1.0, [16, 16], 0.16),  # the smallest whatever it takes
        (lambda n: 1.0 + 0.001 * n, 20.0, [16, 16, 64, 256, 1024, 1024, 1024], 1024 / 2.024),
        # A clock may stand still, and amounts end.
        (lambda n: 0.0, 1.0, [16, *(4**k for k in range(2, 11)), 4**10, 4**10], 4**10 * 1e9),
    ],
)
def test_rates_are_those_of_the_largest_amount_that_fits(machine, cost, budget, amounts, expected):
    rounds = amounts.count(amounts[-1]) if len(amounts) > 2 else 1
    assert rates(machine.run(cost), budget) == pytest.approx([expected] * rounds)
    assert machine.amounts == amounts


def test_single_examples_are_different_ones_and_the_first_does_not_count(machine):
    work = machine.run(lambda number: 100.0 if number == 0 else number)
    assert seconds_of_one(work) == [*range(1, costs.SINGLES + 1)]
    assert machine.amounts == [*range(costs.SINGLES + 1)]


def measured(machine, reader, budget=15.0):
    """Return the cost of a made head."""
    ways = {"bi": (machine.encode, machine.compare), "late": (machine.tokens, machine.compare)}
    cost = speeds(PAIRS, budget, machine.score, ways.get(reader))
    return {"reader": reader, "passes": 1 if reader == "cross" else 2, **cost}


@pytest.mark.parametrize(
    ("reader", "pairs", "texts", "comparisons", "size", "search"),
    [
        ("bi", 1 / 0.021, 100, 1000, 16, 10.01),  # one text is half of a pair
        ("late", 1 / 0.021, 100, 1000, 48, 10.01),
        ("cross", 50, None, None, None, 200),
    ],
)
def test_speeds_are_those_of_the_machine(machine, reader, pairs, texts, comparisons, size, search):
    cost = measured(machine, reader)
    assert machine.now < 16
    assert (cost["milliseconds"], cost["examples_per_second"]) == pytest.approx((20, pairs))
    assert cost["spread"]["examples_per_second"] == pytest.approx([pairs, pairs])
    for name, expected in (("texts_per_second", texts), ("comparisons_per_second", comparisons)):
        assert cost[name] == (expected and pytest.approx(expected))
    assert cost["bytes_per_text"] == size
    assert search_seconds(cost) == pytest.approx(search)
    assert search_spread(cost) == pytest.approx((search, search))
    assert search_spread({**cost, "spread": {}}) is None  # costs of 1.0


def test_a_search_takes_between_its_fastest_and_its_slowest_rounds():
    cost = {"reader": "bi", "passes": 2, "milliseconds": 20.0, "comparisons_per_second": 1e4}
    cost["spread"] = {"milliseconds": [10.0, 40.0], "comparisons_per_second": [5e3, 2e4]}
    assert search_seconds(cost) == pytest.approx(0.01 + 1)
    assert search_spread(cost) == pytest.approx((0.005 + 0.5, 0.02 + 2))


def test_readers_are_measured_on_as_many_tokens(machine):
    """Of a machine that needs large batches no reader looks slower than the others."""
    largest = {}

    def taking(name, each):
        def work(items):
            largest[name] = max(largest.get(name, 0), len(items))
            machine.now += 0.1 + each * len(items)
            return np.zeros((len(items), 4), np.float32)

        return work

    cross = speeds(PAIRS, 9.0, taking("pairs", 0.002))
    separate = taking("texts", 0.001), machine.compare
    bi = speeds(PAIRS, 9.0, taking("both", 0.002), separate)
    assert largest["texts"] == 2 * largest["pairs"] == 512
    assert 1 / bi["examples_per_second"] == pytest.approx(1 / cross["examples_per_second"] + 0.001)


def speed(reader, task="sts", **more):
    return {"task": task, "cost": {"reader": reader, "comparisons_per_second": None} | more}


def test_at_break_even_both_take_the_same_time():
    bi = speed("bi", texts_per_second=100.0, comparisons_per_second=1e6)
    cells = [bi, speed("cross", examples_per_second=20.0)]
    pairs_per_text = break_evens(cells)["sts"]
    pairs = 1000 * pairs_per_text / 2  # of 1,000 texts
    assert 1000 / 100 + pairs / 1e6 == pytest.approx(pairs / 20)
    # The head takes longer than the cross-encoder.
    assert break_evens([bi, speed("cross", examples_per_second=2e6)]) == {"sts": None}
    assert break_evens([bi]) == {}
    assert break_evens([speed("bi", "sst"), speed("cross", "sst")]) == {}  # no pairs


def test_the_cheaper_encoder_in_words():
    assert cheaper(None).startswith("The cross-encoder is always cheaper here: scoring two stored")
    assert cheaper(1.04) == "The bi-encoder is cheaper even if every text is used only once."
    assert (
        cheaper(1.26)
        == "In batches, the bi-encoder is cheaper once a text is in 1.3 or more pairs."
    )


def test_durations_in_words():
    expected = {4e-6: "4.0 µs", 0.0012: "1.2 ms", 0.25: "250 ms", 1: "1.0 s", 119: "119 s"}
    expected |= {150: "2.5 min", 1200: "20 min", 65 * 3600: "65 h", 240 * 3600: "10 days"}
    assert {seconds: in_words(seconds) for seconds in expected} == expected


def test_the_costs_of_a_run_are_a_table_per_task(machine):
    cells = [{"task": "sts", "cost": measured(machine, kind)} for kind in ("bi", "late", "cross")]
    single = {"reader": "bi", "passes": 1, **speeds([("one",)], 1.0, machine.score)}
    assert search_seconds(single) is None
    about = {"name": "m", "cores": 4, "device": "cpu", "precision": "float32", "threads": 1}
    about |= {"load": 0.25}
    found = {"run": "runs/r", "cells": [*cells, {"task": "sst", "cost": single}], "machine": about}
    assert cost_lines(found | {"break_even": {"sts": 1.25}}) == [
        "Cost (sts; m, cpu, float32, 1 thread, load 0.2 on 4 cores):",
        "",
        "                             bi-encoder    late-interaction encoder    cross-encoder",
        "one pair                     20 ms         20 ms                       20 ms",
        "pairs per second, batched    48            48                          50",
        "search 10,000 texts          ~10 s*        ~10 s*                      ~3.3 min",
        "* with precomputed embeddings. ~ = extrapolated.",
        "In batches, the bi-encoder is cheaper once a text is in 1.2 or more pairs.",
        "",
        "Cost (sst; m, cpu, float32, 1 thread, load 0.2 on 4 cores):",
        "",
        "                             bi-encoder",
        "one text                     20 ms",
        "texts per second, batched    50",
    ]
    busy = measured_on(found | {"machine": about | {"load": 4.1}})
    assert "load 4.1 on 4 cores - machine busy, timings unreliable; repeat with: " in busy
    assert busy.endswith("python -m report cost runs/r --budget 60")
    assert measured_on(found | {"machine": about | {"load": None}}) == "m, cpu, float32, 1 thread"
