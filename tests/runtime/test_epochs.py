"""Which rows a step reads: every row once per epoch, in an order of the epoch's own."""

import numpy as np
import pytest

from runtime.errors import TrainingError
from runtime.training import batch_rows, steps_per_epoch


def test_every_epoch_reads_every_row_once_in_an_order_of_its_own():
    epochs = [[batch_rows(3 * epoch + i, 10, 4, 7) for i in range(3)] for epoch in range(2)]
    for batches in epochs:
        assert [len(rows) for rows in batches] == [4, 4, 2]
        assert sorted(np.concatenate(batches)) == list(range(10))
    first, second = (np.concatenate(batches).tolist() for batches in epochs)
    other_seed = np.concatenate([batch_rows(i, 10, 4, 8) for i in range(3)]).tolist()
    assert first != second and first != other_seed
    assert batch_rows(1, 10, 4, 7).tolist() == epochs[0][1].tolist()  # whatever came between


@pytest.mark.parametrize(("count", "batch", "steps"), [(40, 16, 3), (33, 16, 2), (4, 4, 1)])
def test_a_last_batch_smaller_than_the_ranks_is_left_out(count, batch, steps, monkeypatch):
    monkeypatch.setattr("runtime.training.world_size", lambda: 2)
    assert steps_per_epoch(count, batch) == steps


def test_a_batch_smaller_than_the_ranks_is_refused(monkeypatch):
    monkeypatch.setattr("runtime.training.world_size", lambda: 4)
    with pytest.raises(TrainingError, match="batches of 2 cannot feed 4 processes"):
        steps_per_epoch(40, 2)


@pytest.mark.parametrize(("count", "batch", "steps"), [(40, 16, 3), (32, 16, 2), (1, 4, 1)])
def test_one_process_reads_every_last_row(count, batch, steps):
    assert steps_per_epoch(count, batch) == steps


def test_no_rows_are_refused():
    with pytest.raises(TrainingError, match="batches of 0"):
        steps_per_epoch(0, 16)
