"""The rows of the table: which there are, and that each encoder row is what it is called."""

import numpy as np
import pytest
import torch
from conftest import toy_sentences

from baselines.embedder import of_encoder, similarities
from baselines.static import word_embeddings
from baselines.table import baselines, reduced_size

TEXTS = toy_sentences(40)


def test_every_row_scores_pairs_before_and_after_it_is_adapted(tiny_encoder, tmp_path):
    glove = tmp_path / "toy.txt"
    glove.write_text("the 1 2\ncat 2 1\n")
    rows = baselines(tiny_encoder, "tiny", glove)
    assert [row.name for row in rows] == [
        *("majority", "word overlap", "TF-IDF", "toy, mean", "tiny, word embeddings"),
        *("tiny, [CLS]", "tiny, mean", "tiny, first-last", "tiny, top-2"),
        *("tiny, first-last, flow", "tiny, first-last, whitening"),
        "tiny, first-last, whitening 16",
    ]
    for row in rows:
        adapted = row.adapt(TEXTS) if row.adapt else row
        assert adapted.name == row.name
        for scored in (row, adapted):
            found = similarities(scored, TEXTS[:20], TEXTS[20:])
            assert found.shape == (20,) and np.isfinite(found).all(), row.name


def test_rows_of_poolings_leave_the_encoder_as_it_is(tiny_encoder):
    before = tiny_encoder.pooling
    row = of_encoder(tiny_encoder, "mean", "avg")
    expected = tiny_encoder.encode(TEXTS)
    assert tiny_encoder.pooling == before
    assert not np.allclose(row.embed(TEXTS), expected)
    tiny_encoder.pool_by("avg")
    assert np.array_equal(row.embed(TEXTS), tiny_encoder.encode(TEXTS))


def test_word_embeddings_are_averaged_without_special_tokens(tiny_encoder):
    table = tiny_encoder.model.embeddings.word_embeddings.weight
    found = word_embeddings(tiny_encoder, "words").embed([*TEXTS, ""])
    for text, vector in zip(TEXTS, found, strict=False):
        ids = tiny_encoder.tokenizer.backend.encode(text, add_special_tokens=False).ids
        expected = sum((table[i] for i in ids), torch.zeros(32)) / len(ids)
        assert vector == pytest.approx(expected.detach().numpy(), abs=1e-5)
    assert not found[-1].any()


@pytest.mark.parametrize(("hidden_size", "kept"), [(1024, 256), (768, 256), (256, 128), (32, 16)])
def test_whitening_reduces_as_the_paper_does(hidden_size, kept):
    assert reduced_size(hidden_size) == kept
