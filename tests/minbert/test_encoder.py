"""Texts in, embeddings out: as sentence-transformers', whatever keywords, batches, threads."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas
import pytest
import torch
from conftest import real_checkpoint, toy_sentences

from minbert import BertModel, BertTokenizer
from minbert.checkpoint import tensors_digest
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.fast.int8 import NARROW, Int8
from minbert.fast.linear import keepers
from runtime.errors import UserError

TEXTS = [*toy_sentences(12), "", "the cat", "the cat"]
LONG = ["a", "the cat sees a dog . " * 12, *toy_sentences(30)]
# How far embeddings of unit length may move with the batch that they are computed in.
TOLERANCE = {"float32": 1e-6, "bfloat16": 2e-3}
PRECISIONS = pytest.mark.parametrize("precision", TOLERANCE)


def load(folder, precision="float32", pooling=None):
    return SentenceEncoder.from_pretrained(str(folder), pooling, "cpu", precision)


@pytest.fixture(scope="module")
def folder(tiny_checkpoint, tmp_path_factory):
    """A checkpoint with mean pooling and no scaling, as sentence-transformers reads it."""
    path = tmp_path_factory.mktemp("calls") / "avg"
    load(tiny_checkpoint, pooling="avg").save(path)
    return str(path)


@pytest.fixture
def own(folder):
    return load(folder)


@pytest.fixture(scope="module")
def theirs(folder):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    return sentence_transformers.SentenceTransformer(folder, device="cpu")


def test_minilm_embeddings_equal_sentence_transformers():
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = str(real_checkpoint())
    texts = [*toy_sentences(8), "", "word " * 300, "Ünïcödé 猫"]
    own = load(folder)
    theirs = sentence_transformers.SentenceTransformer(folder, device="cpu")
    assert own.pooling == "avg" and own.normalize and own.max_length == 256
    assert abs(own.encode(texts) - theirs.encode(texts)).max() < 1e-5


@pytest.mark.parametrize("pooling", ["cls", "avg_first_last"])
def test_bfloat16_is_close_to_float32_however_the_texts_come(pooling, tiny_checkpoint):
    exact, fast = (load(tiny_checkpoint, precision, pooling) for precision in TOLERANCE)
    # Ragged lengths, enough tokens for weights that are kept, and a text that is cut.
    texts = [*toy_sentences(120), "", "cat", "the cat " * 600]
    expected = exact.encode(texts)
    for embeddings in (
        fast.encode(texts),
        fast.encode(texts, batch_tokens=50),
        np.stack([fast.encode(text) for text in texts[-9:]]),
    ):
        exact = expected[-len(embeddings) :]
        norms = np.linalg.norm(exact, axis=1) * np.linalg.norm(embeddings, axis=1)
        assert ((exact * embeddings).sum(axis=1) / norms).min() >= 0.999


@pytest.mark.parametrize("pooling", ["cls", "avg_first_last"])
def test_the_plain_classes_encode_the_same(pooling, tiny_checkpoint):
    fast, plain = (
        SentenceEncoder.from_pretrained(
            tiny_checkpoint, pooling, device="cpu", precision="float32", fast=fast
        )
        for fast in (True, False)
    )
    modules = {type(module).__module__ for module in plain.model.modules()}
    assert not any(name.startswith("minbert.fast") for name in modules)
    texts = [*toy_sentences(300), "", "the cat " * 600]  # enough for weights that are kept
    np.testing.assert_allclose(plain.encode(texts), fast.encode(texts), atol=1e-5)
    batch = plain.tokenize(texts[:9]).pack(range(9))
    for encoder in (plain, fast):
        encoder.embed(batch).square().sum().backward()
    for (name, ours), theirs in zip(
        plain.model.named_parameters(), fast.model.parameters(), strict=True
    ):
        if theirs.grad is not None:
            torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-3, rtol=1e-4, msg=name)
    with pytest.raises(UserError, match="int8: only the fast forms have it"):
        SentenceEncoder.from_pretrained(tiny_checkpoint, precision="int8", fast=False)


def test_order_and_duplicates_change_nothing(tiny_encoder):
    texts = [*toy_sentences(30), "the cat", "the cat", ""]
    whole = tiny_encoder.encode(texts)
    assert whole.dtype == np.float32 and whole.shape == (33, 32)
    assert np.array_equal(whole[30], whole[31])
    assert abs(whole - tiny_encoder.encode(texts[::-1])[::-1]).max() < 1e-5
    assert tiny_encoder.encode([]).shape == (0, 32)


def furthest_move(encoder, texts):
    """Return the largest difference that the batch makes to an element of a unit vector."""
    whole = encoder.encode(texts, normalize_embeddings=True)
    others = [
        encoder.encode(texts, normalize_embeddings=True, **keywords)
        for keywords in ({"batch_tokens": 1}, {"batch_tokens": 300}, {"batch_size": 1})
    ]
    others.append(np.stack([encoder.encode(text, normalize_embeddings=True) for text in texts]))
    return max(abs(other - whole).max() for other in others)


@PRECISIONS
def test_the_batch_moves_embeddings_by_rounding_only(precision):
    assert furthest_move(load("mini", precision), LONG) <= TOLERANCE[precision]


@PRECISIONS
def test_calls_from_many_threads_give_what_calls_in_turn_give(precision, folder):
    encoder = load(folder, precision)
    parts = [toy_sentences(count, count) for count in range(3, 100, 16)]
    expected = [encoder.encode(part) for part in parts]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(encoder.encode_quietly, parts))
    for first, second in zip(found, expected, strict=True):
        assert np.array_equal(first, second)
    assert all(keeper.kept is None for keeper in keepers(encoder.model))


def test_encode_gives_back_the_mode_of_every_part(tiny_encoder):
    model = tiny_encoder.model
    for whole in (False, True):
        model.train(whole)
        model.encoder.layer[1].train(not whole)
        before = [module.training for module in model.modules()]
        tiny_encoder.encode(TEXTS)
        assert [module.training for module in model.modules()] == before
        with pytest.raises(UserError):
            tiny_encoder.encode([None])
        assert [module.training for module in model.modules()] == before


def test_encoding_gives_memory_back_after_many_batches_only(tiny_encoder, monkeypatch):
    calls = []
    monkeypatch.setattr("minbert.encoder.RELEASE_STEPS", 4)
    monkeypatch.setattr("minbert.encoder.release_memory", lambda: calls.append(1))

    def released(batches: int) -> int:
        calls.clear()
        texts = [f"the {'cat ' * (n % 7)}{chr(97 + n)}" for n in range(batches)]
        tiny_encoder.encode(texts, batch_tokens=1)  # a text is a batch
        return len(calls)

    assert [released(batches) for batches in (1, 3, 4, 7, 9)] == [0, 0, 1, 2, 3]


def test_a_model_of_one_segment_reads_pairs_without_token_types(
    tiny_checkpoint, tiny_config, tmp_path
):
    single = BertModel(type(tiny_config)(**{**tiny_config.__dict__, "type_vocab_size": 1}))
    encoder = SentenceEncoder(single, BertTokenizer.from_pretrained(tiny_checkpoint))
    pairs = encoder.tokenize(["the cat"], ["a dog"])
    assert not pairs.pack([0]).token_type_ids.any() and pairs.first_lengths.tolist() == [4]
    encoder.save(tmp_path / "saved")
    again = SentenceEncoder.from_pretrained(tmp_path / "saved")
    assert again.tokenizer.second_type == 0
    transformers = pytest.importorskip("transformers", reason="the reference")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert list(theirs("the cat", "a dog")) == ["input_ids", "attention_mask"]


def test_tokenizer_and_model_of_different_checkpoints_are_refused(tiny_checkpoint, tiny_config):
    small = BertModel(type(tiny_config)(**{**tiny_config.__dict__, "vocab_size": 20}))
    with pytest.raises(CheckpointError, match="not of one checkpoint"):
        SentenceEncoder(small, BertTokenizer.from_pretrained(tiny_checkpoint))


@pytest.mark.parametrize("length", [2, 65, 7.5, "8"])
def test_lengths_without_positions_are_refused(length, tiny_encoder):
    with pytest.raises(UserError, match="from 3 to 64"):
        tiny_encoder.tokenize(["the cat"], max_length=length)
    tiny_encoder.max_length = length
    with pytest.raises(UserError, match="from 3 to 64"):
        tiny_encoder.encode(["the cat"])


def test_freeze_stops_gradients_and_dropout(tiny_encoder):
    tiny_encoder.model.train()
    assert tiny_encoder.freeze() is tiny_encoder
    assert not tiny_encoder.model.training
    batch = tiny_encoder.tokenize(["the cat"]).pack([0])
    assert not tiny_encoder.embed(batch).requires_grad


def test_a_clone_is_trained_without_touching_its_original(tiny_encoder):
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
    assert not any(p.requires_grad for p in tiny_encoder.model.parameters())


def test_a_fingerprint_follows_all_that_decides_embeddings(tiny_encoder):
    found = [tiny_encoder.fingerprint()]
    assert found[0] == tiny_encoder.fingerprint()
    weights = tensors_digest(tiny_encoder.model.state_dict())
    assert found[0] == tiny_encoder.fingerprint(weights)  # as if the digest were not known

    def change(act):
        act()
        found.append(tiny_encoder.fingerprint())

    config = tiny_encoder.model.config.__dict__
    change(lambda: tiny_encoder.pool_by("avg"))
    change(lambda: tiny_encoder.model.embeddings.LayerNorm.bias.data.add_(1e-6))
    change(lambda: setattr(tiny_encoder, "max_length", 9))
    change(lambda: setattr(tiny_encoder, "dtype", torch.bfloat16))
    change(lambda: setattr(tiny_encoder, "int8", Int8(NARROW)))
    change(lambda: setattr(tiny_encoder, "device", torch.device("cuda")))
    change(lambda: tiny_encoder.tokenizer.backend.add_tokens(["catdog"]))
    change(lambda: config.update(hidden_act="relu"))
    change(lambda: config.update(num_attention_heads=2))
    change(lambda: config.update(layer_norm_eps=1e-5))
    change(lambda: config.update(model_type="roberta"))
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"batch_size": 2, "show_progress_bar": False, "device": None, "prompt_name": None},
        {"convert_to_tensor": True},
        {"convert_to_numpy": False},
        {"truncate_dim": 7, "normalize_embeddings": True, "precision": None},
        {"prompt": "the old "},
        {"precision": "binary"},
        {"precision": "ubinary", "truncate_dim": 13},
    ],
    ids=str,
)
@pytest.mark.parametrize("texts", [TEXTS, "the red boat ."], ids=["many", "one"])
def test_keywords_do_what_sentence_transformers_does(texts, keywords, own, theirs):
    found, expected = own.encode(texts, **keywords), theirs.encode(texts, **keywords)
    assert type(found) is type(expected) and len(found) == len(expected)
    if isinstance(found, list):
        found, expected = torch.stack(found), torch.stack(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    if keywords.get("precision"):
        assert np.array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("shape", [torch.as_tensor, list], ids=["tensor", "list"])
def test_similarities_equal_sentence_transformers(shape, own, theirs):
    first, second = own.encode(TEXTS[:5]), own.encode(TEXTS[5:10])
    assert own.similarity_fn_name == theirs.similarity_fn_name == "cosine"
    for name in ("similarity", "similarity_pairwise"):
        found, expected = (getattr(m, name)(shape(first), shape(second)) for m in (own, theirs))
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    found, expected = (model.similarity(first[0], shape(second)) for model in (own, theirs))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"precision": "int8"}, "precision is 'int8'; expected one of float32, binary, ubinary"),
        ({"output_value": "token_embeddings"}, "output_value='token_embeddings' is not supported"),
        ({"prompt_name": "corpus"}, "no prompt is named 'corpus'; there are 'query', 'document'"),
        ({"prompt": 3}, "prompt is 3; expected a text"),
        ({"device": "cuda"}, "device='cuda' is not supported"),
        ({"chunk_size": 3}, "chunk_size=3 is not supported"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"truncate_dim": 0}, "truncate_dim is 0"),
    ],
    ids=str,
)
def test_what_is_not_supported_is_refused_in_one_line(keywords, message, own):
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        own.encode(TEXTS, **keywords)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "got a NoneType"),
        (b"the cat", "got a bytes"),
        ({"text": "the cat"}, "got a dict"),
        (np.array([["the cat"]]), "got a ndarray"),
        (["the cat", float("nan")], "text 1 is a float, nan; expected strings"),
        (["the cat", "a \ud800"], "text 1 is no valid Unicode"),
        ([("the cat", "a dog")], "text 0 is a tuple"),
    ],
)
def test_what_is_no_text_is_refused_in_one_line(texts, message, tiny_encoder):
    with pytest.raises(UserError, match=message) as error:
        tiny_encoder.encode(texts)
    assert "\n" not in str(error.value)


def test_arrays_columns_and_generators_of_texts_are_texts(own):
    expected = own.encode(TEXTS)
    for texts in (
        np.array(TEXTS, object),
        pandas.Series(TEXTS, dtype="string"),
        (text for text in TEXTS),
    ):
        assert np.array_equal(own.encode(texts), expected)
    keys = dict.fromkeys(TEXTS).keys()
    assert np.array_equal(own.encode(keys), expected[:-1])
    with pytest.raises(UserError, match="got a DataFrame"):
        own.encode(pandas.DataFrame({"text": TEXTS}))


def test_batch_size_bounds_the_tokens_of_a_pass(own, monkeypatch):
    passes = []
    embed = own.embed
    monkeypatch.setattr(own, "embed", lambda batch: passes.append(batch.lengths) or embed(batch))
    own.encode(LONG, batch_size=1)
    assert len(passes) > 5 and max(map(sum, passes)) <= own.max_length
    assert max(map(len, passes)) > 1  # short texts share a pass
    own.encode(LONG, batch_tokens=9, batch_size=100)  # the smaller of two bounds holds
    assert all(sum(lengths) <= 9 or len(lengths) == 1 for lengths in passes[-3:])
