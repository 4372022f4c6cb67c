"""The encoders that ship, `mini` and `mini-sts`: small, documented, ordinary, and of use."""

import json
import warnings

import numpy as np
import pytest
import torch

from minbert.encoder import SentenceEncoder
from minbert.hub import MINI, SHIPPED
from minbert.mlm import BertForMaskedLM

MOST_BYTES = 16 * 2**20


CARDS = {
    "mini": "Corpus|Licence|Tokens seen|Limits|commit 46cdafee|version 1.0.0",
    "mini-sts": "Sentences|Licence|Teacher|leaks|--pretrain teacher|version 1.0.0",
}


@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_small_and_documented(name):
    assert (SHIPPED[name] / "model.safetensors").stat().st_size <= MOST_BYTES
    card = (SHIPPED[name] / "README.md").read_text(encoding="utf-8")
    for part in CARDS[name].split("|"):
        assert part in card, part


def test_their_notes_say_how_they_were_made():
    mini, sts = (json.loads((SHIPPED[n] / "training.json").read_text()) for n in CARDS)
    assert f"{mini['averaged']['valid_perplexity']:.1f}" in (MINI / "README.md").read_text()
    assert "/" not in json.dumps(mini["options"]["corpus"])
    assert sts["pretrain"] == "teacher" and sts["data"] == "sentences.txt"


def test_sentence_transformers_reads_the_embeddings_of_mini_sts_in_silence(caplog, capsys):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = str(SHIPPED["mini-sts"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theirs = sentence_transformers.SentenceTransformer(folder, device="cpu")
    assert not caplog.records and "MISSING" not in capsys.readouterr().err
    ours = SentenceEncoder.from_pretrained("mini-sts", device="cpu", precision="float32")
    texts = ["A kite in the wind.", "The wind carries a kite.", "Interest rates fell again."]
    np.testing.assert_allclose(ours.encode(texts), theirs.encode(texts), atol=1e-5)


def test_mini_is_an_ordinary_checkpoint():
    transformers = pytest.importorskip("transformers")
    reference = transformers.AutoModelForMaskedLM.from_pretrained(MINI).eval()
    ours = BertForMaskedLM.from_pretrained("mini")
    tokenizer = SentenceEncoder.from_pretrained("mini").tokenizer
    theirs = transformers.AutoTokenizer.from_pretrained(MINI)
    text = "The Danube flows through Vienna."
    (ids,) = tokenizer([text])
    assert theirs(text)["input_ids"] == ids
    with torch.no_grad():
        expected = reference(torch.tensor([ids])).logits[0]
        batch = tokenizer([text]).pack([0])
        got = ours(batch, torch.arange(len(ids)))
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=0)
