"""What knows no model: the majority, word overlap, TF-IDF, averaged static vectors."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import paired_cosine_distances

from baselines.embedder import Embedder, cosines, similarities
from baselines.majority import majority
from baselines.overlap import jaccard, word_overlap
from baselines.static import StaticVectors, static_file
from baselines.tfidf import tfidf
from data.examples import DataError

LEFT = ["The cat sees a dog.", "a red boat", "the old lamp", ""]
RIGHT = ["A dog sees the cat!", "the quiet river", "the old, old lamp", "a lamp"]


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
    assert word_overlap().embed is None
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


def test_tfidf_of_texts_without_words_is_zero():
    assert similarities(tfidf(), ["?"], ["!"]).tolist() == [0.0]


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
    assert vectors.found.keys() == {"the", "cat"}
    embedder = static_file(vectors.path, "glove").adapt(["the cat", "a dog"])
    vectors.path.unlink()
    # After `adapt` the file is not needed for the words of that set.
    assert embedder.embed(["dog"]).tolist() == [[0, 0, 4]]
    assert vectors.embed(["cat the the"]).shape == (1, 3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "vectors.txt: is empty"),
        ("word\n", "vectors.txt:1: expected a word and its vector"),
        ("the 1 0 0\ncat 1 2\n", "vectors.txt:2: 3 blank-separated fields"),
        ("the 1 0 0\ncat 1 x 2\n", "vectors.txt:2: .*not a number"),
        ("the 1 0 0\ncat 1 nan 2\n", "vectors.txt:2: .*not finite"),
    ],
)
def test_a_broken_file_of_vectors_is_named_with_its_line(content, said, tmp_path):
    with pytest.raises(DataError, match=said):
        static_file(write(tmp_path, content), "glove").embed(["the cat"])


def test_a_missing_file_of_vectors_is_one_line(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        static_file(tmp_path / "none.txt", "glove").adapt(["the cat"])


def test_an_embedder_without_vectors_and_similarities_says_so():
    with pytest.raises(ValueError, match="neither vectors nor similarities"):
        similarities(Embedder("empty", None), LEFT, RIGHT)
