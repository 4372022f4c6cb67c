"""Lines and unquoted tables: quotation marks, exotic separators, encodings, faults by line."""

import pytest
from conftest import real_data
from reading import error_of, write

from data.tables import choice, plain_fields, plain_lines, plain_table, score


def test_a_quotation_mark_is_a_character(tmp_path):
    path = write(tmp_path, 'a "quoted\tb"\t""\n"\tx\ty\n')
    assert list(plain_fields(path, 3)) == [(1, ['a "quoted', 'b"', '""']), (2, ['"', "x", "y"])]


def test_a_table_is_read_by_its_columns_names(tmp_path):
    path = write(tmp_path, "\ufeffb\tother\ta\r\n1\t2\t3\r\n4\t5\t6\r\n")
    assert list(plain_table(path, ("a", "b"))) == [(2, ["3", "1"]), (3, ["6", "4"])]


def test_latin_1_is_recognised_by_not_being_utf_8(tmp_path):
    text = "caf\u00e9 \u0085 na\u00efve"  # U+0085 is a line end to str.splitlines
    latin = write(tmp_path, f"{text}\n\n  \nplain\n".encode("latin-1"), "latin")
    utf = write(tmp_path, f"{text}\n\n  \nplain\n".encode(), "utf")
    assert list(plain_lines(latin)) == list(plain_lines(utf)) == [(1, text), (4, "plain")]


def test_real_latin_1_keeps_its_letters():
    for sign in ("pos", "neg"):
        path = real_data(f"transfer/rt-polarity.{sign}")
        lines = path.read_bytes().decode("latin-1").split("\n")
        assert [text for _, text in plain_lines(path)] == [line.strip() for line in lines[:-1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "file.csv: is empty"),
        ("a\tb\tc\n", "file.csv: has a header but no rows"),
        ("a\tc\n1\t2\n", "file.csv:1: no column 'b'"),
        ("a\tb\tc\n1\t2\n1\n", "file.csv:3: 1 tab-separated field(s), expected 2 or more"),
        (b"a\tb\n\xff\tx\n", "file.csv:2: byte 0xff is not valid UTF-8"),
    ],
)
def test_faults_of_a_table_are_named_by_line(tmp_path, content, message):
    assert message in error_of(plain_table, write(tmp_path, content), ("a", "b"))


def test_faults_of_lines_and_fields_are_named(tmp_path):
    assert "file.csv: is empty" in error_of(plain_lines, write(tmp_path, " \n\n"))
    assert "cannot be read" in error_of(plain_lines, tmp_path / "absent")
    path = write(tmp_path, "a\tb\nc\n")
    assert "file.csv:2: 1 tab-separated field(s), expected 2" in error_of(plain_fields, path, 2)


def test_labels_and_scores():
    assert choice("f:1", "no", ("yes", "no")) == 1
    assert "f:1: label is 'maybe', expected one of yes, no" in error_of(
        choice, "f:1", "maybe", ("yes", "no")
    )
    assert score("f:1", "5.000") == 5.0
    for text in ("", "x", "5.1", "-1", "nan"):
        assert "f:1: score is" in error_of(score, "f:1", text)
