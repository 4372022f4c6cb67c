"""Similarity without a head: cosines of any vectors, row by row."""

import numpy as np
import pytest

from data.examples import SentencePair
from evaluation.sts import cosine_scores, pair_cosines, sts_metrics


def test_cosine_scores_come_from_any_encode_function():
    table = {"a": [3.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 2.0]}
    pairs = [SentencePair("1", "a", "a", 5.0), SentencePair("2", "a", "b", 2.0)]
    pairs.append(SentencePair("3", "a", "c", 0.0))

    def encode(texts):
        return np.array([table[text] for text in texts])

    assert cosine_scores(encode, pairs) == pytest.approx([1.0, 2**-0.5, 0.0])
    assert sts_metrics(encode, pairs)["spearman"] == pytest.approx(1.0)


def test_cosines_of_cached_vectors_are_those_of_the_texts():
    random = np.random.default_rng(0)
    first, second = random.normal(size=(2, 7, 5)).astype(np.float32)
    found = pair_cosines(first, second)
    for row, a, b in zip(found, first, second, strict=True):
        assert row == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-6)
    pairs = [SentencePair(str(i), f"a{i}", f"b{i}", 1.0) for i in range(7)]

    def encode(texts):
        return np.array([(first if text[0] == "a" else second)[int(text[1:])] for text in texts])

    np.testing.assert_array_equal(cosine_scores(encode, pairs), found)
    assert pair_cosines(first, 3 * first) == pytest.approx(np.ones(7))


def test_a_vector_of_zeros_has_cosine_zero():
    assert pair_cosines(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0.0]
