"""What reads words alone, and the rows of the baselines' table."""

from functools import partial

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from scipy.sparse import csr_matrix
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import paired_cosine_distances

from baselines import table
from baselines.embedder import cosines, similarities
from baselines.isotropy import FlowConfig, flowed
from baselines.jaccard import jaccard
from baselines.table import baselines, reduced_size
from baselines.words import (
    StaticVectors,
    majority,
    static_file,
    tfidf,
    word_embeddings,
    word_overlap,
)
from data.examples import DataError

LEFT = ["The cat sees a dog.", "a red boat", "the old lamp", ""]
RIGHT = ["A dog sees the cat!", "the quiet river", "the old, old lamp", "a lamp"]
TEXTS = toy_sentences(40)


def test_a_classifier_on_the_majoritys_vectors_predicts_the_majority():
    texts, labels = [*LEFT, *RIGHT], [0, 1, 1, 1, 2, 1, 0, 2]
    vectors = majority().embed(texts)
    found = LogisticRegression().fit(vectors, labels).predict(vectors)
    expected = DummyClassifier().fit(vectors, labels).predict(vectors)
    assert found.tolist() == expected.tolist()
    assert np.ptp(similarities(majority(), LEFT, RIGHT)) == 0  # correlates with nothing


def test_jaccard_counts_distinct_words_whatever_their_order_and_case():
    assert jaccard(LEFT, RIGHT).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert jaccard(["a b c", "?"], ["b c d", "!"]).tolist() == [2 / 4, 1.0]
    assert similarities(word_overlap(), LEFT, RIGHT).tolist() == jaccard(LEFT, RIGHT).tolist()


def test_cosines_of_rows_are_scikit_learns_for_both_kinds_of_matrix():
    left, right = np.random.default_rng(0).normal(size=(2, 6, 5))
    left[2] = 0  # no direction: 0 by convention, and no division by zero
    expected = 1 - paired_cosine_distances(left, right)
    expected[2] = 0
    assert cosines(left, right) == pytest.approx(expected)
    assert cosines(csr_matrix(left), csr_matrix(right)) == pytest.approx(expected)


def test_tfidf_learns_rarity_from_the_set_that_is_scored():
    texts = [*LEFT, *RIGHT]
    adapted = tfidf().adapt(texts)
    library = TfidfVectorizer(token_pattern=r"\w+").fit(texts)
    assert (adapted.embed(LEFT) != library.transform(LEFT)).nnz == 0
    # Pairs by themselves are their own set.
    expected = cosines(library.transform(LEFT), library.transform(RIGHT))
    assert similarities(tfidf(), LEFT, RIGHT) == pytest.approx(expected)
    assert similarities(adapted, LEFT, RIGHT) == pytest.approx(expected)
    assert tfidf().embed is None  # two calls would count different words
    assert similarities(tfidf(), ["?"], ["!"]).tolist() == [0.0]  # no word at all


GLOVE = "the 1 0 0\ncat 0 2 0\nat name@site.com 5 5 5\ndog 0 0 4\n"


def write(folder, content):
    path = folder / "vectors.txt"
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize("header", ["", "4 3\n"], ids=["GloVe", "word2vec"])
def test_a_sentence_is_the_mean_of_its_known_words(header, tmp_path):
    embedder = static_file(write(tmp_path, header + GLOVE), "glove, mean")
    found = embedder.embed(["The cat, the unknown!", "unknown", ""])
    assert found == pytest.approx(np.array([[2 / 3, 2 / 3, 0], [0, 0, 0], [0, 0, 0]]))


def test_only_words_that_occurred_are_held_and_each_is_sought_once(tmp_path):
    vectors = StaticVectors(write(tmp_path, GLOVE))
    vectors.embed(["the cat"])
    assert vectors.known.keys() == {"the", "cat"}
    embedder = static_file(vectors.path, "glove").adapt(["the cat", "a dog"])
    vectors.path.unlink()
    # After `adapt` the file is not needed for the words of that set.
    assert embedder.embed(["dog"]).tolist() == [[0, 0, 4]]
    assert vectors.embed(["cat the the"]).shape == (1, 3)
    with pytest.raises(DataError, match="cannot be read"):
        vectors.embed(["dog"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "vectors.txt: is empty"),
        ("word\n", "vectors.txt:1: expected a word and its vector"),
        ("the 1 0 0\ncat 1 2\n", "vectors.txt:2: 3 blank-separated fields"),
        ("the 1 0 0\ncat 1 x 2\n", "vectors.txt:2: .*not a number"),
        ("the 1 0 0\ncat 1 nan 2\n", "vectors.txt:2: .*not finite"),
    ],
)
def test_a_broken_file_of_vectors_is_named_with_its_line(content, message, tmp_path):
    with pytest.raises(DataError, match=message):
        static_file(write(tmp_path, content), "glove").embed(["the cat"])


def test_word_embeddings_are_averaged_without_special_tokens(tiny_encoder):
    table = tiny_encoder.model.embeddings.word_embeddings.weight
    found = word_embeddings(tiny_encoder, "words").embed([*TEXTS, ""])
    for text, vector in zip(TEXTS, found, strict=False):
        ids = tiny_encoder.tokenizer.backend.encode(text, add_special_tokens=False).ids
        expected = sum((table[i] for i in ids), torch.zeros(32)) / len(ids)
        assert vector == pytest.approx(expected.detach().numpy(), abs=1e-5)
    assert not found[-1].any()


def test_every_row_of_the_table_scores_pairs_before_and_after_it_is_adapted(
    tiny_encoder, tmp_path, monkeypatch
):
    monkeypatch.setattr(table, "flowed", partial(flowed, config=FlowConfig(num_steps=2)))
    glove = tmp_path / "toy.txt"
    glove.write_text("the 1 2\ncat 2 1\n")
    rows = baselines(tiny_encoder, "tiny", glove)
    assert "; ".join(row.name for row in rows) == (
        "majority; word overlap; TF-IDF; toy, mean; tiny, word embeddings; tiny, [CLS]; "
        "tiny, mean; tiny, first-last; tiny, top-2; tiny, first-last, flow; "
        "tiny, first-last, whitening; tiny, first-last, whitening 16"
    )
    assert tiny_encoder.pooling == "cls_before_pooler"  # left as it is
    (mean,) = (row for row in rows if row.name == "tiny, mean")
    averaged = tiny_encoder.clone()
    averaged.pool_by("avg")
    assert np.array_equal(mean.embed(TEXTS), averaged.encode(TEXTS))
    for row in rows:
        adapted = row.adapt(TEXTS) if row.adapt else row
        assert adapted.name == row.name
        for scored in (row, adapted):
            found = similarities(scored, TEXTS[:20], TEXTS[20:])
            assert found.shape == (20,) and np.isfinite(found).all(), row.name
    assert [reduced_size(hidden) for hidden in (1024, 768, 256)] == [256, 256, 128]
