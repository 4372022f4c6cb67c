"""Candidates: the bounds on errors hold, and no product that may reach a floor is left out."""

import numpy as np
import pytest
import torch
from indexing import unit_rows

from search import products
from search.products import Scores, hits, rounding

DTYPES = [torch.float32, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimensions", [16, 256, 768])
@pytest.mark.parametrize("count", [1, 50])
def test_the_bound_on_rounding_holds(count, dimensions, dtype):
    left, right = unit_rows(count, dimensions, 6), unit_rows(300, dimensions, 7)
    right[:50] = left + right[:50] / 20  # cosines near 1, where results are rounded most
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    scores = products.products(left, right, dtype)
    exact = left.astype(float) @ right.astype(float).T
    error = np.abs(scores.values.double().numpy() - exact).max()
    assert scores.values.dtype == dtype and 0 < error < scores.error == rounding(dimensions, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("floor", [-1.0, -0.2, 0.0, 1e-3, 0.2, 0.5, 0.999])
def test_what_may_reach_a_floor_is_never_left_out(floor, dtype):
    exact = np.linspace(-1, 1, 4001)
    values = torch.from_numpy(exact).to(dtype)[None]
    error = float((values[0].double() - torch.from_numpy(exact)).abs().max())
    reached = Scores(values, error).may_reach(floor)[0]
    assert reached[exact >= floor].all()
    # What is left out, beyond the errors and one digit of bfloat16, is most of the rest.
    assert not reached[exact < floor - 2 * error - (2**-7 if error > 1e-3 else 1e-7)].any()


def test_a_floor_of_each_row_is_its_own():
    scores = Scores(torch.tensor([[0.1, 0.6], [0.1, 0.6]], dtype=torch.bfloat16), 0.01)
    found = scores.may_reach(np.array([[0.05], [0.5]]))
    assert found.tolist() == [[True, True], [False, True]]


@pytest.mark.parametrize(("floor", "seen"), [(0.7, DTYPES[1:]), (0.0, [*DTYPES[::-1]])])
def test_float32_decides_where_bfloat16_leaves_too_many(floor, seen, monkeypatch):
    monkeypatch.setattr(products, "choose_precision", lambda *which: torch.bfloat16)
    rows, dtypes = unit_rows(200, 32), []

    def reached(scores):
        dtypes.append(scores.values.dtype)
        return scores.may_reach(floor)

    found = hits(rows, rows, reached)
    assert dtypes == seen
    exact = rows.astype(float) @ rows.astype(float).T
    assert {(i, j) for i, j in np.argwhere(exact >= floor)} <= set(map(tuple, found.tolist()))
