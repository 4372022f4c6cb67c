"""Batches side by side: the numbers of one thread, in order, and nothing left changed."""

import time
import weakref

import numpy as np
import pytest
import torch
from conftest import toy_sentences

from minbert.fast import side_by_side
from minbert.fast.side_by_side import (
    AT_ONCE,
    batches_at_once,
    batches_for_cores,
    embed_batches,
)
from minbert.packing import TokenSequences

CPU = torch.device("cpu")
LENGTHS = np.random.default_rng(0).integers(3, 60, 500)


@pytest.fixture
def threads():
    """Set the number of threads in a test, and put it back."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def sequences(lengths=(5, 4, 4, 3)):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.arange(offsets[-1], dtype=np.uint16)
    return TokenSequences(ids, offsets, np.array(lengths, np.int32))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_embeddings_have_the_bits_of_one_thread(precision, tiny_checkpoint, threads):
    from minbert.encoder import SentenceEncoder

    encoder = SentenceEncoder.from_pretrained(
        str(tiny_checkpoint), device="cpu", precision=precision
    )
    texts = toy_sentences(300)
    threads(1)
    expected = encoder.encode(texts)
    for number in (2, 3):
        threads(number)
        assert np.array_equal(encoder.encode(texts), expected)
        assert np.array_equal(encoder.encode(texts, batch_tokens=100), expected)
        assert torch.get_num_threads() == number


@pytest.mark.parametrize("cores", [1, 3, 64])
def test_every_core_has_a_batch_and_every_row_is_in_one(cores, threads):
    threads(cores)
    at_once = batches_at_once(CPU, 384)
    batches = batches_for_cores(LENGTHS, 4096, at_once)
    assert sorted(np.concatenate(batches)) == list(range(len(LENGTHS)))
    assert all(LENGTHS[rows].sum() <= 4096 for rows in batches)
    assert len(batches) % min(cores, AT_ONCE) == 0
    few = batches_for_cores(LENGTHS[:20], 4096, at_once)  # less work than another thread is worth
    assert len(few) <= 2
    assert batches_for_cores(LENGTHS[:0], 4096, at_once) == []


def test_a_gpu_one_core_and_a_wide_model_have_one_large_batch_at_a_time(threads):
    threads(2)
    assert batches_at_once(torch.device("cuda"), 384) == batches_at_once(CPU, 768) == 1
    assert batches_at_once(CPU, 384) == 2
    assert max(LENGTHS[rows].sum() for rows in batches_for_cores(LENGTHS, 4096, 1)) > 4000
    assert max(LENGTHS[rows].sum() for rows in batches_for_cores(LENGTHS, 4096, 2)) < 2200
    threads(1)
    assert batches_at_once(CPU, 384) == 1


def test_little_work_is_shared_evenly():
    first, second = batches_for_cores(LENGTHS[:100], 100_000, 2)
    assert LENGTHS[second].sum() > 0.9 * LENGTHS[first].sum()


def test_results_come_in_order_from_threads_of_one_core_without_gradient(threads):
    threads(3)
    batches = [np.array([row]) for row in range(4)]
    seen = []

    def embed(batch):
        seen.append((torch.get_num_threads(), torch.is_inference_mode_enabled()))
        return batch.input_ids.float().mean()[None]

    found = list(embed_batches(sequences(), batches, embed, torch.get_num_threads()))
    assert [rows.tolist() for rows, _ in found] == [[0], [1], [2], [3]]
    assert [part.tolist() for _, part in found] == [[2.0], [6.5], [10.5], [14.0]]
    assert seen == [(1, True)] * 4
    assert torch.get_num_threads() == 3


def test_an_error_passes_on_and_what_was_not_begun_is_left(threads):
    threads(2)
    batches = [np.array([row % 4]) for row in range(50)]
    begun = []

    def embed(batch):
        begun.append(batch)
        if len(begun) > 1:
            time.sleep(0.2)  # so that the error is noticed before all are done
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        list(embed_batches(sequences(), batches, embed, torch.get_num_threads()))
    assert len(begun) < 50
    assert torch.get_num_threads() == 2


def test_results_that_were_read_are_not_kept(threads):
    threads(2)
    batches = [np.array([row % 4]) for row in range(20)]
    parts = []
    for _, part in embed_batches(sequences(), batches, lambda _: torch.ones(1, 5), 2):
        assert all(earlier() is None for earlier in parts[:-1])
        parts.append(weakref.ref(part))
        del part
    assert len(parts) == 20


def test_an_interruption_while_batches_are_handed_out_leaves_none_behind(threads, monkeypatch):
    threads(2)
    batches = [np.array([row % 4]) for row in range(50)]
    begun = []

    def embed(batch):
        begun.append(batch)
        time.sleep(0.05)
        return torch.ones(1, 5)

    pool = side_by_side._kept_threads(2)
    handed_out = iter(range(30))

    def submit(*args):
        if next(handed_out, None) is None:
            raise KeyboardInterrupt
        return pool.__class__.submit(pool, *args)

    monkeypatch.setattr(pool, "submit", submit)
    with pytest.raises(KeyboardInterrupt):
        list(embed_batches(sequences(), batches, embed, 2))
    count = len(begun)
    time.sleep(0.2)
    assert len(begun) == count < 30
    assert torch.get_num_threads() == 2


def test_a_call_that_waits_for_another_one_has_all_cores_afterwards(tiny_checkpoint, threads):
    from concurrent.futures import ThreadPoolExecutor

    from minbert.encoder import SentenceEncoder

    threads(2)
    encoder = SentenceEncoder.from_pretrained(str(tiny_checkpoint), device="cpu")
    rows = encoder.tokenize(toy_sentences(300))
    at_once = []

    def embed(batch):
        at_once.append(torch.get_num_threads())
        time.sleep(0.01)
        return encoder.embed(batch)

    def call(_):
        into = np.empty((300, encoder.embedding_size), np.float32)
        encoder.embed_all(rows, into, embed, batch_tokens=200)
        return torch.get_num_threads()

    with ThreadPoolExecutor(3) as callers:
        assert list(callers.map(call, range(6))) == [2] * 6
    assert set(at_once) == {1}
    assert torch.get_num_threads() == 2
