"""The sentence encoder that comes along as `mini-sts`: small, documented, ordinary."""

import json

import numpy as np
import pytest

from minbert.encoder import SentenceEncoder
from minbert.hub import SHIPPED

FOLDER = SHIPPED["mini-sts"]
TEXTS = ["A kite in the wind.", "The wind carries a kite.", "Interest rates fell again."]


def test_it_is_small_whole_and_documented():
    assert (FOLDER / "model.safetensors").stat().st_size <= 16 * 2**20
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    for part in ("Sentences", "Licence", "Teacher", "leaks", "--pretrain teacher"):
        assert part in card, part
    notes = json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))
    assert notes["pretrain"] == "teacher" and notes["data"] == "sentences.txt"


def test_sentence_transformers_reads_the_same_embeddings():
    sentence_transformers = pytest.importorskip("sentence_transformers")
    theirs = sentence_transformers.SentenceTransformer(str(FOLDER), device="cpu").float()
    ours = SentenceEncoder.from_pretrained("mini-sts", device="cpu", precision="float32")
    np.testing.assert_allclose(ours.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)
