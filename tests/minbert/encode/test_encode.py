"""`python -m minbert.encode`: vectors right, whole or not there, computed once; what is refused."""

import bz2
import gzip
import json
import os
from itertools import chain, count
from pathlib import Path

import numpy as np
import pytest
from encoded import columns, command, files_of, manifest, write_lines

from minbert.encode import shards
from minbert.encode.shards import Source, write_shard
from runtime import files
from runtime.errors import MachineError
from runtime.files import alone_in


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
    pa = pytest.importorskip("pyarrow", reason="pip install -e '.[scale]'")
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
    monkeypatch.setattr(shards, "numbered_lines", lambda path: endless)
    cut = Source(Path("t.txt")).shards(1000)
    assert len(next(cut)) == len(next(cut)) == 1000
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
    assert not (tmp_path / "o").exists()  # it would refuse the right command


@pytest.mark.parametrize(
    "wrong", [{"--backbone": "tpyo"}, {"--max-length": "999"}, {"file": "t.xt"}, {"file": ""}]
)
def test_a_mistaken_word_leaves_nothing_behind(wrong, tmp_path, words, capsys):
    file, *rest = words
    file = tmp_path / wrong.pop("file", file.name)
    more = [*chain(*wrong.items())]
    assert command(tmp_path / "o", file, *rest, *more) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not (tmp_path / "o").exists()
    assert command(tmp_path / "o", *words) == 0


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
    (tmp_path / "o").mkdir()
    with alone_in(tmp_path / "o", pytest.fail):
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
    with pytest.raises(MachineError, match=r"pip install -e"):
        all_of(Path("t.parquet"))


@pytest.fixture
def words(tmp_path, tiny_checkpoint):
    """The words of a command on 50 lines, which are three shards."""
    write_lines(tmp_path / "t.txt")
    return [tmp_path / "t.txt", "--backbone", tiny_checkpoint, "--format", "npz"]


def test_each_line_has_its_vector_and_its_id(tmp_path, words, tiny_encoder, capsys):
    texts = (tmp_path / "t.txt").read_text().splitlines()
    (tmp_path / "t.txt").write_text("\n" + "\n\n".join(texts))  # lines 2, 4, 6 ...
    out = tmp_path / "new" / "o"
    assert command(out, *words) == 0
    assert capsys.readouterr().out == f"50 texts in 3 shard(s): {out}\n"
    ids, vectors = columns(out)
    assert ids == [f"t.txt:{line}" for line in range(2, 102, 2)]
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, tiny_encoder.encode(texts), atol=1e-5)
    found = manifest(out)
    assert found["complete"] and found["rows"] == 50
    assert found["encoder"] == tiny_encoder.fingerprint()
    assert [shard["rows"] for shard in found["shards"]] == [20, 20, 10]


def test_vectors_are_pooled_cut_scaled_and_stored_as_asked(tmp_path, words, tiny_encoder):
    texts = (tmp_path / "t.txt").read_text().splitlines()
    more = ["--normalize", "--float16", "--pooling", "avg", "--max-length", "5"]
    assert command(tmp_path / "o", *words, *more) == 0
    _, vectors = columns(tmp_path / "o")
    tiny_encoder.pool_by("avg")
    tiny_encoder.max_length = 5
    expected = tiny_encoder.encode(texts)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors.dtype == np.float16
    np.testing.assert_allclose(vectors, expected, atol=1e-3)


def test_a_second_command_encodes_what_is_damaged_missing_or_new(tmp_path, words):
    out = tmp_path / "o"
    command(out, *words)
    whole, said = files_of(out), manifest(out)
    first, second, third = sorted(out.glob("vectors/*"))
    second.write_bytes(second.read_bytes()[:-100] + bytes(100))
    (out / "records" / "t.txt-00002.json").unlink()
    times = [path.stat().st_mtime_ns for path in (first, second, third)]
    assert command(out, *words) == 0
    assert files_of(out) == whole and manifest(out)["shards"] == said["shards"]
    again = [path.stat().st_mtime_ns for path in (first, second, third)]
    assert [a == b for a, b in zip(times, again, strict=True)] == [True, False, False]
    # 31 lines are 20 and 11: the first shard stays, the third goes.
    lines = (tmp_path / "t.txt").read_text().splitlines()
    (tmp_path / "t.txt").write_text("\n".join(lines[:31]))
    assert command(out, *words) == 0
    assert [path.name for path in sorted(out.glob("*/*-*"))] == [
        *("t.txt-00000.json", "t.txt-00001.json", "t.txt-00000.npz", "t.txt-00001.npz")
    ]
    assert first.stat().st_mtime_ns == again[0] and len(columns(out)[0]) == 31


# The manifest comes first, then file and record of each shard, then the manifest again.
@pytest.mark.parametrize("moment", [2, 3])
def test_a_command_that_is_cut_off_leaves_nothing_half_written(
    moment, tmp_path, words, monkeypatch
):
    command(tmp_path / "whole", *words)
    whole, out = files_of(tmp_path / "whole"), tmp_path / "cut"
    replace, calls = os.replace, []

    def cut_off(old, new):
        calls.append(new)
        if len(calls) == moment:
            raise KeyboardInterrupt
        replace(old, new)

    monkeypatch.setattr(files.os, "replace", cut_off)
    assert command(out, *words) == 130
    monkeypatch.undo()
    assert files_of(out).items() <= whole.items()
    for record in out.glob("records/[!.]*"):
        assert json.loads(record.read_text())["file"] in files_of(out)
    assert command(out, *words) == 0
    assert files_of(out) == whole and manifest(out)["complete"]
    assert not list(out.rglob("*.tmp"))


def test_parquet_has_two_columns_of_fixed_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install -e '.[scale]'")
    for dtype in (np.float32, np.float16):
        vectors = np.arange(12).reshape(4, 3).astype(dtype)
        write_shard(tmp_path / "a.parquet", list("abcd"), vectors)
        table = parquet.read_table(tmp_path / "a.parquet")
        assert table.column_names == ["id", "vector"]
        assert table["vector"].type.list_size == 3
        assert table["vector"].type.value_type == {4: "float", 2: "halffloat"}[vectors.itemsize]
        assert table["id"].to_pylist() == list("abcd")
        assert np.array_equal(np.stack(table["vector"].to_numpy()), vectors)


def test_a_folder_of_another_version_is_encoded_again(tmp_path, words, capsys):
    out = tmp_path / "o"
    command(out, *words)
    whole = files_of(out)
    (out / "manifest.json").write_text(json.dumps(manifest(out) | {"format": 1}))
    for path in out.glob("records/*"):
        path.write_text(path.read_text().replace('"made_of": "', '"made_of": "0'))
    capsys.readouterr()
    assert command(out, *words) == 0
    assert capsys.readouterr().out.startswith(f"{out}: written by an older version")
    assert files_of(out) == whole and manifest(out)["format"] == 2
