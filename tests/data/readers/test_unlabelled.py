"""Unlabelled pairs are read from a table like CS224N's or from two texts a line."""

import pytest

from data.examples import DataError, SentencePair
from data.readers.unlabelled import read_unlabelled


def test_two_texts_a_line_and_a_table_give_the_same_pairs(tmp_path):
    plain, table = tmp_path / "plain.tsv", tmp_path / "table.csv"
    plain.write_text('a "b\tc\n  d \te\tmore\n', encoding="utf-8")
    table.write_text("id\tsentence1\tlabel\tsentence2\n7\t a \tx\tb\n8\tc\t\td\n")
    assert read_unlabelled(plain) == [
        SentencePair("line-1", 'a "b', "c"),
        SentencePair("line-2", "d", "e"),
    ]
    assert read_unlabelled(table) == [
        SentencePair("line-2", "a", "b"),
        SentencePair("line-3", "c", "d"),
    ]


def test_the_courses_test_files_are_such_tables(toy_data):
    for name in ("quora-test-student.csv", "sts-train.csv"):
        pairs = read_unlabelled(toy_data / name)
        assert len(pairs) in (8, 48) and {pair.label for pair in pairs} == {None}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("a\tb\njust one\n", ":2: 1 tab-separated field(s), expected 2"),
        ("a\tb\nc\t \n", ":2: a pair lacks a text"),
        ("sentence1\tsentence2\na\t\n", ":2: a pair lacks a text"),
        ("sentence1\tsentence2\n", "has a header but no rows"),
    ],
)
def test_what_is_no_pair_is_named_by_its_line(content, said, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        read_unlabelled(path)
    assert said in str(caught.value) and str(path) in str(caught.value)
    with pytest.raises(DataError, match="nowhere"):
        read_unlabelled(tmp_path / "nowhere")
