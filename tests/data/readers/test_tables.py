"""Tables: what is tolerated leaves no trace, what is broken is named by file and line."""

from pathlib import Path

import pytest
from reading import error_of, write

from data.tables import read_header, read_table


def table(path: Path, **options) -> list:
    return list(read_table(path, ("id", "sentence"), "\t", **options))


def test_bom_and_crlf_leave_no_trace(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfid\tsentence\r\na\tred kites\r\nb\tblue\r\n")
    assert table(path) == [
        (2, {"id": "a", "sentence": "red kites"}),
        (3, {"id": "b", "sentence": "blue"}),
    ]


def test_quoted_fields_may_hold_tabs_quotes_and_line_ends(tmp_path):
    path = write(tmp_path, 'id\tsentence\na\t"one ""odd""\tfield\nof two lines"\nb\tplain\n')
    assert table(path) == [
        (2, {"id": "a", "sentence": 'one "odd"\tfield\nof two lines'}),
        (4, {"id": "b", "sentence": "plain"}),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ["file.csv: is empty"]),
        (b"id\tsentence\n", ["file.csv: has a header but no rows"]),
        (b"id\ttext\na\tb\n", ["file.csv:1:", "'sentence'", "found 'id', 'text'"]),
        (b"id,sentence\na,b\n", ["file.csv:1:", "separated by comma, expected tab"]),
        (b"id\tsentence\tid\na\tb\tc\n", ["file.csv:1: 'id': more than one column"]),
        (b"id\tsentence\na\tb\nc\n", ["file.csv:3:", "1 tab-separated fields, expected 2"]),
        (b"id\tsentence\na\tb\tc\td\n", ["file.csv:2:", "4 tab-separated fields, expected 2"]),
        (b'id\tsentence\na\tb\n\n"c\nd"\n', ["file.csv:4:", "1 tab-separated fields"]),
        (b"id\tsentence\na\tb\nc\t\0\n", ["file.csv:3:", "NUL"]),
        (b"id\tsentence\na\tb\nc\tcaf\xe9\n", ["file.csv:3:", "byte 0xe9", "UTF-8"]),
        (b"\xff\xfei\0d\0", ["file.csv:1:", "byte 0xff", "UTF-8"]),
        (b'id\tsentence\na\tb\nc\t"' + b"long " * 30_000, ["file.csv:3:", "field", "quote"]),
    ],
)
def test_a_broken_table_is_named_by_file_and_line(tmp_path, content, expected):
    message = error_of(table, write(tmp_path, content))
    for part in expected:
        assert part in message


def test_an_overlong_field_after_many_lines_is_named_by_the_line_it_begins_on(tmp_path):
    rows = "".join(f"{n}\tkite number {n}\n" for n in range(20_000))
    message = error_of(table, write(tmp_path, f'id\tsentence\nx\tfine\ny\t"never closed\n{rows}'))
    assert "file.csv:3:" in message


def test_a_missing_file_and_a_directory_are_data_errors(tmp_path):
    assert "absent.csv: cannot be read" in error_of(table, tmp_path / "absent.csv")
    assert f"{tmp_path}: cannot be read" in error_of(table, tmp_path)


def test_a_header_that_is_no_row_is_named(tmp_path):
    assert "file.csv:1:" in error_of(read_header, write(tmp_path, b"id\rsentence\na\tb\n"), "\t")
