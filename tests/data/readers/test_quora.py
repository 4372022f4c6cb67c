"""Quora: the rows that the course's code passes over are dropped aloud, the others kept."""

import logging

import pytest
from conftest import real_data
from reading import error_of, plain_rows, write

from data.examples import SentencePair
from data.tasks import read_quora

QUORA = "\tid\tsentence1\tsentence2\tis_duplicate\n"


@pytest.mark.parametrize("name", ["quora-train.csv", "quora-dev.csv"])
def test_quora_equals_a_plain_csv_pass_less_the_rows_without_label(name, caplog):
    rows = plain_rows(real_data(f"cs224n/{name}"))
    labelled = [row for row in rows if row["is_duplicate"]]
    assert len(rows) == {"quora-train.csv": 12000, "quora-dev.csv": 4000}[name]
    assert len(labelled) == len(rows) - 1
    pairs = read_quora(real_data(f"cs224n/{name}"))
    assert [(pair.id, pair.text_a, pair.text_b, pair.label) for pair in pairs] == [
        (row["id"], row["sentence1"].strip(), row["sentence2"].strip(), float(row["is_duplicate"]))
        for row in labelled
    ]
    assert f"1 of {len(rows)} rows do not parse" in caplog.text


def test_quora_rows_that_do_not_parse_are_dropped_aloud(tmp_path, caplog):
    body = "0\ta\tx\ty\t1.0\n1\tb\tx\n2\tc\tx\ty\t\n3\td\tx\ty\tmaybe\n4\te\tx\ty\t0.0\tsurplus\n"
    path = write(tmp_path, QUORA + body)
    with caplog.at_level(logging.WARNING, "data"):
        pairs = read_quora(path)
    assert pairs == [SentencePair("a", "x", "y", 1.0), SentencePair("e", "x", "y", 0.0)]
    assert f"{path}: 3 of 5 rows do not parse (first: line 3)" in caplog.text


def test_a_clean_quora_file_warns_of_nothing(tmp_path, caplog):
    path = write(tmp_path, "\tid\tsentence1\tsentence2\n0\tA\tx \t y\n")
    assert read_quora(path, labelled=False) == [SentencePair("a", "x", "y")]
    assert not caplog.records


@pytest.mark.parametrize("label", ["2", "0.5", "-1.0"])
def test_a_quora_number_other_than_0_and_1_is_an_error(tmp_path, label):
    path = write(tmp_path, QUORA + f"0\ta\tx\ty\t1\n1\tb\tx\ty\t{label}\n")
    assert "file.csv:3: is_duplicate is" in error_of(read_quora, path)


def test_a_quora_file_of_dropped_rows_only_is_an_error(tmp_path):
    path = write(tmp_path, QUORA + "0\ta\tx\ty\t\n1\tb\n")
    assert "file.csv:2: 2 of 2 rows do not parse" in error_of(read_quora, path)
