"""Heads on parts of the labels: nested rows, names, shared embeddings, curves."""

import pytest
from toy_runs import cells_of, numbers

from data.examples import Sentence, SentencePair
from data.selection import nested_rows

WORDS = ["--task", "sts", "--reader", "bi", "cross", "--seeds", "2"]
SIZES = ["--train-rows", "12", "24", "all"]


@pytest.fixture(scope="module")
def folders(start, tmp_path_factory):
    """A run of three sizes, and one of all rows, in caches of their own."""
    root = tmp_path_factory.mktemp("rows")
    assert start(root / "few" / "a", *WORDS, *SIZES) == 0
    assert start(root / "all" / "a", *WORDS) == 0
    return root / "few" / "a", root / "all" / "a"


def test_rows_are_nested_random_by_seed_and_hold_equal_shares_of_classes():
    examples = [Sentence(str(k), "a", float(k % 5 == 0)) for k in range(100)]
    drawn = {n: set(nested_rows(examples, n, 7, True).tolist()) for n in (10, 25, 60, 100)}
    for n, rows in drawn.items():
        assert len(rows) == n and rows <= set(range(100))
        ones = sum(examples[row].label == 1 for row in rows)
        assert abs(ones - n / 5) <= 1
    assert drawn[10] < drawn[25] < drawn[60]
    assert drawn[25] != set(nested_rows(examples, 25, 8, True).tolist())
    pairs = [SentencePair(str(k), "a", "b", k / 20) for k in range(100)]
    few, many = (set(nested_rows(pairs, n, 7, False).tolist()) for n in (10, 50))
    assert few < many and max(few) > 50


def test_cells_of_all_rows_are_those_of_a_run_without_sizes(folders):
    few, every = (cells_of(folder) for folder in folders)
    whole = {cell.place(): cell for cell in few if cell.train_rows == "all"}
    assert len(few) == 3 * len(every) == 3 * len(whole)
    for cell in every:
        assert numbers(whole[cell.place()]) == numbers(cell)
        assert cell.key == whole[cell.place()].key


def test_sizes_have_names_of_their_own_and_share_what_a_frozen_encoder_read(folders):
    few, _ = folders
    names = {cell.name for cell in cells_of(few) if cell.task == "sts" and cell.reader == "bi"}
    stem = "none-sts-bi-frozen-interaction"
    assert names == {f"{stem}-{s}{n}" for s in (42, 43) for n in ("-12rows", "-24rows", "")}
    assert {cell.labels for cell in cells_of(few)} == {12, 24, 48}
    caches = [{path.name for path in (f.parent / "cache").iterdir()} for f in folders]
    assert caches[0] == caches[1]
    scores = {cell.labels: cell.metrics["pearson"] for cell in cells_of(few) if cell.task == "sts"}
    assert len(set(scores.values())) == 3


def test_the_verdict_is_on_all_rows_and_the_curves_are_told_and_drawn(start, folders, capsys):
    few, _ = folders
    assert start(few, *WORDS, *SIZES) == 0  # everything is reused
    out = capsys.readouterr().out
    assert "12rows: done earlier" in out and "| labels |" in out
    assert "STS (no SimCSE, frozen encoder): the" in out
    page = (few / "report.html").read_text(encoding="utf-8")
    assert "Learning curves: " in page and page.count("by number of labels") >= 1
    assert "12rows" not in (few / "comparisons.json").read_text()
