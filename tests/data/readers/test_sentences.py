"""One sentence a line, as a stream."""

import tracemalloc

from conftest import real_data
from reading import error_of, write

from data.sentences import iter_sentences


def test_wikipedia_sentences_all_read():
    assert sum(1 for _ in iter_sentences(real_data("wiki/wiki_for_simcse.txt"))) == 200_000


def test_sentences_are_stripped_and_empty_lines_passed_over(tmp_path):
    content = "\ufeffFirst one \r\n\r\n  \nSecond\u2028still second\n\tThird"
    sentences = list(iter_sentences(write(tmp_path, content)))
    assert sentences == ["First one", "Second\u2028still second", "Third"]


def test_sentence_files_report_file_and_line(tmp_path):
    assert "file.csv:2: byte 0xff" in error_of(iter_sentences, write(tmp_path, b"ok\nb\xffd\n"))
    assert "file.csv: is empty" in error_of(iter_sentences, write(tmp_path, b"\n \n"))
    assert "cannot be read" in error_of(iter_sentences, tmp_path / "absent.txt")


def test_sentences_stream_in_constant_memory(tmp_path):
    path = write(tmp_path, "A kite above the harbour at noon, number one.\n" * 100_000)
    tracemalloc.start()
    count = sum(1 for _ in iter_sentences(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    assert peak < 1 << 20  # the file is 4.6 MB
