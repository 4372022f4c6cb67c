"""A line of any length is refused by file and line, and never held as a whole."""

import gzip
import io
import sys
import tracemalloc

import pytest
from reading import error_of, write

from data.nli import iter_nli
from data.predictions import read_predictions
from data.sentences import iter_sentences
from data.tables import decoded_lines, plain_fields, plain_lines, read_header, read_table
from data.triplets import iter_triplets
from minbert.pretraining.corpus import CorpusError, read_paragraphs
from runtime import lines
from search.command import _num_lines
from search.texts import STDIN, read_rows

READERS = {
    "table": lambda path: read_table(path, (), "\t"),
    "header": lambda path: read_header(path, "\t"),
    "triplets": iter_triplets,
    "lines": plain_lines,
    "fields": lambda path: plain_fields(path, 1),
    "sentences": iter_sentences,
    "nli": iter_nli,
    "predictions": read_predictions,
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


def test_lines_are_counted_in_little_memory(tmp_path):
    path = tmp_path / "file.txt"
    with path.open("wb") as file:
        file.write(b"a\nb\n")
        file.truncate(LENGTH)
    tracemalloc.start()
    try:
        assert _num_lines(path) == 2
        assert tracemalloc.get_traced_memory()[1] < LENGTH / 8
    finally:
        tracemalloc.stop()


def test_the_longest_line_is_read_and_a_longer_one_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 12)
    path = write(tmp_path, "two kites\n" + "x" * 11 + "\nend")
    assert list(iter_sentences(path)) == ["two kites", "x" * 11, "end"]
    path = write(tmp_path, "two kites\n" + "x" * 12 + "\nend")
    assert "file.csv:2: more than 12 bytes" in error_of(iter_sentences, path)
    assert "file.csv:2: more than 12 bytes" in error_of(plain_lines, path)


def test_so_are_those_of_stdin_and_of_submissions(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 12)
    content = b"a\n" + b"x" * 13
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert "stdin:2: more than 12 bytes" in error_of(lambda: list(read_rows(STDIN)))
    assert "a.csv:2: more than" in error_of(decoded_lines, io.BytesIO(content), "a.csv")


def test_so_are_those_of_a_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 12)
    path = write(tmp_path, gzip.compress("kites\n\näöü kites fly".encode()), "corpus.gz")
    with pytest.raises(CorpusError, match=r"corpus\.gz:3: more than 12 characters"):
        list(read_paragraphs([path]))
