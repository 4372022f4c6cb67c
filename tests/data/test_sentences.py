"""One sentence a line, as a stream; and running text split so, with the borders of documents."""

import gzip
import tracemalloc

import pytest
from reading import write

from data.examples import DataError
from data.sentences import END, iter_sentences, main, sentences
from data.table import TEXT, Column, open_texts


def test_sentences_are_stripped_and_empty_lines_passed_over(tmp_path):
    content = "\ufeffFirst one \r\n\r\n  \nSecond\u2028still second\n\tThird"
    sentences = list(iter_sentences(write(tmp_path, content)))
    assert sentences == ["First one", "Second\u2028still second", "Third"]


def test_sentences_stream_in_constant_memory(tmp_path):
    path = write(tmp_path, "A kite above the harbour at noon, number one.\n" * 20_000)
    tracemalloc.start()
    count = sum(1 for _ in iter_sentences(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 1 << 18  # the file is 0.9 MB


@pytest.mark.parametrize(
    "expected",
    [
        ["One.", "Two!", "Three?", "No end"],
        ['He said "No."', "Then he left."],
        ["It costs 3.50 now.", "7 of them."],
        [
            "Dr. Smith met J. Doe vs. Mr. X at 5 p.m. sharp.",
            "They left (at last.)",
            "“Why?”",
            "Well.",
        ],
        ["Lower case follows. so it goes on"],
        [""],
    ],
)
def test_sentences_end_where_another_begins(expected):
    assert END.split(" ".join(expected)) == expected


def test_documents_are_one_blank_line_apart():
    lines = ["", "", "Ah. Be.", "C.", "", "", "D.", ""]
    assert list(sentences(lines)) == ["Ah.", "Be.", "C.", "", "D."]


def test_the_command_writes_what_next_reads(tmp_path, capsys):
    first = write(tmp_path, gzip.compress(b"One. Two.\nThree.\n\n\nFour. Five."), "1.txt.gz")
    out = tmp_path / "out.txt"
    assert main([str(first), str(write(tmp_path, "Six.\n")), "--out", str(out)]) == 0
    assert out.read_text() == "One.\nTwo.\nThree.\n\nFour.\nFive.\n\nSix.\n"
    assert "6 sentences of 3 document(s)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.txt", b"\n\n", "x.txt: no text"),
        ("x.txt", b"ok\n\xff\n", "x.txt:2: byte 0xff"),
        ("x.xz", b"no archive", "x.xz: cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(name, content, said, tmp_path, capsys):
    path = write(tmp_path, content, name)
    assert main([str(path), "--out", str(tmp_path / "out.txt")]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("mark", [",", "\t"])
def test_a_table_with_one_row_of_another_width_is_no_list_of_texts(mark, tmp_path):
    rows = ["id,text", "1,A kite in the wind.", "2,Rain, all night.", "3,Sun."]
    path = tmp_path / "texts"
    path.write_text("\n".join(row.replace(",", mark) for row in rows) + "\n")
    with pytest.raises(DataError, match=r"texts:3: 3 (comma|tab)-separated field"):
        list(open_texts(path, (Column("text", TEXT),)).rows())
