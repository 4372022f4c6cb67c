"""Files, lines and tables: what is tolerated leaves no trace, faults are named by file and line."""

import gzip
import io
import lzma
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from reading import error_of, write

from data.sentences import iter_sentences
from data.tables import (
    choice,
    content_digest,
    decoded_lines,
    numbered_lines,
    plain_fields,
    plain_lines,
    plain_table,
    read_header,
    read_table,
    score,
    stored,
)
from minbert.pretraining.corpus import CorpusError, read_paragraphs
from runtime import files
from runtime.files import file_digest
from search.index import STDIN, read_rows


def test_a_compressed_file_is_read_by_its_plain_name_and_a_plain_one_goes_first(tmp_path):
    path = tmp_path / "a.txt"
    (tmp_path / "a.txt.xz").write_bytes(lzma.compress(b"one\ntwo\n"))
    assert stored(path).name == "a.txt.xz"
    assert list(numbered_lines(path)) == [(1, "one\n"), (2, "two\n")]
    packed = content_digest(path)
    path.write_text("one\ntwo\n")
    assert stored(path) == path and file_digest(path) == content_digest(path) == packed
    path.write_text("three")
    assert list(numbered_lines(path)) == [(1, "three")]
    (tmp_path / "b.txt.xz").write_bytes(lzma.compress(b"one" * 999)[:-20])
    for read in (numbered_lines, plain_lines, content_digest):
        assert "b.txt: cannot be read" in error_of(read, tmp_path / "b.txt")
    assert "none: cannot be read (No such file" in error_of(content_digest, tmp_path / "none")


# --- tables by csv's rules


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
    assert "file.csv:1:" in error_of(read_header, write(tmp_path, b"id\rsentence\na\tb\n"), "\t")


# --- lines and tables without quoting


def test_a_quotation_mark_is_a_character(tmp_path):
    path = write(tmp_path, 'a "quoted\tb"\t""\n"\tx\ty\n')
    assert list(plain_fields(path, 3)) == [(1, ['a "quoted', 'b"', '""']), (2, ['"', "x", "y"])]


def test_a_table_is_read_by_its_columns_names(tmp_path):
    path = write(tmp_path, "\ufeffb\tother\ta\r\n1\t2\t3\r\n4\t5\t6\r\n")
    assert list(plain_table(path, ("a", "b"))) == [(2, ["3", "1"]), (3, ["6", "4"])]


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
    assert [score("f:1", text) for text in ("5.000", " .5", "5.", "+1e-1")] == [5.0, 0.5, 5.0, 0.1]
    for text in ("", "x", "5.1", "-1", "nan", "1_0", "٣", "\x1c 2"):
        assert "f:1: score is" in error_of(score, "f:1", text)
    started = time.perf_counter()
    assert "f:1: score is" in error_of(score, "f:1", "1" * 140_000 + "x")
    assert time.perf_counter() - started < 5  # not a time that grows with the square: minutes


# --- lines of any length


READERS = {
    "table": lambda path: read_table(path, (), "\t"),
    "header": lambda path: read_header(path, "\t"),
    "lines": plain_lines,
    "texts": read_rows,
}
LENGTH = 2**26


@pytest.mark.parametrize("name", READERS)
def test_a_64_mb_line_is_refused_in_little_memory(name, tmp_path):
    path = tmp_path / "file.csv"
    with path.open("wb") as file:
        file.truncate(LENGTH)  # zeros, which take no room on the disk
    tracemalloc.start()
    try:
        message = error_of(lambda: list(READERS[name](path)))
        assert tracemalloc.get_traced_memory()[1] < LENGTH / 8
    finally:
        tracemalloc.stop()
    assert "file.csv:1: more than 1,048,576 bytes without a line end; break" in message


def test_the_longest_line_is_read_and_a_longer_one_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST", 12)
    path = write(tmp_path, "two kites\n" + "x" * 11 + "\nend")
    assert list(iter_sentences(path)) == ["two kites", "x" * 11, "end"]
    path = write(tmp_path, "two kites\n" + "x" * 12 + "\nend")
    assert "file.csv:2: more than 12 bytes" in error_of(iter_sentences, path)
    assert "file.csv:2: more than 12 bytes" in error_of(plain_lines, path)


def test_so_are_those_of_stdin_and_of_submissions(monkeypatch):
    monkeypatch.setattr(files, "LONGEST", 12)
    content = b"a\n" + b"x" * 13
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert "stdin:2: more than 12 bytes" in error_of(lambda: list(read_rows(STDIN)))
    assert "a.csv:2: more than" in error_of(decoded_lines, io.BytesIO(content), "a.csv")


def test_so_are_those_of_a_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST", 12)
    path = write(tmp_path, gzip.compress("kites\n\näöü kites fly".encode()), "corpus.gz")
    with pytest.raises(CorpusError, match=r"corpus\.gz:3: more than 12 characters"):
        list(read_paragraphs([path]))
