"""Hard negatives from an index: those of sentence-transformers, and files that training reads."""

import sys
import types
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from indexing import command
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import mine_hard_negatives

from data.triplets import iter_triplets
from search import mine


class Columns(dict):
    """What sentence-transformers needs of datasets.Dataset, which is not installed."""

    column_names = property(list)
    from_dict = classmethod(lambda cls, columns: cls(columns))

    def to_pandas(self):
        anchors = list(self["anchor"])
        counts = {"positive": {anchor: anchors.count(anchor) for anchor in anchors}}
        told = types.SimpleNamespace(count=lambda: types.SimpleNamespace(to_dict=lambda: counts))
        return types.SimpleNamespace(groupby=lambda name: told)


@pytest.fixture(scope="module")
def place(tmp_path_factory, tiny_checkpoint) -> Path:
    """Make an index of 80 texts, and pairs whose positives are among them."""
    folder = tmp_path_factory.mktemp("mine")
    anchors = list(dict.fromkeys(toy_sentences(30, 9)))[:20]
    positives = [anchor.replace("the", "a") for anchor in anchors]
    others = [text for text in dict.fromkeys(toy_sentences(90, 5)) if text not in anchors]
    texts = [*positives, *others[:60]]
    model = ("--backbone", tiny_checkpoint, "--pooling", "avg")
    (folder / "t.txt").write_text("".join(f"{text}\n" for text in texts))
    assert command("index", folder / "t.txt", "--out", folder / "i", *model) == 0
    # Two anchors have a second positive.
    pairs = [*zip(anchors, positives, strict=True), (anchors[0], texts[40]), (anchors[3], texts[9])]
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    return folder


class Judge:
    """A cross-encoder that counts shared words; called as ours, and as theirs."""

    def __call__(self, anchor: str, texts) -> np.ndarray:
        words = set(anchor.split())
        shares = [zlib.crc32(f"{anchor} {text}".encode()) / 2**32 for text in texts]  # no ties
        return np.array([len(words & set(text.split())) for text in texts]) + shares

    def predict(self, pairs, **how) -> torch.Tensor:
        return torch.tensor([self(anchor, [text])[0] for anchor, text in pairs])


@pytest.mark.parametrize(
    ("words", "theirs"),
    [
        ([], {}),
        (["--from-rank", "3", "--to-rank", "40", "--per-pair", "4"], {"range_min": 2}),
        (["--relative-margin", "0.02", "--per-pair", "4"], {"relative_margin": 0.02}),
        (["--relative-margin", "0", "--margin", "0.02"], {"absolute_margin": 0.02}),
        (["--per-pair", "4", "--rerank", "runs/cross"], {"cross_encoder": Judge()}),
    ],
)
def test_negatives_are_those_of_sentence_transformers(
    words, theirs, place, tiny_encoder, tmp_path, monkeypatch
):
    monkeypatch.setattr(mine, "open_cross_encoder", lambda *given: Judge())
    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(Dataset=Columns))
    monkeypatch.setattr(
        "sentence_transformers.util.hard_negatives.is_datasets_available", lambda: True
    )
    words = ["--to-rank", "60", *words]
    out = tmp_path / "t.csv"
    assert command("mine", place / "i", place / "pairs.tsv", "--out", out, *words) == 0
    found = [triplet.texts for triplet in iter_triplets(out)]
    tiny_encoder.pool_by("avg")
    tiny_encoder.save(tmp_path / "st")
    pairs = [line.split("\t") for line in (place / "pairs.tsv").read_text().splitlines()]
    given = dict(zip(words[::2], words[1::2], strict=True))
    expected = mine_hard_negatives(
        Columns(anchor=[a for a, _ in pairs], positive=[b for _, b in pairs]),
        SentenceTransformer(str(tmp_path / "st"), device="cpu"),
        corpus=(place / "t.txt").read_text().splitlines(),
        range_max=int(given["--to-rank"]),
        num_negatives=int(given.get("--per-pair", 1)),
        verbose=False,
        **{"relative_margin": None if "absolute_margin" in theirs else 0.05, **theirs},
    )
    assert found == list(zip(*expected.values(), strict=True)) and len(found) > 10


def test_draws_are_from_the_ranks_and_follow_the_seed(place, tmp_path):
    def mined(*more) -> list[tuple[str, ...]]:
        words = ("--out", tmp_path / "t.csv", "--from-rank", "2", "--to-rank", "60", *more)
        assert command("mine", place / "i", place / "pairs.tsv", *words) == 0
        return [triplet.texts for triplet in iter_triplets(tmp_path / "t.csv")]

    two = "--per-pair", "2"
    whole, nearest, drawn = mined("--per-pair", "59"), mined(*two), mined(*two, "--random", "1")
    assert set(drawn) < set(whole) and drawn == [row for row in whole if row in drawn]
    assert drawn == mined(*two, "--random", "1")
    assert drawn != mined(*two, "--random", "1", "--seed", "1") != nearest
    # Of each pair the nearest one, and one from the ranks behind it.
    mixed = mined(*two, "--random", "0.5")
    assert mixed[::2] == nearest[::2] and mixed[1::2] != nearest[1::2]
    assert set(mixed) < set(whole) and len(set(mixed)) == len(nearest)


def test_equal_texts_are_no_negatives_and_what_is_wrong_is_one_line(place, tmp_path, capsys):
    texts, out = (place / "t.txt").read_text().splitlines(), tmp_path / "t.csv"
    pairs = tmp_path / "pairs.tsv"

    def mined(*more) -> int:
        return command("mine", place / "i", pairs, "--out", out, *more)

    pairs.write_text(f"{texts[0]}\t{texts[0]}\n{texts[1]}\t{texts[0]}\n")
    assert mined("--relative-margin", "0", "--per-pair", "3") == 0
    found = [triplet.texts for triplet in iter_triplets(out)]
    assert {row[0] for row in found} >= {texts[0]} and all(row[2] not in row[:2] for row in found)
    assert "triplets of 2 pairs are in" in capsys.readouterr().out
    out.unlink()
    for content, words, said in (
        ("a cat\n", (), f"{pairs}:1: 1 tab-separated field(s), expected 2"),
        ("a cat\t\n", (), f"{pairs}:1: a pair lacks a text"),
        ("a cat\ta dog\n", ("--margin", "2"), "no text is far enough below a positive"),
    ):
        pairs.write_text(content)
        assert mined(*words) == 2
        printed = capsys.readouterr()
        assert said in printed.err and printed.err.count("\n") == 1 and not out.exists()
    with pytest.raises(SystemExit):
        mined("--from-rank", "99", "--per-pair", "3")
    assert "--per-pair 3: more than the texts from --from-rank 99" in capsys.readouterr().err
