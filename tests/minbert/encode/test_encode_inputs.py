"""What `python -m minbert.encode` reads, and what it refuses in one line."""

import bz2
import gzip
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from encoded import command, write_lines

from minbert.encode import folder, texts
from minbert.encode.texts import Source
from runtime.errors import MachineError


def all_of(path: Path, *columns) -> list[tuple[str, str]]:
    return [text for shard in Source(path, *columns).shards(2) for text in shard]


def test_tables_and_compressed_files_are_read(tmp_path):
    table = 'no,text\n7,"one, two"\n8,\n9,"three\nfour"\n10,five\n'
    (tmp_path / "t.csv").write_text(table)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(table.encode()))
    (tmp_path / "t.tsv").write_text("no\ttext\n7\tone, two\n")
    (tmp_path / "t.txt.bz2").write_bytes(bz2.compress(b"one\n\n two \n"))
    (tmp_path / "t.tex").write_text("one\ttwo\n")  # text, whatever its name
    rows = ["one, two", "three\nfour", "five"]
    lines = ("2", "4", "6")
    expected = [(f"t.csv:{line}", text) for line, text in zip(lines, rows, strict=True)]
    assert all_of(tmp_path / "t.csv") == expected
    named = list(zip(("7", "9", "10"), rows, strict=True))
    assert all_of(tmp_path / "t.csv.gz", "text", "no") == named
    assert all_of(tmp_path / "t.tsv", "text", "no") == [("7", "one, two")]
    assert all_of(tmp_path / "t.txt.bz2") == [("t.txt.bz2:1", "one"), ("t.txt.bz2:3", "two")]
    assert all_of(tmp_path / "t.tex") == [("t.tex:1", "one\ttwo")]


def test_parquet_is_read(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pip install -r requirements-scale.txt")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"no": [7, 8, 9], "text": ["one", None, "three"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert all_of(tmp_path / "t.parquet") == [("t.parquet:1", "one"), ("t.parquet:3", "three")]
    assert all_of(tmp_path / "t.parquet", "text", "no") == [("7", "one"), ("9", "three")]
    with pytest.raises(ValueError, match=r"no column 'txt'; found 'no', 'text'"):
        all_of(tmp_path / "t.parquet", "txt")
    (tmp_path / "t.parquet").write_text("no")
    with pytest.raises(ValueError, match=r"t\.parquet: not a readable Parquet file"):
        all_of(tmp_path / "t.parquet")


def test_files_are_read_as_streams(monkeypatch):
    endless = ((number, "a text\n") for number in count(1))
    monkeypatch.setattr(texts, "numbered_lines", lambda path: endless)
    shards = Source(Path("t.txt")).shards(1000)
    assert len(next(shards)) == len(next(shards)) == 1000
    assert next(endless)[0] == 2001


@pytest.mark.parametrize(
    ("files", "words", "said"),
    [
        ({"t.txt": "\n \n"}, (), "t.txt: no text"),
        ({"t.txt": "one\n"}, ("--id-column", "no"), "--id-column is for .tsv"),
        ({"t.csv": "a,b\n1,2\n"}, (), "t.csv:1: no column 'text'; found 'a', 'b'"),
        ({"t.csv": "id,text\n,one\n"}, ("--id-column", "id"), "t.csv:2: no id in column 'id'"),
        ({"t.txt": "one\n", "u/t.txt": "two\n"}, (), "two files of one name"),
        ({"t.txt": "one\n"}, ("--max-length", "1000"), "max_length is 1000"),
        ({"t.txt": "one\n"}, ("--backbone", "./absent"), "absent: no such folder"),
        ({"t.gz": "no archive"}, (), "t.gz: cannot be read"),
    ],
)
def test_what_cannot_be_encoded_is_one_line(files, words, said, tmp_path, tiny_checkpoint, capsys):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    paths = [tmp_path / name for name in files]
    assert command(tmp_path / "o", *paths, "--backbone", tiny_checkpoint, *words) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_folder_of_something_else_is_left_alone(tmp_path, tiny_checkpoint, capsys):
    write_lines(tmp_path / "t.txt", 5)
    write_lines(tmp_path / "u.txt", 5)
    words = ["--backbone", tiny_checkpoint, "--format", "npz"]
    assert command(tmp_path, tmp_path / "t.txt", *words) == 2
    assert command(tmp_path / "o", tmp_path / "t.txt", *words) == 0
    assert command(tmp_path / "o", tmp_path / "t.txt", *words, "--normalize") == 2
    assert command(tmp_path / "o", tmp_path / "u.txt", *words) == 2
    error = capsys.readouterr().err
    for said in (
        "holds other files and no manifest.json",
        "made with normalize False, not True",
        "holds shards of t.txt, which is not among the files",
    ):
        assert said in error
    assert command(tmp_path / "o", tmp_path / "t.txt", *words) == 0


def test_one_program_at_a_time_writes_a_folder(tmp_path, tiny_checkpoint, capsys):
    write_lines(tmp_path / "t.txt", 5)
    with folder._alone_in(tmp_path / "o"):
        assert command(tmp_path / "o", tmp_path / "t.txt", "--backbone", tiny_checkpoint) == 2
    assert "another program is writing into it" in capsys.readouterr().err


def test_vectors_that_are_not_finite_are_refused(tmp_path, tiny_checkpoint, capsys, monkeypatch):
    write_lines(tmp_path / "t.txt", 5)
    monkeypatch.setattr(
        "minbert.encoder.SentenceEncoder.encode_texts",
        lambda self, texts, *_: np.full((len(texts), 4), 1e6, np.float32),
    )
    words = (tmp_path / "t.txt", "--backbone", tiny_checkpoint, "--float16")
    assert command(tmp_path / "o", *words) == 2
    assert "not finite in float16" in capsys.readouterr().err
    assert not list((tmp_path / "o").rglob("t.txt-*"))


def test_absent_libraries_are_named_with_the_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MachineError, match=r"pip install -r requirements-scale.txt"):
        all_of(Path("t.parquet"))
