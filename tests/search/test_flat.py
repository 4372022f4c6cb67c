"""--faiss finds what the plain search finds; without faiss it is one clear line."""

import sys

import numpy as np
import pytest

from runtime.errors import MachineError
from search.flat import FaissIndex
from search.nearest import top_k


def unit_blocks() -> tuple[np.ndarray, list[np.ndarray]]:
    rows = np.random.default_rng(0).standard_normal((310, 16), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[[40, 120]] = rows[7]
    return rows[:9], np.split(rows, [100, 200])


@pytest.mark.parametrize("k", [3, 10, 400])
def test_faiss_finds_the_same(k):
    pytest.importorskip("faiss")
    queries, blocks = unit_blocks()
    cosines, found = FaissIndex(blocks).top_k(queries, k)
    expected = top_k(queries, blocks, k)
    assert cosines == pytest.approx(expected[0], abs=1e-6)
    assert (found == expected[1]).all()


def test_faiss_that_is_not_installed_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MachineError, match=r"not installed; pip install .*leave out --faiss"):
        FaissIndex(unit_blocks()[1])
