"""Finding texts and reading them again, compared with sentence-transformers and double loops."""

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.util import semantic_search

from data.tasks import OWN
from evaluation import search
from heads.features import CrossFeatures
from heads.heads import ParaphraseHead, build_head
from heads.maxsim import token_states
from heads.published import to_classifier
from minbert.classifier import write_classifier
from minbert.encoder import SentenceEncoder

QUERIES, CORPUS = toy_sentences(7, seed=1), list(dict.fromkeys(toy_sentences(60, seed=2)))


def test_cosine_is_semantic_search(tiny_encoder: SentenceEncoder, tmp_path) -> None:
    tiny_encoder.save(tmp_path / "saved")
    theirs_encoder = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    theirs = semantic_search(
        theirs_encoder.encode(QUERIES), theirs_encoder.encode(CORPUS), top_k=20
    )
    found = search.by_cosine(tiny_encoder, CORPUS)(QUERIES, 100)
    assert found.rows.shape == (7, min(100, len(CORPUS)))
    assert found.rows[:, :20].tolist() == [[hit["corpus_id"] for hit in hits] for hits in theirs]
    scores = np.array([[hit["score"] for hit in hits] for hits in theirs])
    assert np.abs(found.scores[:, :20] - scores).max() < 1e-5
    assert found.megabytes == pytest.approx(len(CORPUS) * 32 * 4 / 1e6)


@pytest.mark.parametrize("block", [7, 4096])
def test_maxsim_is_its_double_loop(tiny_encoder: SentenceEncoder, monkeypatch, block: int) -> None:
    monkeypatch.setattr(search, "BLOCK", block)
    unit = [
        [state / np.linalg.norm(state) for state in states]
        for states in token_states(tiny_encoder, [*QUERIES, *CORPUS])
    ]
    asked, texts = unit[: len(QUERIES)], unit[len(QUERIES) :]
    wanted = np.array(
        [[np.mean([max(q @ t for t in text) for q in query]) for text in texts] for query in asked]
    )
    found = search.by_maxsim(tiny_encoder, CORPUS)(QUERIES, 100)
    assert np.abs(np.take_along_axis(wanted, found.rows, axis=1) - found.scores).max() < 1e-5
    assert (np.diff(found.scores, axis=1) <= 0).all()
    tokens = sum(map(len, texts))
    assert found.megabytes == pytest.approx(tokens * 32 * 4 / 1e6)


def test_equal_texts_are_in_the_order_of_the_corpus(tiny_encoder: SentenceEncoder) -> None:
    corpus = [CORPUS[0], CORPUS[1], CORPUS[0], CORPUS[1]]
    for find in (search.by_cosine, search.by_maxsim):
        rows = find(tiny_encoder, corpus)(QUERIES, 100).rows.tolist()
        assert {tuple(of_query) for of_query in rows} <= {(0, 2, 1, 3), (1, 3, 0, 2)}


def test_reading_again_is_cross_encoder_rank(tiny_encoder: SentenceEncoder, tmp_path) -> None:
    torch.manual_seed(3)
    head = build_head(OWN["paraphrase"], "cross", 32, "cls").eval()
    assert isinstance(head, ParaphraseHead)
    write_classifier(tmp_path, tiny_encoder.model, to_classifier(head))
    tiny_encoder.tokenizer.save(tmp_path, tiny_encoder.max_length)
    rows = search.by_cosine(tiny_encoder, CORPUS)(QUERIES, 100).rows[:, :30]
    logits, times = search.read_again(
        tiny_encoder, head, CrossFeatures("cls"), QUERIES, CORPUS, rows, [10, 20, 50]
    )
    assert logits.shape == rows.shape and list(times) == [10, 20, 30]
    assert list(times.values()) == sorted(times.values())
    theirs = CrossEncoder(str(tmp_path), device="cpu")
    for query, best, of_query in zip(QUERIES, rows, logits, strict=True):
        ranked = theirs.rank(query, [CORPUS[row] for row in best])
        order = np.argsort(-of_query, kind="stable")
        assert [hit["corpus_id"] for hit in ranked] == order.tolist()
        scores = 1 / (1 + np.exp(-of_query[order].astype(float)))
        assert np.abs(scores - [hit["score"] for hit in ranked]).max() < 1e-5
