"""Evaluators of sentence-transformers score our encoder as they score a SentenceTransformer."""

import pytest
from conftest import toy_sentences
from texts import toy_pairs

from minbert.encoder import SentenceEncoder

sentence_transformers = pytest.importorskip("sentence_transformers")
evaluation = pytest.importorskip("sentence_transformers.sentence_transformer.evaluation")

TEXTS, OTHERS = toy_sentences(24, 3), toy_sentences(24, 4)
NAMED = {f"d{row}": text for row, text in enumerate(OTHERS)}


@pytest.fixture(scope="module")
def models(tiny_checkpoint, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("evaluators") / "avg")
    SentenceEncoder.from_pretrained(str(tiny_checkpoint), "avg", device="cpu").save(folder)
    own = SentenceEncoder.from_pretrained(folder, device="cpu", precision="float32")
    return own, sentence_transformers.SentenceTransformer(folder, device="cpu")


def similarity(pairs, **keywords):
    columns = zip(*((pair.text_a, pair.text_b, pair.label) for pair in pairs), strict=True)
    return evaluation.EmbeddingSimilarityEvaluator(*columns, **keywords)


def evaluators():
    """Return one of every kind that needs no training, no network and no second model."""
    labels = [row % 3 == 0 for row in range(24)]
    binary = evaluation.BinaryClassificationEvaluator
    ranked = [{"query": TEXTS[i], "positive": [OTHERS[i]], "negative": OTHERS[:i]} for i in (3, 9)]
    sought = {f"q{row}": text for row, text in enumerate(TEXTS[:6])}
    found = {query: {f"d{row}"} for row, query in enumerate(sought)}
    return {
        "similarity": similarity(toy_pairs(24)),
        "similarity, cut": similarity(toy_pairs(24), truncate_dim=9, precision="float32"),
        "similarity, bits": similarity(toy_pairs(24), precision="binary"),
        "classification": binary(TEXTS, OTHERS, labels, name="toy"),
        "retrieval": evaluation.InformationRetrievalEvaluator(sought, NAMED, found),
        "reranking": evaluation.RerankingEvaluator(ranked),
        "mining": evaluation.ParaphraseMiningEvaluator(NAMED, [("d1", "d2"), ("d3", "d7")]),
        "translation": evaluation.TranslationEvaluator(TEXTS, OTHERS),
    }


@pytest.mark.parametrize("name", evaluators())
def test_an_evaluator_gives_both_the_same_metrics(name, models, tmp_path):
    own, theirs = (evaluators()[name](model, output_path=str(tmp_path)) for model in models)
    assert own and own == pytest.approx(theirs, abs=1e-4)
    assert own.items() <= models[0].model_card_data.metrics.items()


def test_an_encoder_teaches_and_learns_in_the_squared_error_evaluator(models):
    own, theirs = models
    evaluator = evaluation.MSEEvaluator(TEXTS, OTHERS, teacher_model=own)
    expected = evaluation.MSEEvaluator(TEXTS, OTHERS, teacher_model=theirs)(theirs)
    assert evaluator(own) == pytest.approx(expected, rel=1e-4)


def test_paraphrase_mining_takes_the_encoder(models):
    mined = [
        sentence_transformers.util.paraphrase_mining(model, TEXTS, top_k=3) for model in models
    ]
    for (score, *pair), (expected, *expected_pair) in zip(*mined, strict=True):
        assert score == pytest.approx(expected, abs=1e-5) and pair == expected_pair
