"""Vectors of files: right, whole or not there, and computed once."""

import json
import multiprocessing
import os

import numpy as np
import pytest
from encoded import columns, command, files_of, manifest, write_lines

from minbert.encode.shards import write_shard
from runtime import files


@pytest.fixture
def words(tmp_path, tiny_checkpoint):
    """The words of a command on 50 lines, which are three shards."""
    write_lines(tmp_path / "t.txt")
    return [tmp_path / "t.txt", "--backbone", tiny_checkpoint, "--format", "npz"]


def test_each_line_has_its_vector_and_its_id(tmp_path, words, tiny_encoder, capsys):
    texts = (tmp_path / "t.txt").read_text().splitlines()
    (tmp_path / "t.txt").write_text("\n" + "\n\n".join(texts))  # lines 2, 4, 6 ...
    assert command(tmp_path / "o", *words) == 0
    assert capsys.readouterr().out == f"50 texts in 3 shard(s): {tmp_path / 'o'}\n"
    ids, vectors = columns(tmp_path / "o")
    assert ids == [f"t.txt:{line}" for line in range(2, 102, 2)]
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, tiny_encoder.encode(texts), atol=1e-5)
    found = manifest(tmp_path / "o")
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


def killed_at(moment: int, before: bool, out, words) -> None:
    """Run the command in this process, which ends at the n-th file that is to get its name."""
    replace, calls = os.replace, []

    def killed(old, new):
        calls.append(new)
        if len(calls) < moment or not before:
            replace(old, new)
        if len(calls) == moment:
            os._exit(9)

    files.os.replace = killed
    command(out, *words)


# The manifest comes first, then file and record of each shard, then the manifest again.
@pytest.mark.parametrize("moment", [1, 2, 3, 4, 8])
def test_a_killed_command_leaves_nothing_half_written(tmp_path, words, moment):
    command(tmp_path / "whole", *words)
    whole = files_of(tmp_path / "whole")
    for before in (True, False):
        out = tmp_path / str(before)
        arguments = (moment, before, out, words)
        process = multiprocessing.get_context("fork").Process(target=killed_at, args=arguments)
        process.start()
        process.join()
        assert process.exitcode == 9
        assert files_of(out).items() <= whole.items()
        for record in out.glob("records/[!.]*"):
            assert json.loads(record.read_text())["file"] in files_of(out)
        assert command(out, *words) == 0
        assert files_of(out) == whole and manifest(out)["complete"]
        assert not list(out.rglob("*.tmp"))


def test_parquet_has_two_columns_of_fixed_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install -r requirements-scale.txt")
    for dtype in (np.float32, np.float16):
        vectors = np.arange(12).reshape(4, 3).astype(dtype)
        write_shard(tmp_path / "a.parquet", list("abcd"), vectors)
        table = parquet.read_table(tmp_path / "a.parquet")
        assert table.column_names == ["id", "vector"]
        assert table["vector"].type.list_size == 3
        assert table["vector"].type.value_type == {4: "float", 2: "halffloat"}[vectors.itemsize]
        assert table["id"].to_pylist() == list("abcd")
        assert np.array_equal(np.stack(table["vector"].to_numpy()), vectors)
