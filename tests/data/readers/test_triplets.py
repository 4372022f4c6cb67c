"""Triplets of two or three columns of any name, as a stream."""

import csv

import pytest
from conftest import real_data
from reading import error_of, write

from data.examples import Triplet
from data.triplets import iter_triplets


def test_nli_triplets_all_read():
    triplets = list(iter_triplets(real_data("nli/nli_for_simcse.csv")))
    assert len(triplets) == 10193
    assert all(triplet.hard_negative for triplet in triplets)


def test_other_header_names_read_as_triplets():
    path = real_data("chinese/ocnli_sup_train_data.csv")
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][0] == "anchor"
    assert list(iter_triplets(path)) == [Triplet(*map(str.strip, row)) for row in rows[1:]]


def test_two_columns_of_one_name_are_no_triplets(tmp_path):
    path = write(tmp_path, "sentence,sentence,negative\nA,P,N\n")
    assert "file.csv:1: 'sentence': more than one column" in error_of(list, iter_triplets(path))


def test_triplets_have_two_or_three_columns_of_any_name(tmp_path):
    three = write(tmp_path, 'sent0,sent1,hard_neg\n"a, b",c,d \n')
    assert list(iter_triplets(three)) == [Triplet("a, b", "c", "d")]
    two = write(tmp_path, "premise,entailment\na,b\n")
    assert list(iter_triplets(two)) == [Triplet("a", "b", None)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b,c\nx,y,z\n,y,z\n", "file.csv:3: column 'a' is empty"),
        ("a,b,c\nx, ,z\n", "file.csv:2: column 'b' is empty"),
        ("a,b,c\nx,y,\n", "file.csv:2: column 'c' is empty"),
        ("a,b,c\nx,y\n", "file.csv:2: 2 comma-separated fields, expected 3"),
        ("a,b,c,d\n1,2,3,4\n", "file.csv:1: 4 comma-separated column(s), expected 2 or 3"),
        ("a\tb\nx\ty\n", "file.csv:1: 1 comma-separated column(s), expected 2 or 3"),
        ("", "file.csv: is empty"),
    ],
)
def test_a_broken_triplet_file_is_named_by_file_and_line(tmp_path, content, expected):
    assert expected in error_of(iter_triplets, write(tmp_path, content))
