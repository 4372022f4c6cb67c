"""Durations on a clock of the tests' own: what is measured, what is projected, when it stops."""

import pytest

from evaluation import timing
from evaluation.timing import ALONE, Duration, measure_growing, seconds_alone


class Clock:
    """Time that passes only while work is done, `cost(size)` seconds at a time."""

    def __init__(self, cost):
        self.now, self.cost, self.sizes = 0.0, cost, []

    def run(self, size=1):
        self.sizes.append(size)
        self.now += self.cost(size)


@pytest.fixture
def clock(monkeypatch):
    def start(cost):
        clock = Clock(cost)
        monkeypatch.setattr(timing.time, "perf_counter", lambda: clock.now)
        return clock

    return start


def test_what_fits_the_budget_is_measured_and_the_rest_projected(clock):
    work = clock(lambda size: 0.001 * size)
    found = measure_growing(work.run, [1000, 10_000], budget=5.0)
    # 16 twice, the first time to warm up; 4,096 would fit, 10,000 not.
    assert work.sizes == [16, 16, 64, 256, 1000, 1024]
    assert found.of(1000) == Duration(pytest.approx(1.0), True)
    assert found.of(10_000) == Duration(pytest.approx(10.0), False)
    assert found.rate == pytest.approx(1000)
    assert work.now < 5.0


def test_with_time_enough_everything_is_measured(clock):
    work = clock(lambda size: 1e-6 * size)
    found = measure_growing(work.run, [1000, 10_000, 100_000], budget=5.0)
    assert all(found.of(size).measured for size in (1000, 10_000, 100_000))


def test_projections_follow_the_growth_of_the_work(clock):
    work = clock(lambda size: 0.01 * size**2)
    found = measure_growing(work.run, [1000], budget=1.0, growth=lambda size: size**2)
    assert max(found.seconds) < 1000
    assert found.of(1000) == Duration(pytest.approx(10_000), False)


def test_the_smallest_size_is_measured_whatever_it_takes(clock):
    work = clock(lambda size: 100.0)
    found = measure_growing(work.run, [8, 1000], budget=1.0)
    assert found.of(8) == Duration(100.0, True) and not found.of(1000).measured


def test_a_clock_that_stands_still_projects_without_dividing_by_zero(clock):
    work = clock(lambda size: 0.0)
    found = measure_growing(work.run, [1000], budget=1.0)
    assert found.of(10_000).seconds < 1e-6 and found.rate > 0


def test_pieces_alone_are_different_ones_and_the_first_does_not_count(clock):
    work = clock(lambda size: 100.0 if size == 0 else size)
    assert seconds_alone(work.run) == (ALONE + 1) / 2
    assert work.sizes == [*range(ALONE + 1)]


def test_a_sum_is_measured_only_if_both_parts_are():
    assert Duration(1.0, True) + Duration(2.0, True) == Duration(3.0, True)
    assert Duration(1.0, True) + Duration(2.0, False) == Duration(3.0, False)
