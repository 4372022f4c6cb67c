"""Cosine similarities by rating: known groups, and what is said of them."""

import numpy as np
import pytest

from report.rating_groups import FEWEST, GROUPS, grouped, in_lines


def test_groups_are_bands_of_the_scale_with_means_and_quartiles():
    ratings = np.repeat(np.linspace(1, 7, 61), 10)  # a scale of one's own
    cosines = ratings / 10 + np.tile(np.linspace(-0.05, 0.05, 10), 61)
    groups = grouped(ratings, cosines)
    assert [group.name for group in groups] == [
        "1 to 2.2", "2.2 to 3.4", "3.4 to 4.6", "4.6 to 5.8", "5.8 to 7",
    ]  # fmt: skip
    assert sum(group.n for group in groups) == len(ratings) and len(groups) == GROUPS
    for group in groups:
        low, high = map(float, group.name.split(" to "))
        assert low / 10 < group.low < group.mean < group.high < high / 10 + 0.01
    inside = ratings >= 5.8 - 1e-9  # the last band holds the highest rating
    assert groups[-1].mean == pytest.approx(cosines[inside].mean())


def test_groups_of_few_pairs_are_left_out():
    ratings = np.array([0.0] * FEWEST + [3.0] * (FEWEST - 1) + [5.0] * FEWEST)
    assert [group.name for group in grouped(ratings, ratings)] == ["0 to 1", "4 to 5"]


def test_a_line_says_how_the_ends_of_the_scale_moved():
    ratings = np.array([0.0, 5.0] * FEWEST)
    stages = {"none": grouped(ratings, 0.8 + ratings / 50), "sup": grouped(ratings, ratings / 5)}
    assert in_lines({"sts": stages}) == [
        "STS: supervised SimCSE changes the mean cosine similarity from 0.80 to 0.00 for pairs "
        "rated 0 to 1 and from 0.90 to 1.00 for pairs rated 4 to 5."
    ]
    assert in_lines({}) == []
