"""`python -m minbert.encode`: vectors right, whole or not there, computed once; what is refused."""

import bz2
import gzip
import json
import os
from functools import partial
from itertools import chain, count
from pathlib import Path

import numpy as np
import pytest
from encoded import columns, command, files_of, manifest, write_lines

from data import table
from minbert.encode import texts
from minbert.encode.__main__ import main
from minbert.encode.shards import write_vectors
from minbert.encode.texts import optional, shards_of
from runtime import files
from runtime.errors import MachineError
from runtime.files import alone_in


def all_of(path: Path, column="text", id_column=None) -> list[tuple[str, str]]:
    shards = list(shards_of(path, column, id_column, 2))
    assert [shard.name for shard in shards] == [
        f"{path.name}-{number:05d}" for number in range(len(shards))
    ]
    return [pair for shard in shards for pair in zip(shard.ids, shard.texts, strict=True)]


def test_tables_and_compressed_files_are_read(tmp_path):
    table = 'no,text\n7,"one, two"\n8,\n9,three\n10,five\n'
    (tmp_path / "t.csv").write_text(table)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(table.encode()))
    (tmp_path / "t.tsv").write_text("no\ttext\n 7\tone, two\n")
    (tmp_path / "t.txt.bz2").write_bytes(bz2.compress(b"one\n\n two \n"))
    (tmp_path / "t.tex").write_text("one\ttwo\n")  # text, whatever its name
    rows = ["one, two", "three", "five"]
    lines = [f"t.csv:{line}" for line in (2, 4, 5)]
    assert all_of(tmp_path / "t.csv") == list(zip(lines, rows, strict=True))
    named = list(zip(("7", "9", "10"), rows, strict=True))
    assert all_of(tmp_path / "t.csv.gz", id_column="no") == named
    assert all_of(tmp_path / "t.tsv", id_column="no") == [("7", "one, two")]
    assert all_of(tmp_path / "t.txt.bz2") == [("t.txt.bz2:1", "one"), ("t.txt.bz2:3", "two")]
    assert all_of(tmp_path / "t.tex") == [("t.tex:1", "one\ttwo")]
    for name in ("t.txt", "t.tab", "t.TSV"):
        (tmp_path / name).write_text("id\ttext\n1\tone\n2\ttwo\n")
        assert all_of(tmp_path / name) == [(f"{name}:2", "one"), (f"{name}:3", "two")]
    (tmp_path / "t.ndjson").write_text('{"id": 1, "text": "one"}\n')
    assert all_of(tmp_path / "t.ndjson") == [("t.ndjson:1", "one")]
    (tmp_path / "t.json").write_text('{"text": "one"}\n')
    assert all_of(tmp_path / "t.json") == [("t.json:1", "one")]
    (tmp_path / "t.json").write_text('["one", "two"]\n')
    with pytest.raises(ValueError, match=r"t\.json:1: JSON that is not one object per line"):
        all_of(tmp_path / "t.json")


def test_parquet_is_read_and_written(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow", reason="pip install -e '.[scale]'")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(texts, "PARQUET_ROWS", 2)
    table = pa.table({"no": [7, 8, 9], "text": ["one", None, "three"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert all_of(tmp_path / "t.parquet") == [("t.parquet:1", "one"), ("t.parquet:3", "three")]
    assert all_of(tmp_path / "t.parquet", id_column="no") == [("7", "one"), ("9", "three")]
    with pytest.raises(ValueError, match=r"no column 'txt'; found 'no', 'text'"):
        all_of(tmp_path / "t.parquet", "txt")
    (tmp_path / "t.parquet").write_text("no")
    with pytest.raises(ValueError, match=r"t\.parquet: not a readable Parquet file"):
        all_of(tmp_path / "t.parquet")
    for dtype, name in ((np.float32, "float"), (np.float16, "halffloat")):
        vectors = np.arange(12).reshape(4, 3).astype(dtype)
        write_vectors(tmp_path / "a.parquet", list("abcd"), vectors)
        table = parquet.read_table(tmp_path / "a.parquet")
        assert table.column_names == ["id", "vector"] and table["id"].to_pylist() == list("abcd")
        assert table["vector"].type.list_size == 3 and table["vector"].type.value_type == name
        assert np.array_equal(np.stack(table["vector"].to_numpy()), vectors)


def test_files_are_read_as_streams(monkeypatch):
    endless = ((number, "a text\n") for number in count(1))
    monkeypatch.setattr(table, "numbered_lines", lambda path: endless)
    shards = shards_of(Path("t.txt"), "text", None, 1000)
    assert len(next(shards).texts) == len(next(shards).ids) == 1000
    assert next(endless)[0] == 2001


@pytest.fixture
def words(tmp_path, tiny_checkpoint):
    """The words of a command on 50 lines, which are three shards."""
    write_lines(tmp_path / "t.txt")
    return [tmp_path / "t.txt", "--backbone", tiny_checkpoint, "--format", "npz"]


@pytest.mark.parametrize(
    ("files", "flags", "said"),
    [
        ({"t.txt": "\n \n"}, {}, "t.txt: is empty"),
        ({"t.txt": "one\n"}, {"--id-column": "no"}, "t.txt:1: no column 'text', 'no'"),
        ({"t.txt": "id\ttext\n1\tone\n"}, {"--column": "question"}, "t.txt:1: no column 'quest"),
        ({"t.txt": "1\tone\n2\ttwo\n"}, {}, "2 fields with a tab between them"),
        ({"t.txt": "one\rtwo\r"}, {}, "t.txt: lines end with bare carriage returns"),
        ({"t.txt": "o\0n\0e\0"}, {}, "t.txt:1: holds a NUL byte"),
        ({"t.csv": "a,b\n1,2\n"}, {}, "t.csv:1: no column 'text'; found 'a', 'b'"),
        ({"t.csv": "id,text\n,one\n"}, {"--id-column": "id"}, "t.csv:2: no id in column 'id'"),
        ({"t.txt": "one\n", "u/t.txt": "two\n"}, {}, "two files of one name"),
        ({"t.txt": "one\n"}, {"--max-length": "1000"}, "max_length is 1000"),
        ({"t.txt": "one\n"}, {"--backbone": "tpyo"}, "tpyo"),
        ({"t.xt": ""}, {}, "t.xt: is empty"),
        ({"": ""}, {}, "cannot be read"),  # the folder
        ({"absent": None}, {}, "absent: cannot be read"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing_behind(
    files, flags, said, tmp_path, words, capsys
):
    for name, content in files.items():
        if name and content is not None:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(content)
    paths = [tmp_path / name for name in files]
    assert command(tmp_path / "o", *paths, *words[1:], *chain(*flags.items())) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not (tmp_path / "o").exists()  # it would refuse the right command


def test_a_folder_of_something_else_is_left_alone(tmp_path, words, capsys):
    def refused(out, *words) -> str:
        assert command(out, *words) == 2
        return capsys.readouterr().err

    out, path = tmp_path / "o", tmp_path / "o" / "manifest.json"
    write_lines(tmp_path / "u.txt", 5)
    assert "holds other files and no manifest.json" in refused(tmp_path, *words)
    assert command(out, *words) == 0
    whole = manifest(out)
    assert "written with normalize False, not True" in refused(out, *words, "--normalize")
    error = refused(out, tmp_path / "u.txt", *words[1:])
    assert "holds shards of t.txt, which is not among the files" in error
    with alone_in(out, pytest.fail):
        assert "another program is writing into it" in refused(out, *words)
    # Version 1.0.0 had format 2, and no "files".
    for change in ({"format": 2}, {"settings": 5}, {"files": None}):
        path.write_text(json.dumps(whole | change))
        assert "of another version, or damaged; delete" in refused(out, *words)
    path.write_text(json.dumps(whole))
    assert command(out, *words) == 0 and manifest(out) == whole
    assert command(out, tmp_path / "u.txt", *words) == 0
    assert [shard["rows"] for shard in manifest(out)["shards"]] == [5, 20, 20, 10]


def test_vectors_that_are_not_finite_are_refused(tmp_path, words, capsys, monkeypatch):
    monkeypatch.setattr(
        "minbert.encoder.SentenceEncoder.encode_texts",
        lambda self, texts, *_: np.full((len(texts), 4), 1e6, np.float32),
    )
    assert command(tmp_path / "o", *words, "--float16") == 2
    assert "not finite in float16" in capsys.readouterr().err
    assert not list((tmp_path / "o").rglob("t.txt-*"))


@pytest.mark.parametrize("module", ["pyarrow", "ray"])
def test_absent_libraries_are_named_with_the_command(module, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MachineError, match=rf"--x: needs {module} .*pip install -e"):
        optional(f"{module}.data", "--x")


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
    assert manifest(out)["complete"] and manifest(out)["rows"] == 50
    assert manifest(out)["encoder"] == tiny_encoder.fingerprint()
    assert [shard["rows"] for shard in manifest(out)["shards"]] == [20, 20, 10]


def test_vectors_are_pooled_cut_scaled_and_stored_as_asked(tmp_path, words, tiny_encoder):
    texts = (tmp_path / "t.txt").read_text().splitlines()
    flags = ["--normalize", "--float16", "--pooling", "avg", "--max-length", "5"]
    assert command(tmp_path / "o", *words, *flags) == 0
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
    whole, manifest_of_all = files_of(out), manifest(out)
    first, second, third = sorted(out.glob("vectors/*/*.npz"))
    second.write_bytes(second.read_bytes()[:-100] + bytes(100))
    (third.parent / "SHA256SUMS").unlink()
    times = [path.stat().st_mtime_ns for path in (first, second, third)]
    assert command(out, *words) == 0
    assert files_of(out) == whole and manifest(out) == manifest_of_all
    again = [path.stat().st_mtime_ns for path in (first, second, third)]
    assert [a == b for a, b in zip(times, again, strict=True)] == [True, False, False]
    # 31 lines are 20 and 11: the first shard stays, the others go.
    lines = (tmp_path / "t.txt").read_text().splitlines()
    (tmp_path / "t.txt").write_text("\n".join(lines[:31]))
    assert command(out, *words) == 0
    assert [shard["rows"] for shard in manifest(out)["shards"]] == [20, 11]
    assert len(files_of(out)) == len(list((out / "vectors").iterdir())) == 2
    assert first.stat().st_mtime_ns == again[0] and len(columns(out)[0]) == 31


def test_what_is_not_ours_below_vectors_is_left_alone(tmp_path, words):
    out = tmp_path / "o"
    command(out, *words)
    whole = files_of(out)
    thesis = out / "vectors" / "thesis" / "chapter.txt"
    thesis.parent.mkdir()
    thesis.write_text("years of work")
    (out / "vectors" / ".DS_Store").write_bytes(b"x")
    (out / "vectors" / "link").symlink_to(tmp_path)
    for _ in range(2):
        assert command(out, *words) == 0
    assert thesis.read_text() == "years of work" and (out / "vectors" / "link").is_symlink()
    assert whole.items() <= files_of(out).items()


def test_a_name_that_the_disk_refuses_leaves_nothing(tmp_path, tiny_checkpoint, capsys):
    path = tmp_path / ("x" * 244)
    path.write_text("the cat\nthe dog\n")
    out = tmp_path / "out"
    words = ["--out", str(out), "--backbone", str(tiny_checkpoint)]
    assert main([str(path), *words]) == 2 and capsys.readouterr().err.count("\n") == 1
    assert not out.exists()
    (tmp_path / "short").write_text("the cat\nthe dog\n")
    assert main([str(tmp_path / "short"), *words]) == 0


# The manifest comes first, then a folder per shard, then the manifest again.
@pytest.mark.parametrize("moment", [2, 3])
def test_a_command_that_is_cut_off_leaves_nothing_half_written(
    moment, tmp_path, words, monkeypatch
):
    command(tmp_path / "whole", *words)
    whole, out = files_of(tmp_path / "whole"), tmp_path / "cut"
    calls = []

    def cut_off(move, old, new):
        calls.append(new)
        if len(calls) == moment:
            raise KeyboardInterrupt
        move(old, new)

    for name in ("replace", "rename"):  # files get their names by one, folders by the other
        monkeypatch.setattr(files.os, name, partial(cut_off, getattr(os, name)))
    assert command(out, *words) == 130
    monkeypatch.undo()
    assert len(files_of(out)) == moment - 2 and files_of(out).items() <= whole.items()
    assert not manifest(out)["complete"]
    assert command(out, *words) == 0
    assert files_of(out) == whole and manifest(out)["complete"]
    assert not list(out.rglob("*.tmp"))


@pytest.mark.parametrize("place", ["out", "some/where/out"])
def test_a_refused_command_leaves_nothing(tiny_checkpoint, tmp_path, place, capsys):
    """A fault beyond the first text shows only when the folder is there."""
    (tmp_path / "table.tsv").write_text("text\tid\nthe cat\t1\nthe dog\t\n")
    (tmp_path / "bytes.txt").write_bytes(b"the cat\n\xff\n")
    (tmp_path / "empty").mkdir()
    for words in (["table.tsv", "--id-column", "id"], ["bytes.txt"]):
        for out in (tmp_path / place, tmp_path / "empty"):
            file, *more = words
            words_of_out = ["--out", str(out), "--backbone", str(tiny_checkpoint)]
            assert main([str(tmp_path / file), *more, *words_of_out]) == 2
            assert capsys.readouterr().err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"table.tsv", "bytes.txt", "empty"}
    assert not list((tmp_path / "empty").iterdir())


def test_what_was_encoded_before_a_fault_is_kept(tiny_checkpoint, tmp_path):
    # The first hundred lines are read before any is encoded: they show whether it is a table.
    (tmp_path / "bytes.txt").write_bytes(b"the cat\n" * 120 + b"\xff\n")
    words = ["--out", str(tmp_path / "out"), "--backbone", str(tiny_checkpoint)]
    assert main([str(tmp_path / "bytes.txt"), "--shard-rows", "60", *words]) == 2
    assert (tmp_path / "out" / "manifest.json").is_file()
    assert list((tmp_path / "out" / "vectors").iterdir())
