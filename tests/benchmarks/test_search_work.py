"""The search work in small: its sides agree, and faiss is left out in one line."""

import importlib.util

import numpy as np
import pytest
import torch

from benchmarks.material import Bench
from benchmarks.measure import measure
from benchmarks.works import search


@pytest.fixture
def works(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "ROWS", 2000)
    monkeypatch.setattr(search, "MINED", 400)
    return lambda: list(search.works(Bench(torch.device("cpu"), 2, [], tmp_path)))


def test_every_side_is_measured(works, capsys):
    searching, mining = works()
    for work, peers in ((searching, 3 + bool(importlib.util.find_spec("faiss"))), (mining, 2)):
        figures = measure(work, torch.device("cpu"))
        assert len(figures) == peers and figures[0].side == "minbert"
    assert searching.title == "10 nearest of 100 queries among 2,000 vectors"


def test_without_faiss_it_is_left_out_in_one_line(works, monkeypatch):
    monkeypatch.setattr(search, "find_spec", lambda name: None)
    searching, _ = works()
    assert not [side for side in searching.sides if "faiss" in side.name]
    assert searching.skipped == ("faiss; pip install -r requirements-bench.txt",)


def test_sides_that_find_other_rows_stop_it(works, monkeypatch):
    found = search.top_k

    def wrong(queries, blocks, k):
        cosines, rows = found(queries, blocks, k)
        return cosines, np.roll(rows, 1, axis=1)

    monkeypatch.setattr(search, "top_k", wrong)
    with pytest.raises(AssertionError, match="the sides differ: nearest rows"):
        works()
