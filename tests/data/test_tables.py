"""Files, lines and tables: what is tolerated leaves no trace; no line is too long to be refused."""

import io
import lzma
import time
import tracemalloc

import pytest
from reading import error_of, write

from data.sentences import iter_sentences
from data.table import (
    choice,
    content_digest,
    decoded_lines,
    numbered_lines,
    open_table,
    pair_columns,
    plain_fields,
    score,
    stored,
    text_lines,
)
from runtime import files
from runtime.files import file_digest


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
    ("delimiter", "content", "expected"),
    [
        ("\t", '"a\tb"\t""\n" \tx', [(1, ['"a', 'b"', '""']), (2, ['"', "x"])]),
        ("||", " a || b|c \r\n\n||d", [(1, ["a", "b|c"]), (3, ["", "d"])]),
        ("|||", "a|||b", [(1, ["a", "b"])]),
    ],
)
def test_fields_of_published_sets_are_not_quoted(delimiter, content, expected, tmp_path):
    assert list(plain_fields(write(tmp_path, content), 2, delimiter=delimiter)) == expected


@pytest.mark.parametrize(
    ("content", "quotes", "expected"),
    [
        ('a ""b"\t"c ""d"" e"\n', True, ('a ""b"', 'c "d" e')),
        ('"a"\t"b" c\n', True, ("a", "b c")),
        ('"a"\t"b" c\n', False, ('"a"', '"b" c')),
    ],
)
def test_quotes_are_csvs_or_characters(content, quotes, expected, tmp_path):
    path = write(tmp_path, f"\ufeffsentence1\tsentence2\r\n\n{content}")
    ((line, row),) = open_table(path, pair_columns(), quotes=quotes).rows()
    assert line == 3 and tuple(row.values()) == expected


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
    "table": lambda path: open_table(path, pair_columns()).rows(),
    "lines": lambda path: text_lines(path, latin=True),
    "texts": lambda path: iter_sentences(path),
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
    assert "a.csv:2: more than" in error_of(decoded_lines, io.BytesIO(content), "a.csv")
