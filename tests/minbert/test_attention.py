"""Attention computes its formula, and each sequence attends to itself alone."""

import math

import torch

from minbert.attention import attention

LENGTHS = (1, 4, 4, 4, 2, 7, 7, 1)


def inputs():
    torch.manual_seed(0)
    return [torch.randn(sum(LENGTHS), 3, 8, dtype=torch.float64) for _ in range(3)]


def by_formula(query, key, value):
    """Attention by loops over sequences, heads and tokens."""
    result = torch.zeros_like(query)
    start = 0
    for length in LENGTHS:
        for head in range(query.shape[1]):
            for i in range(start, start + length):
                scores = [
                    (query[i, head] @ key[j, head]).item() / math.sqrt(query.shape[2])
                    for j in range(start, start + length)
                ]
                total = sum(math.exp(score) for score in scores)
                for j, score in enumerate(scores):
                    result[i, head] += math.exp(score) / total * value[start + j, head]
        start += length
    return result


def test_attention_equals_the_formula():
    torch.testing.assert_close(attention(*inputs(), LENGTHS), by_formula(*inputs()))


def test_a_sequence_never_sees_its_neighbours():
    q, k, v = inputs()
    before = attention(q, k, v, LENGTHS)
    k[1:5] += 3.0  # the second sequence
    v[1:5] -= 2.0
    after = attention(q, k, v, LENGTHS)
    changed = (before != after).flatten(1).any(dim=1)
    assert changed[1:5].all()
    assert not changed[:1].any() and not changed[5:].any()


def test_the_order_of_tokens_makes_no_difference_to_attention():
    """Where a token stands is the business of its position embedding alone."""
    q, k, v = inputs()
    order = torch.randperm(7)
    start = sum(LENGTHS[:5])
    expected = attention(q, k, v, LENGTHS)[start : start + 7][order]
    shuffled = [x[start : start + 7][order] for x in (q, k, v)]
    torch.testing.assert_close(attention(*shuffled, (7,)), expected)


def test_dropout_is_given_the_probabilities():
    seen = []

    def dropout(probs):
        seen.append(probs.shape)
        torch.testing.assert_close(probs.sum(dim=-1), torch.ones_like(probs[..., 0]))
        return torch.eye(probs.shape[-1], dtype=probs.dtype).expand_as(probs)

    q, k, v = inputs()
    torch.testing.assert_close(attention(q, k, v, LENGTHS, dropout), v)
    assert seen == [(3, length, length) for length in LENGTHS]
