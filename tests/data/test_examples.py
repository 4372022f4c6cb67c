"""Examples: their texts come the same way from each kind."""

from dataclasses import asdict

import pytest

from data.examples import DataError, Sentence, SentencePair, Triplet
from runtime.errors import UserError


@pytest.mark.parametrize(
    ("example", "texts"),
    [
        (Sentence("1", "a kite"), ("a kite",)),
        (SentencePair("1", "a kite", "a lamp"), ("a kite", "a lamp")),
        (Triplet("a kite", "the kite"), ("a kite", "the kite")),
        (Triplet("a kite", "the kite", "a lamp"), ("a kite", "the kite", "a lamp")),
    ],
)
def test_texts_are_all_texts_in_order(example, texts):
    assert example.texts == texts
    assert "texts" not in asdict(example)  # digests of examples are of their fields


def test_a_data_error_is_the_users_to_mend():
    assert issubclass(DataError, UserError) and issubclass(DataError, ValueError)
