"""Files, lines and tables: what is tolerated leaves no trace; no line is too long to be refused."""

import gzip
import io
import lzma
import sys
import time
import tracemalloc

import pytest
from reading import error_of, write

from data.sentences import iter_sentences
from data.tables import (
    choice,
    content_digest,
    decoded_lines,
    numbered_lines,
    plain_fields,
    read_header,
    read_table,
    records,
    score,
    stored,
    text_lines,
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
    assert "b.txt: cannot be read" in error_of(content_digest, tmp_path / "b.txt")
    assert "none: cannot be read (No such file" in error_of(content_digest, tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "latin", "expected"),
    [
        ("\ufeff a \n\n\u2028\nb\x85c", False, [(1, "a"), (2, ""), (3, ""), (4, "b\x85c")]),
        ("caf\xe9\nx", True, [(1, "caf\xe9"), (2, "x")]),
        ("x\ncaf\xe9".encode("latin-1"), True, [(1, "x"), (2, "caf\xe9")]),
    ],
)
def test_lines_of_text_are_stripped_and_may_be_latin(content, latin, expected, tmp_path):
    assert list(text_lines(write(tmp_path, content), latin)) == expected


# --- tables


@pytest.mark.parametrize(
    ("delimiter", "quotes", "content", "expected"),
    [
        ("\t", False, '"a\tb"\t""\n" \tx', [(1, ['"a', 'b"', '""']), (2, ['"', "x"])]),
        ("||", False, " a || b|c \r\n\n||d", [(1, ["a", "b|c"]), (3, ["", "d"])]),
        ("|||", False, "a|||b", [(1, ["a", "b"])]),
        ("\t", True, '"a ""b""\tc"\td"e\n b \t', [(1, ['a "b"\tc', 'd"e']), (2, [" b ", ""])]),
        (",", True, '\ufeff"a, b","c"d\r\n\r\ne', [(1, ["a, b", "cd"]), (3, ["e"])]),
    ],
)
def test_records_are_lines_of_fields_with_quotes_or_without(
    delimiter, quotes, content, expected, tmp_path
):
    assert list(records(write(tmp_path, content), delimiter, quotes)) == expected


def test_tables_are_read_by_the_names_of_their_columns(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfid\tsentence\r\na\tred kites\r\n\r\nb\tblue\r\n")
    rows = [(2, {"id": "a", "sentence": "red kites"}), (4, {"id": "b", "sentence": "blue"})]
    assert list(read_table(path, ("id", "sentence"), "\t")) == rows
    assert read_header(path, "\t") == ["id", "sentence"]
    path = write(tmp_path, "b,a\n1\n1,2,3\n")
    rows = [(2, {"b": "1", "a": None}), (3, {"b": "1", "a": "2"})]
    assert list(read_table(path, ("a",), ",", ragged=True)) == rows
    path = write(tmp_path, "\ufeffb\tother\ta \r\n1\t2\t3\r\n4\t5\t6\t7\r\n")
    rows = [(2, {"b": "1", "other": "2", "a": "3"}), (3, {"b": "4", "other": "5", "a": "6"})]
    assert list(read_table(path, ("a", "b"), "\t", quotes=False)) == rows
    assert read_header(path, "\t", quotes=False) == ["b", "other", "a"]


def test_quoted_fields_may_hold_line_ends_where_that_is_asked_for(tmp_path):
    path = write(tmp_path, 'id\tsentence\na\t"field\nof ""two""\tlines"\nb\tplain\n')
    assert list(read_table(path, ("id", "sentence"), "\t", spans=True)) == [
        (2, {"id": "a", "sentence": 'field\nof "two"\tlines'}),
        (4, {"id": "b", "sentence": "plain"}),
    ]
    rows = "".join(f"{n}\tkite number {n}\n" for n in range(20_000))
    path = write(tmp_path, f'id\tsentence\nx\tfine\ny\t"never closed\n{rows}')
    assert "file.csv:3: field larger" in error_of(read_table, path, (), "\t", spans=True)


def test_a_line_of_names_is_passed_over_where_there_is_one(tmp_path):
    rows = [(2, ["1", "2"]), (3, ["b", "c"])]
    assert list(plain_fields(write(tmp_path, "b\ta\n1\t2\nb\tc\n"), 2, header="b")) == rows
    assert len(list(plain_fields(write(tmp_path, "b\ta\n1\t2\n"), 2))) == 2


# --- fields


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

LENGTH = 2**26
READERS = {
    "table": lambda path: read_table(path, (), "\t"),
    "lines": lambda path: text_lines(path, latin=True),
    "texts": read_rows,
}


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
    for read in (iter_sentences, lambda path: text_lines(path, latin=True)):
        assert "file.csv:2: more than 12 bytes" in error_of(read, path)
    content = b"a\n" + b"x" * 13
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert "stdin:2: more than 12 bytes" in error_of(lambda: list(read_rows(STDIN)))
    assert "a.csv:2: more than" in error_of(decoded_lines, io.BytesIO(content), "a.csv")
    path = write(tmp_path, gzip.compress("kites\n\näöü kites fly".encode()), "corpus.gz")
    with pytest.raises(CorpusError, match=r"corpus\.gz:3: more than 12 characters"):
        list(read_paragraphs([path]))
