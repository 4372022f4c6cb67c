"""Checkpoints of every family as sentence encoders: embeddings, saving, pairs, policy, cache."""

import json
import shutil

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from families import (
    MULTILINGUAL,
    checkpoint,
    reference_config,
    reference_model,
    transformers,
    unigram,
)
from safetensors.torch import load_file

from minbert.config import POOLINGS, CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.pooling import mean_of_segments

FAMILIES = pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "bert"])
TEXTS = [*MULTILINGUAL[50:], "", " x", "naïve 👩‍👩‍👧 <mask> <pad> </s>", "word " * 100]


def load(folder, *more) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(folder), *more, device="cpu", precision="float32")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return a tiny checkpoint of every family."""
    root = tmp_path_factory.mktemp("families")
    return {name: checkpoint(root / name, name) for name in ("roberta", "xlm-roberta", "bert")}


@FAMILIES
@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_saved_checkpoint_gives_its_embeddings_everywhere(family, pooling, folders, tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    encoder = load(folders[family], pooling)
    assert encoder.max_length == 66
    encoder.save(tmp_path / "saved")
    expected = encoder.encode(TEXTS)
    again = load(tmp_path / "saved")
    assert (again.pooling, again.fingerprint()) == (pooling, encoder.fingerprint())
    assert (again.encode(TEXTS) == expected).all()
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert theirs.max_seq_length == 66
    assert abs(theirs.encode(TEXTS) - expected).max() < 2e-5
    assert abs(theirs.encode(TEXTS, batch_size=1) - expected).max() < 2e-5
    config = json.loads((tmp_path / "saved" / "config.json").read_text())
    assert config["model_type"] == family
    reference = transformers.AutoModel.from_pretrained(tmp_path / "saved")
    assert type(reference) is type(transformers.AutoModel.from_pretrained(folders[family]))
    state = reference.state_dict()
    assert all(torch.equal(state[k], t) for k, t in encoder.model.state_dict().items())


@FAMILIES
def test_cls_of_transformers_is_ours_for_every_text(family, folders):
    """Without padding, so that no position could be taken from a neighbour."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[family])
    reference = transformers.AutoModel.from_pretrained(folders[family]).eval()
    found = load(folders[family], "cls").encode(TEXTS)
    for text, mine in zip(TEXTS, found, strict=True):
        with torch.no_grad():
            inputs = tokenizer(text, truncation=True, max_length=66, return_tensors="pt")
            expected = reference(**inputs).pooler_output[0]
        np.testing.assert_allclose(mine, expected.numpy(), atol=1e-5)


@FAMILIES
def test_the_two_segments_of_pairs_are_those_of_the_texts(family, folders):
    encoder = load(folders[family])
    firsts, seconds = ["the old cat", "", "a", "x " * 80], ["a dog sees", "b", "", "y " * 80]
    sequences = encoder.tokenize(firsts, seconds)
    batch = sequences.pack([3, 0, 1, 2])
    with torch.no_grad():
        states = encoder.model.packed(batch).last_hidden_state
        means = mean_of_segments(states, batch)
    reference = transformers.AutoTokenizer.from_pretrained(folders[family])
    model = transformers.AutoModel.from_pretrained(folders[family]).eval()
    for row, index in enumerate([3, 0, 1, 2]):
        inputs = reference(
            [firsts[index]], [seconds[index]], truncation="longest_first", max_length=66,
            return_tensors="pt",
        )  # fmt: skip
        with torch.no_grad():
            expected = model(**inputs).last_hidden_state[0]
        # From [CLS] to the first separator, and all the rest.
        ids = inputs["input_ids"][0].tolist()
        border = ids.index(encoder.tokenizer.sep_id) + 1
        for mine, part in zip(means, (expected[:border], expected[border:]), strict=True):
            torch.testing.assert_close(mine[row], part.mean(0), atol=1e-5, rtol=0)


def test_a_bert_with_xlm_rs_vocabulary_is_one(tmp_path):
    """As multilingual sentence encoders are: BERT's positions, `<s> a </s></s> b </s>`."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    unigram(tmp_path / "base")
    reference = reference_model(reference_config("bert", 400))
    reference.save_pretrained(tmp_path / "base")
    encoder = load(tmp_path / "base", "avg")
    assert encoder.model.config.first_position == 0 and encoder.tokenizer.second_type == 0
    assert not encoder.tokenize(["a"], ["b"]).pack([0]).token_type_ids.any()
    encoder.save(tmp_path / "saved")
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert abs(theirs.encode(TEXTS) - encoder.encode(TEXTS)).max() < 2e-5


def test_pairs_of_two_token_types_need_two_in_the_model(folders, tmp_path):
    single = checkpoint(tmp_path, "bert", type_vocab_size=1)
    with pytest.raises(CheckpointError, match="one segment"):
        load(single).tokenize(["a"], ["b"])
    assert len(load(folders["roberta"]).tokenize(["a"], ["b"])) == 1


def test_a_fingerprint_knows_where_positions_begin(folders, tmp_path):
    shutil.copytree(folders["roberta"], tmp_path / "as bert")
    config = json.loads((tmp_path / "as bert" / "config.json").read_text())
    content = json.dumps({**config, "model_type": "bert"})
    (tmp_path / "as bert" / "config.json").write_text(content)
    first, second = load(folders["roberta"]), load(tmp_path / "as bert")
    second.max_length = first.max_length
    assert first.fingerprint() != second.fingerprint()


@pytest.mark.parametrize("family", ["roberta", "bert"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [("sup-simcse", "cls"), ("unsup-simcse", "cls_before_pooler"), ("other", None)],
)
@pytest.mark.parametrize("place", ["folder", "here", "cache"])
def test_published_simcse_checkpoints_find_their_pooling(
    family, name, expected, place, folders, tmp_path, monkeypatch
):
    folder = tmp_path / f"{name}-{family}-base"
    if place == "cache":
        folder = tmp_path / f"models--princeton-nlp--{name}-{family}-base" / "snapshots" / "0123"
    shutil.copytree(folders[family], folder)
    if place == "here":
        monkeypatch.chdir(folder)
    encoder = load("." if place == "here" else folder)
    assert (encoder.stated_pooling, encoder.pooling) == (expected, expected or "cls_before_pooler")
    # From here on the folder says it, under whatever name.
    encoder.save(tmp_path / "anything")
    assert load(tmp_path / "anything").stated_pooling == encoder.pooling


@pytest.mark.parametrize("tuning", [False, True])
def test_a_pooling_other_than_the_stated_one_is_warned_of_in_one_line(
    tuning, tiny_checkpoint, tmp_path, caplog
):
    folder = tmp_path / "unsup-simcse-x"
    shutil.copytree(tiny_checkpoint, folder)
    for pooling, told in ((None, 0), ("cls_before_pooler", 0), ("avg", 1)):
        caplog.clear()
        SentenceEncoder.from_pretrained(str(folder), pooling, "cpu", "float32", tuning=tuning)
        lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert len(lines) == told
    assert "cls_before_pooler" in lines[0] and "avg" in lines[0] and str(folder) in lines[0]


def test_an_encoder_to_be_tuned_need_not_have_the_pooler_yet(tmp_path):
    folder = str(checkpoint(tmp_path, "roberta", "AutoModelForMaskedLM"))
    with pytest.raises(CheckpointError, match="pooler"):
        SentenceEncoder.from_pretrained(folder, "cls")
    encoder = SentenceEncoder.from_pretrained(folder, "cls", tuning=True)
    assert encoder.pooling == "cls_before_pooler"


def test_weights_are_saved_under_the_names_of_the_bare_encoder(folders, tmp_path):
    load(folders["roberta"]).save(tmp_path / "saved")
    saved = load_file(tmp_path / "saved" / "model.safetensors")
    original = load_file(folders["roberta"] / "model.safetensors")
    assert saved.keys() == original.keys()
    assert all(torch.equal(saved[key], tensor) for key, tensor in original.items())


def test_an_encoder_reads_the_same_in_any_order(folders):
    encoder = load(folders["roberta"], "avg")
    texts = [*TEXTS, *toy_sentences(30)]
    whole = encoder.encode(texts)
    assert abs(whole - encoder.encode(texts[::-1])[::-1]).max() < 1e-5
    assert abs(whole - encoder.encode(texts, batch_tokens=1)).max() < 1e-5
