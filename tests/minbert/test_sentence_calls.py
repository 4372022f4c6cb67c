"""An encoder is asked as a SentenceTransformer is, and answers what one answers."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from conftest import real_checkpoint, real_data, toy_sentences

from data.tasks import read_sts
from minbert.encoder import SentenceEncoder
from minbert.fast.linear import keepers
from runtime.errors import UserError

TEXTS = [*toy_sentences(12), "", "the cat", "the cat"]
LONG = ["a", "the cat sees a dog . " * 12, *toy_sentences(60)]

# How far embeddings of unit length may move with the batch that they are computed in.
TOLERANCE = {"float32": 1e-6, "bfloat16": 2e-3}


@pytest.fixture(scope="module")
def folder(tiny_checkpoint, tmp_path_factory):
    """A checkpoint with mean pooling and no scaling, as sentence-transformers reads it."""
    path = tmp_path_factory.mktemp("calls") / "avg"
    SentenceEncoder.from_pretrained(
        str(tiny_checkpoint), "avg", device="cpu", precision="float32"
    ).save(path)
    return str(path)


@pytest.fixture
def own(folder):
    return SentenceEncoder.from_pretrained(folder, device="cpu", precision="float32")


@pytest.fixture
def theirs(folder):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    return sentence_transformers.SentenceTransformer(folder, device="cpu")


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"batch_size": 2, "show_progress_bar": False, "device": "cpu", "prompt_name": None},
        {"convert_to_tensor": True},
        {"convert_to_numpy": False},
        {"convert_to_numpy": False, "convert_to_tensor": True},
        {"normalize_embeddings": True},
        {"truncate_dim": 7},
        {"truncate_dim": 7, "normalize_embeddings": True, "precision": None},
        {"truncate_dim": 100},
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


def test_queries_and_documents_are_encoded_alike(own, theirs):
    for name in ("encode_query", "encode_document"):
        found, expected = (getattr(model, name)(TEXTS, truncate_dim=5) for model in (own, theirs))
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    "shape", [np.asarray, torch.as_tensor, list], ids=["array", "tensor", "list"]
)
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
        ({"output_value": "token_embeddings"}, "only 'sentence_embedding' is supported"),
        ({"output_value": None}, "only 'sentence_embedding' is supported"),
        ({"prompt_name": "query"}, "no prompt is named 'query' here; give prompt="),
        ({"device": "cuda"}, "device is 'cuda', but the encoder is on cpu"),
        ({"device": ["cpu", "cpu"]}, "but the encoder is on cpu"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"truncate_dim": 0}, "truncate_dim is 0"),
    ],
    ids=str,
)
def test_what_is_not_supported_is_refused_in_one_line(keywords, message, own):
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        own.encode(TEXTS, **keywords)
    assert "\n" not in str(caught.value)


def test_an_unknown_keyword_is_not_swallowed(own):
    with pytest.raises(TypeError, match="chunk_size"):
        own.encode(TEXTS, chunk_size=3)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["the cat", None], "text 1 is a NoneType, None; expected strings"),
        (["the cat", float("nan")], "text 1 is a float, nan"),
        ([("the cat", "a dog")], "text 0 is a tuple"),
    ],
)
def test_what_is_no_text_is_named(texts, message, own):
    with pytest.raises(UserError, match=re.escape(message)):
        own.encode(texts)


def test_arrays_and_columns_of_texts_are_texts(own):
    expected = own.encode(TEXTS)
    assert np.array_equal(own.encode(np.array(TEXTS)), expected)
    assert np.array_equal(own.encode(np.array(TEXTS, object)), expected)
    assert np.array_equal(own.encode(tuple(TEXTS)), expected)


def test_batch_size_bounds_the_tokens_of_a_pass(own, monkeypatch):
    passes = []
    embed = own.embed
    monkeypatch.setattr(own, "embed", lambda batch: passes.append(batch.lengths) or embed(batch))
    own.encode(LONG, batch_size=1)
    assert len(passes) > 5 and max(map(sum, passes)) <= own.max_length
    assert max(map(len, passes)) > 1  # short texts share a pass
    own.encode(LONG, batch_tokens=9, batch_size=100)  # the smaller of two bounds holds
    assert all(sum(lengths) <= 9 or len(lengths) == 1 for lengths in passes[-3:])


def furthest_move(encoder, texts):
    """Return the largest difference that the batch makes to an element of a unit vector."""
    whole = encoder.encode(texts, normalize_embeddings=True)
    others = [
        encoder.encode(texts, normalize_embeddings=True, **keywords)
        for keywords in ({"batch_tokens": 1}, {"batch_tokens": 300}, {"batch_size": 1})
    ]
    others.append(np.stack([encoder.encode(text, normalize_embeddings=True) for text in texts]))
    return max(abs(other - whole).max() for other in others)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_batch_moves_embeddings_by_rounding_only(precision):
    mini = SentenceEncoder.from_pretrained("mini", device="cpu", precision=precision)
    assert furthest_move(mini, LONG) <= TOLERANCE[precision]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_batch_moves_minilms_embeddings_of_real_texts_by_rounding_only(precision):
    pairs = read_sts(real_data("cs224n/sts-dev.csv"))[:100]
    folder = str(real_checkpoint())
    minilm = SentenceEncoder.from_pretrained(folder, device="cpu", precision=precision)
    assert furthest_move(minilm, [pair.text_a for pair in pairs]) <= TOLERANCE[precision]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_calls_from_many_threads_give_what_calls_in_turn_give(precision, folder):
    encoder = SentenceEncoder.from_pretrained(folder, device="cpu", precision=precision)
    parts = [toy_sentences(count, count) for count in range(3, 200, 8)]
    expected = [encoder.encode(part) for part in parts]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(encoder.encode_quietly, parts))
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)
    assert all(keeper.kept is None for keeper in keepers(encoder.model))


def test_a_model_card_keeps_what_evaluators_report(own):
    own.model_card_data.set_evaluation_metrics(None, {"a": 0.5, "b": 1.0}, 1, 2)
    own.model_card_data.set_evaluation_metrics(None, {"a": 0.7})
    assert own.model_card_data.metrics == {"a": 0.7, "b": 1.0}
