"""Texts in, embeddings out: as sentence-transformers', whatever the batching and order."""

import csv
import json

import numpy as np
import pytest
import torch
from conftest import real_checkpoint, real_data, toy_sentences
from safetensors.torch import load_file, save_file
from scipy.stats import spearmanr

from data.tasks import read_sts
from evaluation.sts import sts_metrics
from minbert import BertModel, BertTokenizer
from minbert.checkpoint import tensors_digest
from minbert.config import POOLINGS, CheckpointError
from minbert.encoder import SentenceEncoder


def test_minilm_embeddings_equal_sentence_transformers():
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = str(real_checkpoint())
    texts = [*toy_sentences(20), "", "word " * 600, "Ünïcödé 猫"]
    own = SentenceEncoder.from_pretrained(folder, device="cpu", precision="float32")
    theirs = sentence_transformers.SentenceTransformer(folder, device="cpu")
    assert own.pooling == "avg" and own.normalize and own.max_length == 256
    assert abs(own.encode(texts) - theirs.encode(texts)).max() < 1e-5


def test_bfloat16_embeddings_stay_close_and_keep_the_ranking():
    pairs = read_sts(real_data("cs224n/sts-dev.csv"))[:400]
    folder = str(real_checkpoint())
    exact, fast = (
        SentenceEncoder.from_pretrained(folder, device="cpu", precision=precision)
        for precision in ("float32", "bfloat16")
    )
    texts = [pair.text_a for pair in pairs]
    assert (exact.encode(texts) * fast.encode(texts)).sum(axis=1).min() >= 0.999
    both = [sts_metrics(encoder.encode, pairs)["spearman"] for encoder in (exact, fast)]
    assert abs(both[0] - both[1]) <= 0.002


@pytest.mark.parametrize("pooling", POOLINGS)
def test_bfloat16_is_close_to_float32_however_the_texts_come(pooling, tiny_checkpoint):
    exact, fast = (
        SentenceEncoder.from_pretrained(str(tiny_checkpoint), pooling, "cpu", precision)
        for precision in ("float32", "bfloat16")
    )
    # Ragged lengths, enough tokens for weights that are kept, and a text that is cut.
    texts = [*toy_sentences(120), *toy_sentences(60, 3), "", "cat", "the cat " * 600]
    expected = exact.encode(texts)
    found = [
        fast.encode(texts),
        fast.encode(texts, batch_tokens=50),
        np.stack([fast.encode(text) for text in texts]),
    ]
    threads = torch.get_num_threads()
    torch.set_num_threads(3 - min(threads, 2))
    try:
        found.append(fast.encode(texts))
    finally:
        torch.set_num_threads(threads)
    for embeddings in found:
        norms = np.linalg.norm(expected, axis=1) * np.linalg.norm(embeddings, axis=1)
        assert ((expected * embeddings).sum(axis=1) / norms).min() >= 0.999


def test_order_duplicates_and_batching_change_nothing(tiny_encoder):
    texts = [*toy_sentences(30), "the cat", "the cat", ""]
    whole = tiny_encoder.encode(texts)
    assert whole.dtype == np.float32 and whole.shape == (33, 32)
    assert np.array_equal(whole[30], whole[31])
    backwards = tiny_encoder.encode(texts[::-1])[::-1]
    small = tiny_encoder.encode(texts, batch_tokens=1)
    assert abs(whole - backwards).max() < 1e-5 and abs(whole - small).max() < 1e-5


def test_no_texts_and_one_bare_text(tiny_encoder):
    assert tiny_encoder.encode([]).shape == (0, 32)
    assert np.array_equal(tiny_encoder.encode("the cat"), tiny_encoder.encode(["the cat"])[0])


def test_freeze_stops_gradients_and_dropout(tiny_encoder):
    tiny_encoder.model.train()
    assert tiny_encoder.freeze() is tiny_encoder
    assert not tiny_encoder.model.training
    batch = tiny_encoder.tokenize(["the cat"]).pack([0])
    assert not tiny_encoder.embed(batch).requires_grad


def test_fingerprint_follows_weights_and_settings(tiny_encoder):
    first = tiny_encoder.fingerprint()
    assert first == tiny_encoder.fingerprint()
    tiny_encoder.pool_by("avg")
    second = tiny_encoder.fingerprint()
    with torch.no_grad():
        tiny_encoder.model.embeddings.LayerNorm.bias[0] += 1e-6
    assert len({first, second, tiny_encoder.fingerprint()}) == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sup-simcse-bert", "cls"), ("unsup-simcse-bert", "cls_before_pooler"), ("bert", None)],
)
def test_published_simcse_checkpoints_are_known_by_name(name, expected, tiny_checkpoint, tmp_path):
    (tmp_path / name).symlink_to(tiny_checkpoint)
    encoder = SentenceEncoder.from_pretrained(str(tmp_path / name))
    assert encoder.stated_pooling == expected
    assert encoder.pooling == (expected or "cls_before_pooler")
    assert SentenceEncoder.from_pretrained(str(tmp_path / name), pooling="avg").pooling == "avg"


@pytest.mark.parametrize(
    ("name", "expected"), [("sup-simcse-bert", "cls"), ("unsup-simcse-bert", "cls_before_pooler")]
)
def test_they_are_known_by_their_place_in_the_hubs_cache(name, expected, tiny_checkpoint, tmp_path):
    snapshots = tmp_path / f"models--princeton-nlp--{name}" / "snapshots"
    snapshots.mkdir(parents=True)
    (snapshots / "0123abc").symlink_to(tiny_checkpoint)
    assert SentenceEncoder.from_pretrained(str(snapshots / "0123abc")).pooling == expected


def test_a_foreign_dense_step_is_used_instead_of_the_pooler(tiny_encoder, tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    tiny_encoder.pool_by("cls")
    tiny_encoder.save(tmp_path / "st")
    weights = tmp_path / "st" / "2_Dense" / "model.safetensors"
    draw = torch.Generator().manual_seed(0)
    drawn = {k: torch.randn(t.shape, generator=draw) for k, t in load_file(weights).items()}
    save_file(drawn, weights)
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "st"), device="cpu")
    own = SentenceEncoder.from_pretrained(str(tmp_path / "st"), precision="float32")
    texts = toy_sentences(5)
    assert abs(own.encode(texts) - theirs.encode(texts)).max() < 1e-5
    assert abs(own.encode(texts) - tiny_encoder.encode(texts)).max() > 0.1


def test_a_pooling_that_is_not_ours_is_refused_in_one_line(tiny_encoder, tmp_path):
    tiny_encoder.pool_by("avg")
    tiny_encoder.save(tmp_path / "st")
    path = tmp_path / "st" / "1_Pooling" / "config.json"
    path.write_text(json.dumps({"embedding_dimension": 32, "pooling_mode": "max"}))
    with pytest.raises(CheckpointError, match="max"):
        SentenceEncoder.from_pretrained(str(tmp_path / "st"))
    assert SentenceEncoder.from_pretrained(str(tmp_path / "st"), "avg_top2").pooling == "avg_top2"
    path.write_text(json.dumps({"embedding_dimension": 32, "pooling_mode": "mean"}))
    assert SentenceEncoder.from_pretrained(str(tmp_path / "st")).pooling == "avg"
    (tmp_path / "st" / "sentence_bert_config.json").write_text('{"max_seq_length": 2}')
    with pytest.raises(CheckpointError, match="max_seq_length is 2"):
        SentenceEncoder.from_pretrained(str(tmp_path / "st"))


def test_a_known_digest_of_the_weights_gives_the_same_fingerprint(tiny_encoder):
    weights = tensors_digest(tiny_encoder.model.state_dict())
    assert tiny_encoder.fingerprint(weights) == tiny_encoder.fingerprint()
    assert tiny_encoder.fingerprint("of other weights") != tiny_encoder.fingerprint()


def test_fingerprint_follows_what_changes_embeddings_without_changing_weights(tiny_encoder):
    found = [tiny_encoder.fingerprint()]
    tiny_encoder.max_length = 9
    found.append(tiny_encoder.fingerprint())
    tiny_encoder.dtype = torch.bfloat16
    found.append(tiny_encoder.fingerprint())
    tiny_encoder.tokenizer.backend.add_tokens(["catdog"])
    found.append(tiny_encoder.fingerprint())
    assert len(set(found)) == 4


@pytest.mark.parametrize("frozen", [False, True])
def test_a_clone_is_trained_without_touching_its_original(frozen, tiny_encoder):
    if frozen:
        tiny_encoder.freeze()
    texts = toy_sentences(5)
    before = tiny_encoder.encode(texts)
    twin = tiny_encoder.clone()
    assert np.array_equal(twin.encode(texts), before)
    assert (twin.pooling, twin.fingerprint()) == (tiny_encoder.pooling, tiny_encoder.fingerprint())
    twin.model.train()
    optimizer = torch.optim.SGD(twin.model.parameters(), lr=1.0)
    twin.embed(twin.tokenize(texts).pack(range(5))).square().sum().backward()
    optimizer.step()
    assert abs(twin.encode(texts) - before).max() > 0.01
    assert np.array_equal(tiny_encoder.encode(texts), before)
    assert all(p.requires_grad is not frozen for p in tiny_encoder.model.parameters())


def test_the_encoder_of_a_plain_model_computes_as_it_does(tiny_checkpoint):
    tokenizer = BertTokenizer.from_pretrained(tiny_checkpoint)
    model = BertModel.from_pretrained(str(tiny_checkpoint))
    texts = toy_sentences(5)
    with torch.no_grad():
        plain = model.packed(tokenizer(texts).pack(range(5)))
    states = plain.last_hidden_state.split([len(ids) for ids in tokenizer(texts)])
    encoder = SentenceEncoder(model, tokenizer, "avg", "cpu", "float32")
    assert encoder.model is model
    expected = torch.stack([state.mean(dim=0) for state in states])
    np.testing.assert_allclose(encoder.encode(texts), expected.numpy(), atol=1e-5)


def test_pairs_need_two_segments(tiny_checkpoint, tiny_config):
    single = BertModel(type(tiny_config)(**{**tiny_config.__dict__, "type_vocab_size": 1}))
    encoder = SentenceEncoder(single, BertTokenizer.from_pretrained(tiny_checkpoint))
    assert encoder.encode(["the cat"]).shape == (1, 32)
    with pytest.raises(CheckpointError, match="one segment"):
        encoder.tokenize(["the cat"], ["a dog"])


def test_tokenizer_and_model_of_different_checkpoints_are_refused(tiny_checkpoint, tiny_config):
    small = BertModel(type(tiny_config)(**{**tiny_config.__dict__, "vocab_size": 20}))
    with pytest.raises(CheckpointError, match="not of one checkpoint"):
        SentenceEncoder(small, BertTokenizer.from_pretrained(tiny_checkpoint))


def test_cosines_of_minilm_rank_real_pairs_well():
    with real_data("cs224n/sts-dev.csv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))[:300]
    encoder = SentenceEncoder.from_pretrained(str(real_checkpoint()))
    first, second = (encoder.encode([row[f"sentence{i}"] for row in rows]) for i in (1, 2))
    gold = [float(row["similarity"]) for row in rows]
    assert spearmanr((first * second).sum(axis=1), gold)[0] > 0.8
