"""STS: similarities from 0 to 5, and the rows of the official dev set among them."""

import pytest
from conftest import real_data
from reading import error_of, plain_rows, write

from data.examples import SentencePair
from data.tasks import official_dev, read_sts

STS = "\tid\tsentence1\tsentence2\tsimilarity\n"


def test_sts_equals_a_plain_csv_pass():
    for name in ("sts-train.csv", "sts-dev.csv"):
        assert read_sts(real_data(f"cs224n/{name}")) == [
            SentencePair(
                row["id"].strip().lower(),
                row["sentence1"].strip(),
                row["sentence2"].strip(),
                float(row["similarity"]),
                int(row[""]),
            )
            for row in plain_rows(real_data(f"cs224n/{name}"))
        ]


@pytest.mark.parametrize(
    ("name", "labelled", "count"),
    [
        ("sts-train.csv", True, 1031),
        ("sts-dev.csv", True, 148),
        ("sts-test-student.csv", False, 321),
    ],
)
def test_official_dev_pairs_are_spread_over_all_three_parts(name, labelled, count):
    assert len(official_dev(read_sts(real_data(f"cs224n/{name}"), labelled))) == count


@pytest.mark.parametrize("label", ["", "alike", "5.1", "-0.1", "inf", "nan"])
def test_a_bad_sts_label_is_named_by_file_and_line(tmp_path, label):
    path = write(tmp_path, STS + f"0\ta\tx\ty\t5\n1\tb\tx\ty\t{label}\n")
    assert f"file.csv:3: similarity is {label!r}, expected a number" in error_of(read_sts, path)


def test_sts_rows_come_from_the_unnamed_column_when_it_holds_integers(tmp_path):
    body = "".join(f"{row}\tk\tx\ty\t1.5\n" for row in ("5748", "5749", "7248", "7249", "", "a"))
    pairs = read_sts(write(tmp_path, STS + body))
    assert [pair.row for pair in pairs] == [5748, 5749, 7248, 7249, None, None]
    assert official_dev(pairs) == pairs[1:3]
    no_such_column = write(tmp_path, "id\tsentence1\tsentence2\tsimilarity\na\tx\ty\t1\n")
    assert read_sts(no_such_column) == [SentencePair("a", "x", "y", 1.0)]
