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


def test_dropout_is_given_the_probabilities():
    seen = []

    def dropout(probs):
        seen.append(probs.shape)
        torch.testing.assert_close(probs.sum(dim=-1), torch.ones_like(probs[..., 0]))
        return torch.eye(probs.shape[-1], dtype=probs.dtype).expand_as(probs)

    q, k, v = inputs()
    torch.testing.assert_close(attention(q, k, v, LENGTHS, dropout), v)
    assert seen == [(3, length, length) for length in LENGTHS]
