"""The encoder is a step of scikit-learn's pipelines, searches and column transformers."""

import pickle

import numpy as np
import pytest
from conftest import toy_sentences
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from minbert.interop import as_sklearn
from runtime.errors import UserError

TEXTS = toy_sentences(40)
LABELS = ["and" in text for text in TEXTS]


def test_transform_is_encode_and_fit_changes_nothing(tiny_encoder):
    transformer = as_sklearn(tiny_encoder)
    check_is_fitted(transformer)
    assert transformer.fit(TEXTS, LABELS) is transformer
    assert np.array_equal(transformer.fit_transform(TEXTS), tiny_encoder.encode(TEXTS))
    assert make_pipeline(transformer).transform(TEXTS).shape == (40, 32)


def test_a_pipeline_learns_what_its_last_step_learns_from_embeddings(tiny_encoder):
    pipeline = make_pipeline(as_sklearn(tiny_encoder), LogisticRegression())
    found = cross_val_predict(pipeline, TEXTS, LABELS, cv=4)
    expected = cross_val_predict(LogisticRegression(), tiny_encoder.encode(TEXTS), LABELS, cv=4)
    assert np.array_equal(found, expected)
    assert pipeline.fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.9


def test_clones_share_the_encoder_and_carry_the_parameters(tiny_encoder):
    transformer = as_sklearn(tiny_encoder, batch_tokens=50)
    copy = clone(make_pipeline(transformer))[0]
    assert copy is not transformer and type(copy) is type(transformer)
    assert copy.get_params() == {"encoder": tiny_encoder, "batch_tokens": 50}
    assert copy.set_params(batch_tokens=9).batch_tokens == 9 and transformer.batch_tokens == 50
    assert "MinbertTransformer(" in repr(copy)


def test_a_pickled_pipeline_predicts_the_same(tiny_encoder):
    pipeline = make_pipeline(as_sklearn(tiny_encoder, 70), LogisticRegression())
    pipeline.fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(pipeline))
    assert again[0].batch_tokens == 70 and again[0].encoder is not tiny_encoder
    assert np.array_equal(again.predict_proba(TEXTS), pipeline.predict_proba(TEXTS))


def test_a_column_of_a_table_is_transformed(tiny_encoder):
    table = np.array([TEXTS, TEXTS[::-1]], object).T
    expected = tiny_encoder.encode(TEXTS[::-1])
    for column in (1, [1]):
        step = make_column_transformer((as_sklearn(tiny_encoder), column))
        assert np.array_equal(step.fit_transform(table), expected)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (np.array([["a", "b"]]), r"one column of texts, got shape \(1, 2\)"),
        ("the cat", "got one string"),
        (["the cat", 3], "text 1 is a int, 3"),
    ],
)
def test_what_is_no_column_of_texts_is_refused(texts, message, tiny_encoder):
    with pytest.raises(UserError, match=message):
        as_sklearn(tiny_encoder).transform(texts)
