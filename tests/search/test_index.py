"""An index holds its texts and their vectors, grows without encoding again, is never in between."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from indexing import small_parts, write_lines

from data.examples import DataError
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from runtime.errors import KeptError
from search.__main__ import main as search_main
from search.encoders import identity
from search.index import Builder, Index, Meta, Part, Row, read_meta, read_rows


def builder_of(folder, encoder, **changes) -> Builder:
    return Builder(folder, Meta("tiny", None, identity(encoder), 32), encoder, **changes)


def numbered(texts, first=1):
    return ((number, Row(str(number), text)) for number, text in enumerate(texts, start=first))


@pytest.fixture
def encoded(monkeypatch) -> list[str]:
    """Note every text that an encoder is given."""
    texts: list[str] = []
    original = SentenceEncoder.encode

    def counting(self, given, *args, **keywords):
        texts.extend(given)
        return original(self, given, *args, **keywords)

    monkeypatch.setattr(SentenceEncoder, "encode", counting)
    return texts


def test_texts_ids_and_vectors_come_back(tmp_path, tiny_encoder, monkeypatch):
    small_parts(monkeypatch, 7)
    texts, ticks = toy_sentences(20), []
    builder = builder_of(tmp_path / "i", tiny_encoder, tick=ticks.append)
    meta = builder.index(numbered(texts))
    index = Index(tmp_path / "i")
    assert index.meta == meta and meta.last_line == len(index) == sum(ticks) == 20
    assert [len(block) for block in index.blocks] == [7, 7, 6]
    assert index.rows([19, 0, 7]) == [Row("20", texts[19]), Row("1", texts[0]), Row("8", texts[7])]
    expected = tiny_encoder.encode(texts, normalize_embeddings=True)
    assert np.concatenate(index.blocks) == pytest.approx(expected, abs=1e-6)
    assert isinstance(index.blocks[0], np.memmap) and index.blocks[0].dtype == np.float32


@pytest.mark.parametrize("sizes", [(1, 1, 20, 1), (7, 7, 9)])
def test_appending_gives_the_index_of_all_texts_at_once(
    sizes, tmp_path, tiny_encoder, monkeypatch, encoded
):
    small_parts(monkeypatch, 7)
    texts = [f"{text} {number}" for number, text in enumerate(toy_sentences(23))]
    whole = builder_of(tmp_path / "whole", tiny_encoder).index(numbered(texts))
    encoded.clear()
    done = 0
    for size in sizes:
        builder = builder_of(tmp_path / "grown", tiny_encoder)
        grown = builder.index(numbered(texts[done : done + size], done + 1), append=True)
        done += size
    assert grown == whole and encoded == texts  # each text once
    blocks = Index(tmp_path / "grown").blocks
    expected = tiny_encoder.encode(texts, normalize_embeddings=True)
    assert np.concatenate(blocks) == pytest.approx(expected, abs=1e-6)
    folders = {path.name for path in (tmp_path / "grown" / "parts").iterdir()}
    assert folders == {part.folder for part in whole.parts}


def test_an_interrupted_command_leaves_the_old_index_and_goes_on(
    tmp_path, tiny_encoder, monkeypatch, encoded
):
    small_parts(monkeypatch, 4)
    old, new = toy_sentences(6, 1), toy_sentences(14, 2)
    builder_of(tmp_path / "i", tiny_encoder).index(numbered(old))
    before = read_meta(tmp_path / "i")

    def interrupt(count):
        if len(encoded) > 8:
            raise KeyboardInterrupt

    encoded.clear()
    with pytest.raises(KeyboardInterrupt):
        builder_of(tmp_path / "i", tiny_encoder, tick=interrupt).index(numbered([*old, *new]))
    done = len(encoded)
    assert read_meta(tmp_path / "i") == before
    assert Index(tmp_path / "i").rows([5])[0].text == old[5]
    meta = builder_of(tmp_path / "i", tiny_encoder).index(numbered([*old, *new]))
    assert meta.count == 20 and Index(tmp_path / "i").rows([19])[0].text == new[-1]
    assert done == 10 and len(encoded) == len(new)  # no finished part twice
    assert builder_of(tmp_path / "i", tiny_encoder).index(numbered([*old, *new])) == meta
    assert len(encoded) == len(new)


def test_another_encoder_is_refused_but_not_another_precision(tmp_path, tiny_encoder):
    builder_of(tmp_path / "i", tiny_encoder).index(numbered(["a cat"]))
    twin = tiny_encoder.clone()
    with_other_pooling = tiny_encoder.clone()
    with_other_pooling.pool_by("avg")
    twin.model.embeddings.word_embeddings.weight.data[7] += 1
    for other in (twin, with_other_pooling):
        with pytest.raises(CheckpointError, match=r"built by another encoder, tiny, .*--out"):
            builder_of(tmp_path / "i", other).index(numbered(["a dog"]), append=True)
    rounded = tiny_encoder.clone()
    rounded.dtype = torch.bfloat16
    assert rounded.fingerprint() != tiny_encoder.fingerprint()
    assert builder_of(tmp_path / "i", rounded).index(numbered(["a dog"]), append=True).count == 2


def test_what_does_not_fit_leaves_the_index_as_it_was(tmp_path, tiny_encoder, monkeypatch):
    small_parts(monkeypatch, 4)
    builder = builder_of(tmp_path / "i", tiny_encoder)
    builder.index(numbered(toy_sentences(6)))
    before = read_meta(tmp_path / "i")
    for texts in (toy_sentences(5), toy_sentences(6, 3), []):  # fewer, others, none
        with pytest.raises(DataError, match="holds other texts; add to them with --append"):
            builder.index(numbered(texts))
    assert read_meta(tmp_path / "i") == before

    def meanwhile():
        yield 1, Row("1", "a cat")
        builder_of(tmp_path / "two", tiny_encoder).index(numbered(["a dog"]))

    with pytest.raises(DataError, match="changed during this command"):
        builder_of(tmp_path / "two", tiny_encoder).index(meanwhile())
    assert Index(tmp_path / "two").rows([0])[0].text == "a dog"
    tiny_encoder.model.embeddings.LayerNorm.weight.data[:] = float("nan")
    with pytest.raises(CheckpointError, match="tiny: gives vectors that are not finite"):
        builder.index(numbered(["a storm"]), append=True)
    assert read_meta(tmp_path / "i") == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("{", "not a readable JSON file"),
        ("[]", "expected a JSON object"),
        ({"count": 9}, "damaged .its digest differs"),
        ({"digest": None}, "damaged"),
        ({"format": 2}, "written by another version .* index again"),  # 1.0.0
    ],
)
def test_a_damaged_meta_file_is_one_clear_line(change, said, tmp_path, tiny_encoder):
    builder_of(tmp_path / "i", tiny_encoder).index(numbered(["a cat"]))
    path = tmp_path / "i" / "meta.json"
    content = json.loads(path.read_text())
    path.write_text(change if isinstance(change, str) else json.dumps(content | change))
    with pytest.raises(DataError, match=rf"meta\.json: .*{said}"):
        Index(tmp_path / "i")


def test_the_remedy_for_an_index_of_another_version_works(tmp_path, tiny_checkpoint, capsys):
    texts, index = tmp_path / "texts", tmp_path / "i"
    texts.write_text("a cat\na dog\n")
    again = ["index", str(texts), "--out", str(index), "--backbone", str(tiny_checkpoint)]
    assert search_main(again) == 0
    meta = json.loads((index / "meta.json").read_text())
    (index / "meta.json").write_text(json.dumps(meta | {"format": 2}))
    for words in (again, [*again, "--append"], ["query", str(index), "x"], ["pairs", str(index)]):
        assert search_main(words) == 2
        assert "delete the folder and index again" in capsys.readouterr().err
    shutil.rmtree(index)
    assert search_main(again) == 0
    assert search_main(["query", str(index), "a cat"]) == 0


def test_a_part_is_never_outside_the_index(tmp_path, tiny_encoder):
    # An append deletes the part that it filled up.
    builder = builder_of(tmp_path / "i", tiny_encoder)
    meta = builder.index(numbered(["a cat"]))
    replace(meta, parts=(Part("../..", 1, meta.parts[0].texts),)).write(tmp_path / "i")
    with pytest.raises(DataError, match=r"meta\.json: damaged"):
        builder.index(numbered(["a dog"]), append=True)


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[-8] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("vectors.npy", lambda path: shutil.rmtree(path.parent)),
        ("vectors.npy", lambda path: path.unlink()),
        ("vectors.npy", flip_a_bit),
        ("texts.tsv", flip_a_bit),
        ("offsets.npy", flip_a_bit),
        ("SHA256SUMS", lambda path: path.unlink()),
    ],
    ids=["lost", "file lost", "vectors", "texts", "offsets", "sums"],
)
def test_a_part_that_has_changed_is_refused_and_made_again(
    name, damage, tmp_path, tiny_encoder, monkeypatch
):
    small_parts(monkeypatch, 4)
    texts = toy_sentences(10)
    builder = builder_of(tmp_path / "i", tiny_encoder)
    meta = builder.index(numbered(texts))
    path = tmp_path / "i" / "parts" / meta.parts[1].folder / name
    sound = path.read_bytes()
    damage(path)
    with pytest.raises(DataError, match=rf"{path.parent}: damaged .*; delete it and run"):
        Index(tmp_path / "i")
    if path.parent.is_dir():
        with pytest.raises(KeptError, match=rf"{path.parent}: .*; delete the folder"):
            builder.index(numbered(texts))
        shutil.rmtree(path.parent)
    assert builder.index(numbered(texts)) == meta and path.read_bytes() == sound


def test_a_folder_of_other_things_is_no_index(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(DataError, match="no index; name another folder"):
        read_meta(tmp_path)
    with pytest.raises(DataError, match="no index; name another folder"):
        read_meta(tmp_path / "thesis.tex")
    (tmp_path / "thesis.tex").rename(tmp_path / ".meta.json.1.tmp")  # what a crash may leave
    assert read_meta(tmp_path) is None
    with pytest.raises(DataError, match="no index; make it with"):
        Index(tmp_path / "absent")


def test_lines_are_counted_as_in_the_file(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(b"\xef\xbb\xbf one \r\n\n  \nfour\tand\ttabs\n5")
    rows = [(1, Row("1", "one")), (4, Row("4", "four\tand\ttabs")), (5, Row("5", "5"))]
    assert list(read_rows(path)) == rows
    assert [number for number, _ in read_rows(path, lines_before=10)] == [11, 14, 15]
    assert write_lines(path, 2) == [row.text for _, row in read_rows(path)]


def test_ids_are_what_stands_before_the_first_tab(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a 1\tone\ttwo\n\nb\tthree\n")
    rows = [row for _, row in read_rows(path, with_ids=True)]
    assert rows == [Row("a 1", "one\ttwo"), Row("b", "three")]
    for line in ("no tab", "\tno id", "no text\t"):
        path.write_text(f"a\tb\n{line}\n")
        with pytest.raises(DataError, match=r"t\.tsv:2: expected ID<TAB>TEXT"):
            list(read_rows(path, with_ids=True))


def test_ids_of_a_column_with_another_name_are_not_replaced_by_line_numbers(tmp_path):
    path = tmp_path / "texts.tsv"
    path.write_text("sku\ttext\nA-12\tA kite.\nB-7\tRain.\n")
    with pytest.raises(DataError, match="--ids needs a column named id, found sku, text"):
        list(read_rows(path, with_ids=True))
    assert [row.id for _, row in read_rows(path)] == ["2", "3"]
