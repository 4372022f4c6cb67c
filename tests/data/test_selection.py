"""Which pairs choose among checkpoints: official-dev rows of the training file, or its first."""

from itertools import pairwise

import pytest
from conftest import real_data

from data.examples import Sentence
from data.selection import hold_out, selection_pairs
from data.tasks import read_task


def test_selection_never_peeks_at_pairs_that_are_scored():
    folder = real_data("cs224n")
    chosen = selection_pairs(folder)
    splits = read_task(folder, "sts")
    assert len(chosen) == 1031
    ids = {pair.id for pair in chosen}
    assert ids <= {pair.id for pair in splits.train}
    assert not ids & {pair.id for pair in (*splits.dev, *splits.test)}


def test_selection_without_official_rows_takes_training_pairs(toy_data, tmp_path):
    assert [pair.id for pair in selection_pairs(toy_data)] == [
        pair.id for pair in read_task(toy_data, "sts").train
    ]
    assert selection_pairs(tmp_path) == []


def test_a_column_that_counts_the_rows_is_not_of_official_rows(tmp_path):
    """As pandas writes one: from row 5,749 on it looks like the official dev set's."""
    rows = [f"{i}\ts{i}\tone {i}\tother {i}\t{i % 6}" for i in range(5_760)]
    table = "\n".join(["\tid\tsentence1\tsentence2\tsimilarity", *rows]) + "\n"
    (tmp_path / "sts-train.csv").write_text(table)
    assert [pair.id for pair in selection_pairs(tmp_path)] == [f"s{i}" for i in range(1000)]


def test_selection_takes_only_rows_of_the_official_dev_set():
    folder = real_data("cs224n")
    assert all(5749 <= pair.row <= 7248 for pair in selection_pairs(folder))
    scored = read_task(folder, "sts")
    rows = {pair.row for pair in (*scored.dev, *scored.test)}
    assert not rows & {pair.row for pair in selection_pairs(folder)}


@pytest.mark.parametrize(
    ("count", "held"), [(0, 0), (999, 0), (1000, 100), (6004, 600), (40_000, 1000)]
)
def test_a_tenth_is_held_out_and_the_rest_keeps_its_order(count, held):
    examples = [Sentence(str(i), "x", 1) for i in range(count)]
    kept, chosen = hold_out(examples)
    assert len(chosen) == held
    assert sorted([*kept, *chosen], key=lambda one: int(one.id)) == examples
    assert kept == sorted(kept, key=lambda one: int(one.id))
    assert hold_out(examples) == (kept, chosen)


def test_held_out_rows_are_spread_over_the_file():
    _, chosen = hold_out([Sentence(str(i), "x", 1) for i in range(5000)])
    numbers = [int(one.id) for one in chosen]
    assert abs(sum(numbers) / len(numbers) - 2500) < 250
    assert len({after - before for before, after in pairwise(numbers)}) > 10
