"""Packed batches hold the tokens of their sequences, in order, and nothing else."""

import numpy as np
import pytest
import torch
from conftest import toy_sentences

from minbert.packing import TokenSequences, batches_by_tokens, pack_padded


def test_packing_equals_a_loop(tiny_encoder):
    first, second = toy_sentences(9, 1), toy_sentences(9, 2)
    sequences = tiny_encoder.tokenizer(first, second)
    rows = [4, 4, 0, 8, 2]
    batch = sequences.pack(rows)
    ids, types, positions, borders = [], [], [], [0]
    for row in rows:
        tokens = sequences[row]
        separator = tokens.index(tiny_encoder.tokenizer.sep_id)
        ids += tokens
        types += [int(i > separator) for i in range(len(tokens))]
        positions += range(len(tokens))
        borders.append(len(ids))
    assert batch.input_ids.tolist() == ids
    assert batch.token_type_ids.tolist() == types
    assert batch.position_ids.tolist() == positions
    assert batch.cu_seqlens.tolist() == borders
    assert batch.lengths == tuple(np.diff(borders))


def test_batches_hold_every_row_once_and_no_more_tokens_than_asked():
    lengths = np.random.default_rng(0).integers(1, 40, 500)
    batches = list(batches_by_tokens(lengths, 100))
    assert sorted(np.concatenate(batches)) == list(range(500))
    assert all(lengths[rows].sum() <= 100 for rows in batches)
    for found, expected in (([300, 5], [[0], [1]]), ([50, 50, 1], [[0, 1], [2]])):
        assert [rows.tolist() for rows in batches_by_tokens(np.array(found), 100)] == expected
    assert list(batches_by_tokens(np.array([], np.int64), 100)) == []


def test_equal_lengths_are_neighbours_longest_first():
    lengths = np.array([3, 9, 3, 5, 9, 3])
    (rows,) = batches_by_tokens(lengths, 100)
    assert rows.tolist() == [1, 4, 3, 0, 2, 5]


def test_a_padded_batch_is_packed_without_its_padding():
    ids = torch.tensor([[5, 6, 0, 0], [7, 8, 9, 0], [4, 0, 3, 0]])
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 0]])
    types = torch.tensor([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]])
    batch, real = pack_padded(ids, mask, types)
    assert batch.input_ids.tolist() == [5, 6, 7, 8, 9, 4, 3]
    assert batch.token_type_ids.tolist() == [0, 1, 0, 0, 1, 0, 1]
    assert batch.position_ids.tolist() == [0, 1, 0, 1, 2, 0, 2]  # a hole keeps its position
    assert batch.lengths == (2, 3, 2) and batch.cu_seqlens.tolist() == [0, 2, 5, 7]
    assert len(batch) == 3 and torch.equal(real, mask.bool())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.ones(3, dtype=torch.long),), "batch, length"),
        ((torch.ones(1, 3, dtype=torch.long), torch.ones(1, 4)), "attention_mask"),
        ((torch.ones(1, 3, dtype=torch.long), None, torch.ones(2, 3)), "token_type_ids"),
        ((torch.ones(1, 3, dtype=torch.long), torch.zeros(1, 3)), "no real token"),
    ],
)
def test_impossible_batches_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        pack_padded(*arguments)


def test_joined_sequences_are_those_of_all_parts(tiny_encoder):
    texts = toy_sentences(7)
    whole = tiny_encoder.tokenizer(texts)
    parts = [tiny_encoder.tokenizer(part) for part in (texts[:3], [], texts[3:])]
    joined = TokenSequences.join(parts)
    assert list(joined) == list(whole) and joined.ids.dtype == whole.ids.dtype
    assert np.array_equal(joined.first_lengths, whole.first_lengths)
