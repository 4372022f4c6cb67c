"""An index of vectors that `python -m minbert.encode` has left: as if it had made them itself."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import toy_sentences
from indexing import command, small_parts, write_lines

from minbert.encode.__main__ import main as encode_command
from minbert.encoder import SentenceEncoder
from search.index import Index


def encode(files: Path | list[Path], out: Path, backbone: Path, *more: str) -> Path:
    """Encode files into a folder, 20 texts per shard."""
    files = files if isinstance(files, list) else [files]
    words = [*files, "--out", out, "--backbone", backbone, "--device", "cpu", "--shard-rows", 20]
    more = more if "--precision" in more else (*more, "--precision", "float32")
    assert encode_command([*map(str, words), *more]) == 0
    return out


@pytest.fixture
def lines(tmp_path) -> list[str]:
    return write_lines(tmp_path / "t.txt", 50, 4)


@pytest.fixture
def index_stored(monkeypatch):
    """Return what runs `python -m search index` where nothing can be encoded."""

    def index(*words) -> int:
        with monkeypatch.context() as patch:
            patch.setattr(SentenceEncoder, "encode", None)
            return command("index", *words)

    return index


def same_vectors(index: Index, texts: list[str], checkpoint: Path, abs: float) -> None:
    encoder = SentenceEncoder.from_pretrained(str(checkpoint), device="cpu", precision="float32")
    expected = encoder.encode(texts, normalize_embeddings=True)
    assert np.concatenate(index.blocks) == pytest.approx(expected, abs=abs)


@pytest.mark.parametrize(
    ("part", "more", "abs"),  # parts smaller and larger than a shard
    [
        (7, (), 1e-6),
        (7, ("--format", "parquet"), 1e-6),
        (8192, ("--normalize", "--float16"), 1e-3),
        (8192, ("--precision", "bfloat16"), 0.03),
    ],
)
def test_texts_ids_and_vectors_are_those_of_the_folder(
    part, more, abs, tmp_path, lines, tiny_checkpoint, index_stored, monkeypatch, capsys
):
    if "parquet" in more:
        pytest.importorskip("pyarrow")
    small_parts(monkeypatch, part)
    vectors = encode(tmp_path / "t.txt", tmp_path / "v", tiny_checkpoint, *more)
    words = (tmp_path / "t.txt", "--vectors", vectors, "--out", tmp_path / "i")
    assert index_stored(*words) == 0
    index = Index(tmp_path / "i")
    assert [row.text for row in index.rows(range(50))] == lines
    assert [row.id for row in index.rows([0, 49])] == ["t.txt:1", "t.txt:50"]
    same_vectors(index, lines, tiny_checkpoint, abs)
    capsys.readouterr()
    assert index_stored(*words) == 0
    assert capsys.readouterr().out.startswith("50 texts, 0 of them new")


def test_tables_keep_their_ids_and_files_are_appended(tmp_path, tiny_checkpoint, index_stored):
    texts = toy_sentences(30, 6)
    rows = [f"{text}\tid {number}\n" for number, text in enumerate(texts)]
    files = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    files[0].write_text("text\tkey\n" + "".join(rows[:25]))
    files[1].write_text("text\tkey\n" + "".join(rows[25:]))
    vectors = encode(files, tmp_path / "v", tiny_checkpoint, "--id-column", "key")
    words = ("--vectors", vectors, "--out", tmp_path / "i")
    assert index_stored(files[0], *words) == 0
    assert index_stored(files[1], *words, "--append") == 0
    index = Index(tmp_path / "i")
    assert [(row.id, row.text) for row in index.rows(range(30))] == [
        (f"id {number}", text) for number, text in enumerate(texts)
    ]
    same_vectors(index, texts, tiny_checkpoint, 1e-6)


def test_what_does_not_fit_is_refused(
    tmp_path, lines, tiny_checkpoint, tiny_encoder, index_stored, capsys
):
    vectors = encode(tmp_path / "t.txt", tmp_path / "v", tiny_checkpoint)
    capsys.readouterr()

    def refused(file="t.txt", *more) -> str:
        line = (tmp_path / file, "--vectors", vectors, "--out", tmp_path / "i", *more)
        assert index_stored(*line) == 2 and not (tmp_path / "i" / "meta.json").exists()
        return capsys.readouterr().err

    shutil.copy(tmp_path / "t.txt", tmp_path / "other.txt")
    assert "no undamaged vectors of" in refused("other.txt")
    (tmp_path / "t.txt").write_text("".join(f"{line}\n" for line in [*lines[:45], "a cat"]))
    assert "as it is now (shard 2)" in refused()
    (tmp_path / "t.txt").write_text("".join(f"{line}\n" for line in lines))
    shard = next((vectors / "vectors").glob("*-00001.npz"))
    sound = shard.read_bytes()
    shard.write_bytes(sound[:500] + bytes([sound[500] ^ 1]) + sound[501:])
    assert "(shard 1); run the command that made them again" in refused()
    shard.write_bytes(sound)
    tiny_encoder.model.embeddings.word_embeddings.weight.data[7] += 1
    tiny_encoder.save(tmp_path / "bert")
    assert "made by another encoder than" in refused("t.txt", "--backbone", tmp_path / "bert")
    manifest = vectors / "manifest.json"
    raw = json.loads(manifest.read_text())
    for change, said in (
        ({"complete": False}, "not all is encoded"),
        ({"settings": 5}, "manifest.json: damaged"),
        ({"format": 1}, "written by another version of this project; encode again"),
    ):
        manifest.write_text(json.dumps(raw | change))
        assert said in refused()
    manifest.unlink()
    assert "no such file" in refused()
