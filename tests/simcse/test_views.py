"""Which sentences a contrastive example consists of, and what they cost to hold."""

import tracemalloc

import numpy as np
import pytest
from conftest import toy_sentences
from tuning import triplets

from data.examples import DataError, Triplet
from data.overlap import Seen, text_hash
from simcse.views import supervised, unsupervised


def test_unsupervised_views_are_the_same_row_twice(tiny_encoder):
    data = unsupervised(iter(toy_sentences(5)), tiny_encoder.tokenizer, 32)
    assert data.rows.tolist() == [[i, i] for i in range(5)]
    assert len(data.sequences) == 5 and data.same_twice


def test_supervised_views_are_anchor_positive_hard_negative(tiny_encoder):
    data = supervised(iter(triplets(4)), tiny_encoder.tokenizer, 32)
    decode = tiny_encoder.tokenizer.backend.decode
    for triplet, rows in zip(triplets(4), data.rows, strict=True):
        texts = [decode(data.sequences[row]) for row in rows]
        assert texts == [triplet.anchor, triplet.positive, triplet.hard_negative]
    pairs = [Triplet("the cat", "a cat"), Triplet("the dog", "a dog")]
    found = supervised(pairs, tiny_encoder.tokenizer, 32)
    assert found.rows.tolist() == [[0, 1], [2, 3]] and not found.same_twice


@pytest.mark.parametrize("mixed", [[None, "a lamp"], ["a lamp", None]])
def test_a_mixture_of_pairs_and_triplets_is_refused(mixed, tiny_encoder):
    data = [Triplet("the cat", "a cat", negative) for negative in mixed]
    with pytest.raises(DataError, match="triplet 2"):
        supervised(data, tiny_encoder.tokenizer, 32)
    with pytest.raises(DataError, match="no triplets"):
        supervised([], tiny_encoder.tokenizer, 32)


@pytest.mark.parametrize("views", [unsupervised, supervised])
def test_texts_are_noted_on_the_way_to_token_ids(views, tiny_encoder):
    examples = triplets(4)
    texts = [text for triplet in examples for text in triplet.texts]
    seen = Seen()
    views(texts if views is unsupervised else examples, tiny_encoder.tokenizer, 32, seen)
    assert all(text_hash(text) in seen.texts for text in texts)
    assert text_hash("a text that is in none of them") not in seen.texts


def test_a_stream_of_sentences_is_held_as_two_bytes_a_token(tiny_encoder):
    sentences = toy_sentences(5_000)
    tracemalloc.start()
    data = unsupervised(iter(sentences), tiny_encoder.tokenizer, 32)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    tokens = len(data.sequences.ids)
    assert data.sequences.ids.dtype == np.uint16
    # ids, offsets, first lengths and two row columns; at the peak also the parts to be joined.
    assert kept < 2 * tokens + 32 * len(sentences) + 100_000
    assert peak < 3 * kept + 4_000_000
